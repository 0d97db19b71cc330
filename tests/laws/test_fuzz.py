"""A few hundred random calls of the public API; `make slow` makes a hundred thousand."""

from __future__ import annotations

import pytest

import fuzz


@pytest.mark.parametrize("seed", range(3))
def test_random_calls_end_in_our_error_or_a_confirmed_answer(seed):
    source = fuzz.Fuzz(seed)
    for _ in range(150):
        call = source.call()
        try:
            fuzz.confirm(call, fuzz.tried(call))
        except Exception as error:
            raise AssertionError(str(call)) from error

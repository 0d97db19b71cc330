"""A hundred thousand random calls of the public API."""

from __future__ import annotations

import pytest

import fuzz


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_random_calls_end_in_our_error_or_a_confirmed_answer(seed):
    source = fuzz.Fuzz(seed)
    wrong = []
    for _ in range(5000):
        call = source.call()
        try:
            fuzz.confirm(call, fuzz.tried(call))
        except Exception as error:  # noqa: BLE001  # that is what is looked for
            wrong.append(f"{type(error).__name__}: {error} from {call}")
    assert not wrong, "\n".join(wrong[:10])

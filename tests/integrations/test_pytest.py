"""`assert_calibrated` in the tests of others."""

from __future__ import annotations

import pytest

from calibrant.integrations import assert_calibrated
from samples import sample


def test_assert_calibrated_fails_with_a_sentence():
    assert_calibrated(*sample(60_000))
    with pytest.raises(AssertionError, match="The smooth calibration error is at least"):
        assert_calibrated(*sample(3000, 0.2))
    with pytest.raises(AssertionError, match="cannot tell"):
        assert_calibrated(*sample(50))
    assert_calibrated(*sample(50), undecided="pass")

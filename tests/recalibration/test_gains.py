"""What calibrators gain: the ends of its interval, and its words."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.groups import recalibrate_by_group
from calibrant.recalibration import recalibrate
from calibrant.recalibration.choice_rule import Gain


@pytest.mark.parametrize(("n", "forecast", "rate"), [(40, 0.4, 0.05), (200, 0.1, 0.005)])
def test_a_gain_is_not_certain_because_one_outcome_was_never_seen(n, forecast, rate):
    """With no event among n rows, a rate of this size is no surprise: its gain is inside."""
    found = recalibrate(np.zeros(n, dtype=int), np.full(n, forecast), rng=0, draws=19)
    (recalibrated,) = found.calibrator.transform([forecast])
    gain = rate * np.log(recalibrated / forecast) + (1 - rate) * np.log(
        (1 - recalibrated) / (1 - forecast)
    )
    assert found.gain.low < gain < found.gain.value <= found.gain.high


def test_classes_that_were_never_seen_leave_a_gain_open():
    found = recalibrate(
        np.zeros(40, dtype=int), np.tile([0.6, 0.3, 0.1], (40, 1)), classes=[0, 1, 2], rng=0
    )
    assert found.gain.low < 0.1 < found.gain.value
    best = found.table["gain"].index(max(found.table["gain"]))
    assert found.table["gain_low"][best] < 0.1 < found.table["gain"][best]


def test_gains_are_told_without_infinities_or_rounding():
    assert "inf" not in Gain(0.1, -np.inf, np.inf, np.inf).text("log", 0.95)
    assert Gain(0.1, -np.inf, np.inf, np.inf).further_text("brier") == ""
    assert "between 0 and 0.45" in Gain(0.2, -1.7e-17, 0.45, 0.1).text("log", 0.95)
    assert Gain(np.nan, np.nan, np.nan, np.nan).text("log", 0.95) == "the log loss stays infinite"


def test_words_of_a_gain_beside():
    assert Gain(0.01, 0.002, 0.018, 0.004).further_text("brier") == (
        "; the Brier score falls by 0.01 (0.002 to 0.018)"
    )
    assert Gain(-0.01, -0.02, 0.001, 0.004).further_text("brier") == (
        "; the Brier score falls by -0.02 to 0.001"
    )
    assert Gain(-0.01, -0.02, -0.001, 0.004).further_text("log") == (
        "; but the log loss rises by 0.01 (0.001 to 0.02)"
    )
    assert Gain(np.inf, np.inf, np.inf, np.nan).further_text("log") == (
        "; the log loss is no longer infinite"
    )
    assert (
        Gain(np.nan, np.nan, np.nan, np.nan).further_text("log") == "; the log loss stays infinite"
    )
    # An interval that touches zero.
    assert Gain(0.01, 0.0, 0.02, 0.005).promise == "probably helps a little"
    assert Gain(0.01, 1e-9, 0.02, 0.005).promise == "helps"


def test_patches_of_groups_are_no_surer_than_maps():
    site = np.tile(["a", "b"], 100)
    found = recalibrate_by_group(
        np.zeros(200, dtype=int), np.full(200, 0.1), by={"site": site}, rng=0
    )
    for loss in ("", "log_", "brier_"):
        low, value = (found.table[f"{loss}{column}"][-1] for column in ("gain_low", "gain"))
        assert low < 0.8 * value

"""Rows that would settle a verdict: a range that knows what the sample does not know."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import ConfidenceInterval, find_interval
from calibrant.inference.rows_to_settle import rows_to_settle
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.joint import Rows

SMOOTH = Statistic.of("smooth_calibration_error")
LEVELS = np.arange(1, 20) / 20


def evidence_of(n, shift=0.0, seed=0, **extra):
    rng = np.random.default_rng(seed)
    p = rng.choice(LEVELS, n)
    return Evidence.read(rng.random(n) < p + shift, p, **extra)


def settle(evidence, tolerance=0.02, statistic=SMOOTH, rng=0):
    interval = find_interval(evidence, statistic, Settings.read(draws=199, rng=0))
    return rows_to_settle(evidence, statistic, interval, tolerance, rng)


def test_a_range_has_two_ends_and_two_digits():
    low, high = settle(evidence_of(1000))
    assert 1000 < low < high
    for rows in (low, high):
        assert rows % 10 ** (len(str(rows)) - 2) == 0
    assert settle(evidence_of(1000)) == (low, high)


def test_a_larger_tolerance_takes_fewer_rows():
    wide, narrow = (settle(evidence_of(1000), tolerance) for tolerance in (0.04, 0.02))
    assert wide[0] < narrow[0]
    assert wide[1] < narrow[1]


def test_the_upper_end_settles_fresh_rows():
    """Four of five, where the sample that asks and the fresh ones have no error."""
    ends = settle(evidence_of(1000))
    settled = []
    for rows in ends:
        found = [
            find_interval(evidence_of(rows, seed=s), SMOOTH, Settings.read(draws=99, rng=s))
            for s in range(1, 21)
        ]
        settled.append(sum(one.high <= 0.02 for one in found))
    assert settled[1] >= 16
    assert settled[0] < settled[1]


def test_an_error_at_the_tolerance_is_settled_by_no_number_of_rows():
    evidence = evidence_of(2_000_000, shift=0.02)
    assert settle(evidence) is None


def test_what_says_nothing_about_chance_has_no_outlook():
    rng = np.random.default_rng(0)
    rows = Rows.read(rng.random(50) < 0.5, rng.random(50), None, None)
    interval = ConfidenceInterval(SMOOTH.name, 0.1, 0.0, 1.0, 0.95, 1.0, "multiplier")
    assert rows_to_settle(Evidence.of_group(rows, np.ones(50)), SMOOTH, interval, 0.02) is None


def test_clusters_take_more_rows():
    rng = np.random.default_rng(4)
    p = np.repeat(rng.choice(LEVELS, 200), 10)
    y = np.repeat(rng.random(200), 10) < p
    alone, together = Evidence.read(y, p), Evidence.read(y, p, clusters=np.arange(2000) // 10)
    assert settle(together)[1] > settle(alone)[1]


@pytest.mark.parametrize("measure", ["cutoff_calibration_error", "kernel_calibration_error"])
def test_other_measures_have_an_outlook(measure):
    low, high = settle(evidence_of(300), statistic=Statistic.of(measure))
    assert 0 < low < high


def test_no_residuals_have_no_witness_and_still_an_outlook():
    joint = cal.Joint.from_counts([0.5], [100], [50])
    low, high = settle(Evidence.read(joint))
    assert 100 < low < high


def test_a_tolerance_is_a_share():
    with pytest.raises(InvalidOptionError, match="tolerance"):
        settle(evidence_of(100), 0.0)

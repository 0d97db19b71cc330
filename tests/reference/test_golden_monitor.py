"""Bets worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import calibrant as cal
from calibrant.monitoring.alarms import KIND, PART, SIZE

HALF = Fraction(1, 2)


def of_one_size(book, kind):
    """The bettor with the constant stake of one."""
    chosen = (kind == KIND) & (SIZE == 1)
    return float(book[chosen][0])


def test_two_heads_at_a_half():
    """The whole stake of one is half of what a forecast of 1/2 admits: 1.5 twice, 2.25."""
    monitor = cal.CalibrationMonitor(tolerance=0)
    monitor.update_many([1, 1], [0.5, 0.5])
    # A bettor from the first row holds 2.25, one from the second 1.5.
    book = monitor._bets.book[0]
    assert of_one_size(book["detector"], "forecasts are too low") == 2.25 + 1.5
    # Half starts with the first row, a twelfth with each of the second and third.
    wealth = of_one_size(book["wealth"], "forecasts are too low")
    assert wealth == pytest.approx(2.25 / 2 + 1.5 / 12, rel=1e-15)
    later = 1 - HALF - Fraction(1, 12)
    # Nothing is learned before the sixteenth row.
    assert monitor.parts["smooth"] == monitor.parts["isotonic"] == pytest.approx(1.0, rel=1e-15)
    expected = Fraction(0)
    for size in [HALF**j for j in range(8)]:
        for stake in (size, -size):
            expected += worth(1 + stake / 2)
    # Shifts by probability: at the centre of the cell of 1/2, an eighth above in log-odds.
    centre = 1 / (1 + np.exp(-1 / 8))
    for shift in (1 / 32, 1 / 16, 1 / 8):
        for cut in (0.5, 2.0):
            stake = min(cut, shift / (centre * (1 - centre)))
            expected += worth(1 + stake / 2) + worth(1 - stake / 2)
    assert monitor.parts["shift"] == pytest.approx(float(expected / 28 + later), rel=1e-12)


def worth(factor):
    """What two rows leave of a bettor who starts with the first, and one with the second."""
    return factor**2 / 2 + factor / 12


def test_a_slope_bets_its_likelihood_ratio():
    """A forecast of 0.1 whose chance is that of half its log-odds: one quarter."""
    monitor = cal.CalibrationMonitor(tolerance=0)
    monitor.update(1, 0.1)
    centre = 1 / (1 + np.exp(2.125))  # log-odds of -2.197 lie in the cell from -2.25 to -2
    ratios = []
    for slope in (2**-1, 2**-0.5, 2**-0.25, 2**0.25, 2**0.5, 2):
        odds = (centre / (1 - centre)) ** slope
        chance = max(centre / 4, odds / (1 + odds))  # never more than four times nearer to 0
        stake = (chance - centre) / (centre * (1 - centre))
        ratios += [1 + np.clip(stake, -cut, cut) * 0.9 for cut in (0.5, 2)]
    slopes = monitor._bets.book["detector"][0][PART == "slope"]
    assert np.sort(slopes) == pytest.approx(np.sort(ratios), rel=1e-12)
    assert max(ratios) == pytest.approx(0.25 / 0.1, rel=0.05)


def test_binned_stakes_follow_the_residuals_of_their_bin():
    """After one head at 1/2 the stake is (1/2) / (1/4 + 1) = 2/5 in its bin, 0 elsewhere."""
    same, elsewhere = cal.CalibrationMonitor(tolerance=0), cal.CalibrationMonitor(tolerance=0)
    same.update_many([1, 1], [0.5, 0.5])
    elsewhere.update_many([1, 1], [0.5, 0.25])
    sizes = [HALF**j for j in range(8)]
    gained = sum(1 + min(size, Fraction(2, 5)) / 2 for size in sizes) / 8
    started = HALF + Fraction(1, 12)
    assert same.parts["binned"] == pytest.approx(float(gained * started + 1 - started))
    assert elsewhere.parts["binned"] == pytest.approx(1.0, rel=1e-15)


def test_tolerance_is_charged_on_every_row():
    monitor = cal.CalibrationMonitor(tolerance=0.25)
    monitor.update(0, 0.5)
    book = monitor._bets.book["detector"][0]
    assert of_one_size(book, "forecasts are too low") == 1 - 0.5 - 0.25
    assert of_one_size(book, "forecasts are too high") == 1 + 0.5 - 0.25
    assert book[PART == "smooth"].tolist() == [1 - 0.25 / 2**j for j in range(8)]


def test_no_row_takes_more_than_fifteen_sixteenths():
    monitor = cal.CalibrationMonitor(tolerance=0.02)
    monitor.update(0, 1.0)
    book = monitor._bets.book["detector"][0]
    assert of_one_size(book, "forecasts are too low") == pytest.approx(1 / 16, rel=1e-12)
    generous = cal.CalibrationMonitor(tolerance=0.99)
    generous.update(0, 1.0)
    assert generous._bets.book["detector"][0].min() == pytest.approx(1 / 16, rel=1e-12)


def test_certain_forecasts():
    """Right ones say nothing; a wrong one settles exact calibration, and only that."""
    exact = cal.CalibrationMonitor(tolerance=0)
    assert not exact.update_many([0, 1] * 50, [0.0, 1.0] * 50)
    assert exact.evidence == pytest.approx(1.0, rel=1e-12)
    assert exact.update(1, 0.0)
    assert exact.evidence == float("inf")
    assert (exact.pvalue, exact.alarm_row, exact.change_row) == (0.0, 101, 101)
    for tolerance in (None, 0.01):
        tolerant = cal.CalibrationMonitor(tolerance)
        assert not tolerant.update_many([0, 1] * 50 + [1], [0.0, 1.0] * 50 + [0.0])
        assert tolerant.evidence < 2

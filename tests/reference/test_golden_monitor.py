"""Bets worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import calibrant as cal

UP, FULL = 0, 0
HALF = Fraction(1, 2)


def test_two_heads_at_a_half():
    """The whole stake of one is half of what a forecast of 1/2 admits: 1.5 twice, 2.25."""
    monitor = cal.CalibrationMonitor(tolerance=0)
    monitor.update_many([1, 1], [0.5, 0.5])
    # A bettor from the first row holds 2.25, one from the second 1.5.
    assert monitor._bets.book["detector"][0, UP, FULL] == 2.25 + 1.5
    assert monitor._bets.book["wealth"][0, UP, FULL] == pytest.approx(2.25 / 2 + 1.5 / 6)
    expected = Fraction(0)
    for size in [HALF**j for j in range(8)]:
        for factor in (1 + size / 2, 1 - size / 2):
            expected += (factor**2 / 2 + factor / 6) / 16
    assert monitor.parts["shift"] == pytest.approx(float(expected + Fraction(1, 3)), rel=1e-15)
    # Nothing is learned before the sixteenth row.
    assert monitor.parts["smooth"] == monitor.parts["isotonic"] == pytest.approx(1.0, rel=1e-15)


def test_binned_stakes_follow_the_residuals_of_their_bin():
    """After one head at 1/2 the stake is (1/2) / (1/4 + 1) = 2/5 in its bin, 0 elsewhere."""
    same, elsewhere = cal.CalibrationMonitor(tolerance=0), cal.CalibrationMonitor(tolerance=0)
    same.update_many([1, 1], [0.5, 0.5])
    elsewhere.update_many([1, 1], [0.5, 0.25])
    sizes = [HALF**j for j in range(8)]
    gained = sum(1 + min(size, Fraction(2, 5)) / 2 for size in sizes) / 8
    later = Fraction(1, 3)
    assert same.parts["binned"] == pytest.approx(float(gained * (HALF + Fraction(1, 6)) + later))
    assert elsewhere.parts["binned"] == pytest.approx(1.0, rel=1e-15)


def test_tolerance_is_charged_on_every_row():
    monitor = cal.CalibrationMonitor(tolerance=0.25)
    monitor.update(0, 0.5)
    book = monitor._bets.book["detector"][0]
    assert book[0, 0] == 1 - 0.5 - 0.25
    assert book[1, 0] == 1 + 0.5 - 0.25
    assert book[4].tolist() == [1 - 0.25 / 2**j for j in range(8)]


def test_no_row_takes_more_than_fifteen_sixteenths():
    monitor = cal.CalibrationMonitor(tolerance=0.02)
    monitor.update(0, 1.0)
    assert monitor._bets.book["detector"][0, 0, 0] == pytest.approx(1 / 16, rel=1e-12)


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

"""Calibration errors as other programs compute them.

Values of scikit-learn 1.9.1 (`calibration_curve`, weighted by rows), netcal 1.4.0 (`ECE(bins)`) and
MAPIE 1.6.0 (`expected_calibration_error`) were printed by these programs on the forecasts below:
decimals, where the rounding of edges decides which bin a forecast falls into.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

# digits of the forecasts, bins: netcal, MAPIE, scikit-learn
PRINTED = {
    (1, 5): (0.119, 0.123, 0.119),
    (1, 10): (0.119, 0.123, 0.123),
    (1, 15): (0.123, 0.123, 0.123),
    (2, 5): (0.01527, 0.02526, 0.01429),
    (2, 10): (0.0159, 0.02408, 0.01567),
    (2, 15): (0.05971, 0.04625, 0.05591),
    (2, 50): (0.1187, 0.11579, 0.11596),
    (6, 10): (0.0118499205, 0.0193395295, 0.0118499205),
    (6, 15): (0.0562340865, 0.0464555065, 0.0562340865),
}


def forecasts(digits):
    row = np.arange(1, 2001)
    p = np.modf(row * 0.6180339887498949)[0].round(digits)
    chance = p + 0.2 * np.cos(60 * p)
    return (np.modf(row * 0.7548776662466927)[0] < chance).astype(int), p


def by_program(found):
    return {one.program.split(",")[0]: one.value for one in found}


@pytest.mark.parametrize(("digits", "bins"), PRINTED)
def test_values_are_those_of_the_programs(digits, bins):
    found = by_program(cal.conventions(*forecasts(digits), n_bins=bins))
    values = (found["netcal"], found["MAPIE"], found["scikit-learn"])
    assert values == pytest.approx(PRINTED[digits, bins], abs=1e-12)


@pytest.mark.parametrize("digits", [1, 2, 6])
def test_scikit_learn_itself_says_so(digits):
    from sklearn.calibration import calibration_curve

    y, p = forecasts(digits)
    for bins in (5, 10, 15):
        rate, mean = calibration_curve(y, p, n_bins=bins)
        number = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p)
        rows = np.bincount(number)[np.unique(number)]
        found = by_program(cal.conventions(y, p, n_bins=bins))["scikit-learn"]
        assert found == pytest.approx(rows @ np.abs(rate - mean) / p.size)


def test_each_program_has_bins_of_its_own():
    found = {one.program: one.how for one in cal.conventions(*forecasts(2))}
    assert found["scikit-learn, calibration_curve"].startswith("5 bins")
    assert found["netcal, ECE"].startswith("10 bins")
    assert "(10 rows here)" in found["torchmetrics, BinaryCalibrationError"]
    assert found["MAPIE, expected_calibration_error"].startswith("num_bins=50 makes 49 bins")
    index = cal.calibration_index(*forecasts(2), smoother="lowess")
    assert by_program(cal.conventions(*forecasts(2)))["rms"] == pytest.approx(index.ici)


def test_conventions_of_certain_forecasts_and_of_the_exam():
    """p = 1 alone in torchmetrics; the last hundred rows of the exam's script are dropped."""
    y = np.array([1] * 130 + [0] * 130 + [1] * 70)
    p = np.array([0.95] * 260 + [1.0] * 70)
    found = {c.program: c for c in cal.conventions(cal.Joint.from_samples(y, p))}
    together = abs((130 - 0.95 * 260) + 0) / 330
    assert found["torchmetrics, BinaryCalibrationError"].value == pytest.approx(together)
    assert found["netcal, ECE"].value == pytest.approx(abs(200 - 0.95 * 260 - 70) / 330)
    exam = found["the script of Humanity's Last Exam"]
    assert "drops the last 130 rows" in exam.how
    gap = 0.5 - 0.95
    assert exam.value == pytest.approx(np.sqrt(200 / 330 * gap**2))


def test_weights_leave_out_what_knows_none():
    y, p = forecasts(2)
    found = by_program(cal.conventions(y, p, sample_weight=np.arange(1, 2001)))
    assert "rms" not in found
    assert "the script of Humanity's Last Exam" not in found
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.conventions(y, p, n_bins=0)

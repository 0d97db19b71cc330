"""Golden values of class forecasts, worked out by hand or published."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.multiclass import (
    ClassForecasts,
    MulticlassDecisionTask,
    canonical_calibration_error,
    class_wise,
    decision_calibration_error,
    projected_smooth_calibration_error,
)
from reference.golden import LAWS

TWO_ROWS = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])


def test_projected_smooth_error_of_two_rows():
    """The middle class is forecast with .3 twice and never happens."""
    error = projected_smooth_calibration_error([0, 2], TWO_ROWS)
    assert error == pytest.approx(0.3, abs=1e-12)
    assert error.witness.classes == (1,)


def test_canonical_error_of_two_rows():
    """Residuals (.5, -.3, -.2) and (-.2, -.3, .5), at a total variation distance of .3."""
    square = (2 * 0.38 + 2 * -0.11 * np.exp(-0.3)) / 4 / 2
    assert canonical_calibration_error([0, 2], TWO_ROWS) ** 2 == pytest.approx(square, abs=1e-12)


def test_decision_calibration_of_the_third_golden_set():
    """The largest over thresholds of |S_j| + |S_n - S_j| is .1, times the root of two."""
    golden = list(zip(*LAWS["D3"], strict=True))
    largest = 0.0
    for threshold in (0.1, 0.3, 0.7, 0.95):
        task = MulticlassDecisionTask([[0, 0], [-threshold, 1 - threshold]])
        rows = [(v, y, m * (r if y else 1 - r)) for v, m, r in golden for y in (0, 1)]
        level, label, weight = map(np.array, zip(*rows, strict=True))
        error = decision_calibration_error(
            label.astype(int), np.column_stack([1 - level, level]), task=task, sample_weight=weight
        )
        largest = max(largest, float(error))
    assert largest == pytest.approx(0.1 * np.sqrt(2), abs=1e-12)


def test_a_thousand_classes_fit():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(1000, 0.05), 1500)
    label = (table.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    forecasts = ClassForecasts.read(label, table)
    errors = class_wise(forecasts)
    for k in (0, 17, 999):
        assert errors.values[k] == cal.smooth_calibration_error(label == k, table[:, k])
    found = projected_smooth_calibration_error(forecasts, floor_draws=1)
    assert found >= errors.worst / 2
    assert found.bounds[1] == 1.0

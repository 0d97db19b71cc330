"""Neighbouring levels pooled to cells."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning import cells_of_rows, gathered


@pytest.mark.parametrize("most", [1, 2, 7, 100])
def test_gathered_levels_keep_rows_ends_and_order(most):
    rng = np.random.default_rng(9)
    prediction = np.concatenate([[0.0, 0.0, 1.0], 10.0 ** rng.uniform(-9, 0, 1000)])
    joint = cal.Joint.from_samples(rng.random(1003) < prediction, prediction)
    fewer = gathered(joint, most)
    assert len(fewer) <= most + 2
    assert fewer.row_count == joint.row_count
    assert fewer.positives.sum() == joint.positives.sum()
    assert fewer.mean_prediction == pytest.approx(joint.mean_prediction)
    assert fewer.prediction[[0, -1]].tolist() == [0.0, 1.0]
    assert fewer.rows[[0, -1]].tolist() == [2, 1]
    assert gathered(joint, 2000) is joint
    if most == 100:
        assert np.median(np.diff(np.log10(fewer.prediction[1:]))) < 0.1  # rare events stay apart


def test_cells_are_fine_where_rare_events_are():
    """Cells of equally many rows would put all thousand likely events into one."""
    prediction = np.concatenate([np.linspace(1e-6, 1e-4, 10**5), np.linspace(0.1, 0.9, 1000)])
    cell = cells_of_rows(prediction, np.full(prediction.size, 10.0), 64)
    assert (np.diff(cell) >= 0).all()
    assert cell.max() < 64
    assert np.unique(cell[-1000:]).size > 20
    assert np.unique(cell[:-1000]).size > 20


def test_cells_of_certain_forecasts_hold_equally_many_rows():
    cell = cells_of_rows(np.array([0.0, 1.0]), np.array([3.0, 1.0]), 4)
    assert cell.tolist() == [0, 3]

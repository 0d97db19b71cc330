"""More rows in one cell than half of a double can count."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

ROWS = 2**26 + 1000


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [1024, 2**16])
def test_all_rows_in_one_cell_are_counted(resolution):
    outcome = np.zeros(ROWS, dtype=bool)
    outcome[::2] = True
    joint = cal.Joint.from_samples(outcome, np.full(ROWS, 0.5), resolution=resolution)
    assert (joint.row_count, joint.positives.sum()) == (ROWS, ROWS // 2)
    assert cal.smooth_calibration_error(joint) == 0

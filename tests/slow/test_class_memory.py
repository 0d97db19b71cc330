"""A thousand classes on fifty thousand rows: what is held beside the table."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROWS, CLASSES = 50_000, 1000
SCRIPT = f"""
import resource
import numpy as np
import calibrant as cal

rng = np.random.default_rng(0)
table = rng.standard_gamma(0.05, ({ROWS}, {CLASSES}))
table += 1e-12
table /= table.sum(axis=1, keepdims=True)
forecasts = cal.multiclass.ClassForecasts.read(rng.integers(0, {CLASSES}, {ROWS}), table)
cal.smooth_calibration_error(cal.multiclass.top_label(forecasts))
assert len(cal.multiclass.class_wise(forecasts)) == {CLASSES}
cal.multiclass.calibration_test(forecasts, draws=19, rng=0)
error = cal.multiclass.projected_smooth_calibration_error(forecasts, floor_draws=2)
assert error > error.settings["noise_floor"]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
def test_a_thousand_classes_fit_in_three_tables():
    """The table itself, and at most twice as much for Python and all that is found."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 3 * 8 * ROWS * CLASSES

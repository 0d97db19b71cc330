"""A choice by simulation: the gain of a single calibrator is where it is said, also of many rows.

What a choice among calibrators promises is tried in tests/promises/.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.recalibration import CALIBRATORS, recalibrate

pytestmark = pytest.mark.slow

REPETITIONS = 200


@pytest.mark.parametrize("score", ["log", "brier"])
@pytest.mark.parametrize("name", ["prior", "platt", "isotonic"])
def test_the_interval_holds_the_gain_of_the_map(name, score):
    """The population's gain of a calibrator fitted to all rows; 4 standard errors below 95 %."""
    rng = np.random.default_rng(31)
    grid = np.arange(1, 200) / 200
    truth = expit(0.7 * logit(grid) - 0.4)

    def loss(chance):
        if score == "brier":
            return truth * (1 - chance) ** 2 + (1 - truth) * chance**2
        return -truth * np.log(chance) - (1 - truth) * np.log(1 - chance)

    held = 0
    for _ in range(REPETITIONS):
        at = rng.integers(0, grid.size, 3000)
        y = rng.random(at.size) < truth[at]
        choice = recalibrate(y, grid[at], methods=[name], score=score, rng=rng)
        gain = float(np.mean(loss(grid) - loss(choice.calibrator.transform(grid))))
        held += choice.gain.low <= gain <= choice.gain.high
    assert held / REPETITIONS >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / REPETITIONS)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_ten_million_rows(name):
    rng = np.random.default_rng(37)
    p = rng.random(10**7)
    y = rng.random(p.size) < p**1.2
    fitted = CALIBRATORS[name]().fit(p, y)
    off = float(np.mean(fitted.transform(p)) - np.mean(y))
    assert abs(off) < {"identity": 0.06, "temperature": 0.06}.get(name, 1e-3)

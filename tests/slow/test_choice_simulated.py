"""A choice by simulation: the gain of a single map is where it is said, also of many rows.

What a choice among maps promises is tried in tests/promises/.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.repair import MAPS, choose

pytestmark = pytest.mark.slow

REPETITIONS = 200


@pytest.mark.parametrize("score", ["log", "brier"])
@pytest.mark.parametrize("name", ["PriorShift", "Platt", "Isotonic"])
def test_the_interval_holds_the_gain_of_the_map(name, score):
    """The population's gain of the map fitted to all rows; four standard errors below 95 %."""
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
        choice = choose(y, grid[at], maps=[name], score=score, rng=rng)
        gain = float(np.mean(loss(grid) - loss(choice.map.transform(grid))))
        held += choice.gain.low <= gain <= choice.gain.high
    assert held / REPETITIONS >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / REPETITIONS)


@pytest.mark.parametrize("name", MAPS)
def test_ten_million_rows(name):
    rng = np.random.default_rng(37)
    p = rng.random(10**7)
    y = rng.random(p.size) < p**1.2
    fitted = MAPS[name]().fit(p, y)
    off = float(np.mean(fitted.transform(p)) - np.mean(y))
    assert abs(off) < {"Identity": 0.06, "Temperature": 0.06}.get(name, 1e-3)

"""A choice by simulation: calibrated forecasts are left alone, the gain is where it is said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.repair import MAPS, choose

pytestmark = pytest.mark.slow

REPETITIONS = 200
SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "middling": lambda rng, n: rng.beta(2, 2, n),
    "sharp": lambda rng, n: rng.beta(0.3, 0.3, n),
    "like a language model": lambda rng, n: rng.beta(8, 2, n),
    "rare": lambda rng, n: rng.beta(0.5, 50, n),
    "tied": lambda rng, n: rng.integers(1, 20, n) / 20,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [100, 1000])
def test_calibrated_forecasts_are_left_alone(shape, n):
    """At least 95 %, with all maps to choose from."""
    rng = np.random.default_rng(23)
    alone = 0
    for _ in range(REPETITIONS):
        p = SHAPES[shape](rng, n)
        alone += choose(rng.random(n) < p, p, rng=rng).leave_alone
    assert alone >= 0.95 * REPETITIONS


@pytest.mark.parametrize("kind", ["weights", "clusters", "time"])
def test_calibrated_forecasts_are_left_alone_with_weights_clusters_and_time(kind):
    rng = np.random.default_rng(29)
    n, alone = 1000, 0
    for _ in range(REPETITIONS):
        p = rng.random(n)
        y = rng.random(n) < p
        beside = {
            "weights": {"sample_weight": rng.lognormal(0, 1, n)},
            "clusters": {"clusters": np.arange(n) % 50},
            "time": {"time": np.arange(n)},
        }[kind]
        alone += choose(y, p, rng=rng, **beside).leave_alone
    assert alone >= 0.95 * REPETITIONS


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


@pytest.mark.parametrize("shape", [(1, 1, 1), (20, 0.5, 0.5), (0.3, 0.3, 0.3, 0.3, 0.3)])
@pytest.mark.parametrize("n", [100, 1000])
def test_calibrated_classes_are_left_alone(shape, n):
    """By the rule of two outcomes, with every map of classes to try."""
    rng = np.random.default_rng(21)
    runs, alone = 200, 0
    for _ in range(runs):
        table = rng.dirichlet(shape, n)
        label = (table.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
        alone += choose(label, table, rng=rng).leave_alone
    assert alone >= 0.93 * runs

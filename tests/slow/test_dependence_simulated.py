"""How often independent rows are called dependent, and dependent ones are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.inference import find_dependence

pytestmark = pytest.mark.slow


def independent(rng, law, n):
    p, key = rng.random(n), rng.integers(0, max(n // int(rng.choice([2, 5, 20])), 2), n)
    if law == "rare":
        p = rng.beta(0.5, 50, n)
    if law == "ties":
        p = p.round(1)
    if law == "extreme":
        p = rng.beta(0.1, 0.1, n)
    if law == "one forecast a unit":
        p = rng.random(key.max() + 1)[key]
    chance = p**1.5 if law == "miscalibrated" else p
    y = (rng.random(n) < chance).astype(float)
    turned = np.argsort(key if law == "one forecast a unit" else rng.random(n), kind="stable")
    if law == "sorted by outcome":
        turned = np.lexsort((rng.random(n), y, rng.integers(0, 5, n)))
    return p[turned], y[turned], {"key": key[turned], "other": rng.integers(0, n // 3 + 2, n)}


@pytest.mark.parametrize(
    "law",
    ["plain", "rare", "ties", "extreme", "one forecast a unit", "miscalibrated",
     "sorted by outcome"],
)  # fmt: skip
def test_independent_rows_are_rarely_called_dependent(law):
    rng = np.random.default_rng(0)
    runs, found = 1000, 0
    for _ in range(runs):
        p, y, keys = independent(rng, law, int(rng.choice([50, 200, 1000, 5000])))
        found += find_dependence(p, y - p, y, keys) is not None
    assert found <= 0.05 * runs


@pytest.mark.parametrize(("units", "each"), [(100, 10), (400, 5), (2000, 2)])
def test_shared_effects_are_mostly_noticed(units, each):
    """Log-odds that differ by a standard deviation of 1.5 from unit to unit."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(200):
        key = np.repeat(np.arange(units), each)
        p = rng.random(units * each)
        logit = np.log(p / (1 - p)) + rng.normal(0, 1.5, units)[key]
        y = (rng.random(key.size) < 1 / (1 + np.exp(-logit))).astype(float)
        found += find_dependence(p, y - p, y, {"key": key}) is not None
    assert found >= 0.9 * 200

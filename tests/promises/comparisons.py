"""Two forecasters of the same events."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from promises.core import Promise
from promises.samples import sample, true_error

GRID = np.arange(1, 50) / 50
RARE_GRID = 0.04 * 10 ** np.linspace(-2, 0, 40)

# True chances, and what two forecasters make of them.
PAIRS = {
    "zero error of both": (GRID, lambda p: p, lambda p: np.full(p.size, p.mean())),
    "zero error of one": (GRID, lambda p: p, lambda p: np.clip(p + 0.05, 0, 1)),
    "zero error of one, small slope": (GRID, lambda p: p, lambda p: 0.5 + 0.9 * (p - 0.5)),
    "the same witness": (GRID, lambda p: 0.8 * p, lambda p: 0.85 * p),
    "opposite witnesses": (GRID, lambda p: p * 0.92, lambda p: 0.08 + p * 0.92),
    "rare events, half": (RARE_GRID, lambda p: p, lambda p: p / 2),
    "rare events, constant": (RARE_GRID, lambda p: p, lambda p: np.full(p.size, p.mean())),
}


def difference_is_missed(pair, n, beside, rng):
    grid, *forecasters = PAIRS[pair]
    first, second = (forecaster(grid) for forecaster in forecasters)
    truth = true_error(second, grid) - true_error(first, grid)
    row = rng.integers(0, grid.size, n)
    drawn = sample(rng, grid[row], beside, size=5, rho=0.5)
    found = cal.compare(
        drawn.y, first[row], second[row], clusters=drawn.cluster, draws=199, rng=rng
    )
    return not found.low <= truth <= found.high


def similar_ones_are_not_equivalent(rng):
    p = rng.uniform(0.05, 0.95, 2000)
    y = rng.random(2000) < p
    return not cal.compare(y, p, p + 0.001, margin=0.02, draws=99, rng=rng).equivalent


def promises():
    for pair in PAIRS:
        for n, beside in ((500, "plain"), (1000, "clusters")):
            yield Promise(
                "difference of two smooth errors",
                f"{pair}, {n} rows{' in clusters of 5' if beside == 'clusters' else ''}",
                partial(difference_is_missed, pair, n, beside),
                200,
            )
    yield Promise(
        "forecasters 0.001 apart are equivalent within 0.02",
        "2000 rows",
        similar_ones_are_not_equivalent,
        60,
    )

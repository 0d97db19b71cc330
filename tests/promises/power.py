"""What the default test finds, over many ways to be wrong, beside the smooth error alone."""

from __future__ import annotations

import numpy as np

import calibrant as cal
from promises.core import head
from promises.samples import FAULTS, FORECASTS

ROWS, RUNS, DRAWS, LEVEL = 200, 100, 199, 0.05

# How forecasts lie, and what is wrong with them.
WRONG = [
    ("uniform", "slope 0.6"),
    ("uniform", "slope 1.7"),
    ("central", "slope 0.5"),
    ("uniform", "two waves that fade"),
    ("uniform", "three waves of 0.2"),
    ("uniform", "six waves of 0.25"),
    ("uniform", "beyond 0.9 too high by 0.2"),
    ("uniform", "below 0.1 too low by 0.15"),
    ("uniform", "too low by 0.06"),
    ("central", "too high by 0.07"),
    ("uniform", "odds times 1.65"),
    ("uniform", "power 1.5"),
    ("uniform", "power 0.7"),
    ("central", "coins"),
    ("low", "too extreme and too high"),
    ("low", "too low by 4/9"),
    ("uniform", "in the middle too low by 0.2"),
]


def power(forecasts, fault):
    """Share of samples in which a fault is found: by the default test, by the smooth error."""
    rng = np.random.default_rng(0)
    hits = np.zeros(2)
    for _ in range(RUNS):
        p = FORECASTS[forecasts](rng, ROWS).clip(0.001, 0.999)
        y = rng.random(ROWS) < FAULTS[fault](p)
        test = cal.calibration_test(y, p, draws=DRAWS, rng=rng)
        hits += (test.pvalue <= LEVEL, test.headline.pvalue <= LEVEL)
    return hits / RUNS


def lines():
    """The table of powers, line after line."""
    yield head("forecasts", "what is wrong", "default test", "smooth error alone")
    for forecasts, fault in WRONG:
        default, alone = power(forecasts, fault)
        yield f"| {forecasts} | {fault} | {default:.2f} | {alone:.2f} |"

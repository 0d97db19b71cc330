"""Tests of rating grades: how often a sound forecast is called too low."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from promises.core import Promise


def grade_is_called_too_low(test, size, rate, spread, rng):
    p = rate * np.exp(spread * rng.standard_normal(size) - spread**2 / 2)
    (found,) = cal.grade_tests(rng.random(size) < p, np.minimum(p, 1), np.zeros(size))
    return getattr(found, test) <= 0.05


def promises():
    for size, rate, spread in (
        (50, 0.05, 0.0),
        (200, 0.01, 0.0),
        (500, 0.02, 0.5),
        (2000, 0.01, 0.5),
    ):
        for test in ("binomial", "jeffreys"):
            # Counts jump: the Jeffreys test is near its level on average over rates only.
            yield Promise(
                f"{test} test of a grade at level 0.05",
                f"{size} rows, rate {rate:g}{', forecasts differ' if spread else ''}",
                partial(grade_is_called_too_low, test, size, rate, spread),
                1000,
                0.05 if test == "binomial" else 0.1,
            )

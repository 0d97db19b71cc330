"""What the default test finds, over many ways to be wrong, beside the smooth error alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import calibrant as cal

pytestmark = pytest.mark.slow

ROWS, RUNS, DRAWS, LEVEL = 200, 100, 199, 0.05


def even(rng):
    return rng.random(ROWS)


def central(rng):
    return rng.beta(2, 2, ROWS)


def low(rng):
    return rng.beta(1, 9, ROWS)


WRONG = {
    "slope 0.6": (even, lambda p: expit(0.6 * logit(p))),
    "slope 1.7": (even, lambda p: expit(1.7 * logit(p))),
    "slope 0.5 of central forecasts": (central, lambda p: expit(0.5 * logit(p))),
    "two waves that fade": (even, lambda p: p + 0.8 * np.sin(4 * np.pi * p) * p * (1 - p)),
    "three waves": (even, lambda p: p + 0.2 * np.sin(6 * np.pi * p)),
    "six waves": (even, lambda p: p + 0.25 * np.sin(12 * np.pi * p)),
    "beyond 0.9 too high by 0.2": (even, lambda p: np.where(p > 0.9, p - 0.2, p)),
    "below 0.1 too low by 0.15": (even, lambda p: np.where(p < 0.1, p + 0.15, p)),
    "too low by 0.06": (even, lambda p: p + 0.06),
    "too high by 0.07": (central, lambda p: p - 0.07),
    "odds too low": (even, lambda p: expit(logit(p) + 0.5)),
    "power 1.5": (even, lambda p: p**1.5),
    "power 0.7": (even, lambda p: p**0.7),
    "coins": (central, lambda p: 0 * p + 0.5),
    "rare and too extreme": (low, lambda p: expit(0.6 * logit(p) - 1)),
    "rare and too low": (low, lambda p: 1.8 * p),
    "too low in the middle": (even, lambda p: np.where(abs(p - 0.5) < 0.1, p + 0.2, p)),
}


def powers():
    """Share of samples in which each way to be wrong is found: by the default, by the headline."""
    found = {}
    for name, (forecast, truth) in WRONG.items():
        rng = np.random.default_rng(0)
        hits = np.zeros(2)
        for _ in range(RUNS):
            p = forecast(rng).clip(0.001, 0.999)
            y = rng.random(ROWS) < np.clip(truth(p), 0, 1)
            test = cal.calibration_test(y, p, draws=DRAWS, rng=rng)
            hits += (test.pvalue <= LEVEL, test.headline.pvalue <= LEVEL)
        found[name] = hits / RUNS
    return found


def test_the_default_finds_most_and_the_smooth_error_alone_a_third():
    found = powers()
    together, alone = np.mean(list(found.values()), axis=0)
    assert together > 0.58
    assert alone < 0.45
    for name in ("slope 0.6", "slope 1.7", "three waves"):
        assert found[name][0] > found[name][1] + 0.3


if __name__ == "__main__":
    import sys

    for name, shares in powers().items():
        sys.stdout.write(f"{name:32} {shares[0]:.2f} {shares[1]:.2f}\n")

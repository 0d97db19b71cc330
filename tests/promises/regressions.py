"""Slope and calibration in the large."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit, logit

from calibrant.errors import InferenceRefusedError
from calibrant.inference import calibration_belt, classical_numbers
from promises.core import Promise
from promises.samples import sample, together

# What sound forecasts have.
SOUND = {"slope": 1.0, "in_the_large": 0.0}


def number_misses(number, drawn, truth):
    found = getattr(classical_numbers(**drawn, draws=19, rng=0), number)
    return bool(found.low > truth or found.high < truth)  # no number is no miss


def regression_misses(number, events, beside, rng):
    odds = logit(events / 1000) - 0.4 + rng.normal(0, 1, 1000)
    return number_misses(number, sample(rng, expit(odds), beside).rows, SOUND[number])


def likelihood_ratio_rejects(size, base, rng):
    p = expit(logit(base) + rng.normal(0, 1, size))
    found = classical_numbers(rng.random(size) < p, p, draws=19, rng=0).likelihood_ratio
    return bool(found.pvalue <= 0.05)  # no number does not reject


def belt_rejects(size, base, rng):
    p = expit(logit(base) + rng.normal(0, 1, size))
    found = classical_numbers(rng.random(size) < p, p, draws=19, rng=0).giviti
    return bool(found.pvalue <= 0.05)  # no number does not reject


def belt_misses(size, slope, rng):
    """Whether the belt leaves the true curve anywhere."""
    p = expit(rng.normal(0, 1, size))
    truth = expit(slope * logit(p))
    try:
        belt = calibration_belt(rng.random(size) < truth, p, points=20)
    except InferenceRefusedError:
        return False
    at = expit(slope * logit(belt.prediction))
    return bool(((belt.low > at) | (belt.high < at)).any())


def flat_slope_is_missed(rng):
    odds = rng.normal(-0.4, 1, 1000)
    return number_misses("slope", sample(rng, expit(odds), fault="slope 0.7").rows, 0.7)


def unequal_clusters_miss(number, rng):
    cluster = np.repeat(np.arange(30), np.maximum(1, 400 / np.arange(1, 31) ** 1.5).astype(int))
    p = expit(rng.normal(0, 1, cluster.size))
    rows = {"y_true": together(rng, cluster, 0.3) < p, "y_proba": p, "clusters": cluster}
    return number_misses(number, rows, SOUND[number])


def promises():
    for number in SOUND:
        promise = f"interval of {number.replace('_', ' ')}"
        for events in (2, 5, 10, 20):
            for beside in ("plain", "weights"):
                yield Promise(
                    promise,
                    f"{events} events, {beside}",
                    partial(regression_misses, number, events, beside),
                    300,
                )
        yield Promise(
            promise, "30 very unequal clusters", partial(unequal_clusters_miss, number), 300
        )
    for size, base in ((50, 0.4), (200, 0.4), (1000, 0.01), (2000, 0.02)):
        yield Promise(
            "likelihood ratio of slope and intercept at level 0.05",
            f"{size} rows, odds of {base:g}",
            partial(likelihood_ratio_rejects, size, base),
            1000,
        )
    for size, base in ((50, 0.4), (200, 0.4), (1000, 0.02), (2000, 0.02)):
        yield Promise(
            "test of the calibration belt at level 0.05",
            f"{size} rows, odds of {base:g}",
            partial(belt_rejects, size, base),
            1000,
        )
    for size, slope in ((50, 1.0), (200, 1.0), (1000, 1.0), (1000, 0.7)):
        yield Promise(
            "calibration belt holds the curve",
            f"{size} rows, true slope {slope:g}",
            partial(belt_misses, size, slope),
            400,
        )
    yield Promise("interval of slope", "common, true slope 0.7", flat_slope_is_missed, 300)

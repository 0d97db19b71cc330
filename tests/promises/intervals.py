"""Intervals of losses against monotone recalibration, of the lower distance, of mean gaps."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

import calibrant as cal
from promises.core import Promise
from promises.samples import FAULTS, FORECASTS, sample

MANY = 40_000
MEASURES = {
    "loss against monotone recalibration": partial(
        cal.calibration_decision_loss, pooling="isotonic"
    ),
    "lower distance": cal.lower_distance_to_calibration,
    "debiased binned error of order 1": partial(cal.binned_calibration_error, debias=True),
    "debiased binned error of order 2": partial(cal.binned_calibration_error, order=2, debias=True),
    "expected error of order 1": cal.exact_calibration_error,
    "expected error of order 2": partial(cal.exact_calibration_error, order=2),
}
# Mean outcomes of a large sample: what the population has, without noise to take off.
POPULATION = {
    "debiased binned error of order 1": cal.binned_calibration_error,
    "debiased binned error of order 2": partial(cal.binned_calibration_error, order=2),
}
SCENARIOS = (
    ("uniform", "right", 50, "plain"),
    ("uniform", "right", 1000, "plain"),
    ("uniform", "slope 0.6", 1000, "plain"),
    ("uniform", "too low by 0.1", 300, "weights"),
    ("uniform", "right", 1000, "clusters"),
    ("rare", "right", 1000, "plain"),
    ("rare", "twice the truth", 1000, "plain"),
)
ON_LEVELS = (
    ("nine levels", "right", 300, "plain"),
    ("nine levels", "right", 300, "clusters"),
    ("nine levels", "too low by 0.1", 300, "weights"),
    ("nineteen levels", "slope 0.6", 1000, "plain"),
)


@cache
def truth(name, forecast, fault):
    """The value of the population, by a large sample of forecasts and their chances."""
    p = FORECASTS[forecast](np.random.default_rng(0), MANY)
    return float(POPULATION.get(name, MEASURES[name])(FAULTS[fault](p), p))


def interval_misses(name, forecast, fault, size, beside, rng):
    drawn = sample(rng, FORECASTS[forecast](rng, size), beside, fault)
    found = cal.confidence_interval(**drawn.rows, measure=MEASURES[name], draws=199, rng=rng)
    return bool(not found.low <= truth(name, forecast, fault) <= found.high)


def promises():
    for name in MEASURES:
        for scenario in ON_LEVELS if name.startswith("expected") else SCENARIOS:
            forecast, fault, size, beside = scenario
            yield Promise(
                f"interval of the {name}",
                f"{forecast}, {fault}, {size} rows, {beside}",
                partial(interval_misses, name, *scenario),
                300 if name.startswith("loss") else 150,
            )

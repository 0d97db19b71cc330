"""Ends of the expected error of forecasts that never repeat."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from promises.core import Promise
from promises.samples import FAULTS, FORECASTS, sample

MANY = 200_000


def truth(forecast, fault, order):
    """The error of the population, by a large sample of forecasts."""
    p = FORECASTS[forecast](np.random.default_rng(0), MANY)
    return float(np.mean(np.abs(FAULTS[fault](p) - p) ** order) ** (1 / order))


def cross_validated_misses(forecast, fault, size, beside, order, options, rng):
    drawn = sample(rng, FORECASTS[forecast](rng, size), beside, fault)
    rows = {name: column for name, column in drawn.rows.items() if column is not None}
    found = cal.cross_validated_error(**rows, order=order, rng=rng, **options)
    return bool(not found.low <= truth(forecast, fault, order) <= found.high)


def promises():
    for forecast, fault, size, beside in (
        ("uniform", "right", 50, "plain"),
        ("uniform", "right", 1000, "plain"),
        ("uniform", "right", 1000, "clusters"),
        ("uniform", "slope 0.6", 1000, "weights"),
        ("uniform", "power 1.5", 1000, "plain"),
        ("rare", "right", 1000, "plain"),
        ("rare", "half the truth", 1000, "plain"),
    ):
        for order in (1, 2) if size == 1000 and beside == "plain" else (1,):
            yield Promise(
                f"lower end of the cross-validated error of order {order}",
                f"{forecast}, {fault}, {size} rows, {beside}",
                partial(cross_validated_misses, forecast, fault, size, beside, order, {}),
                300,
            )
    for fault in ("right", "slope 0.6", "too low by 0.1"):
        for size in (50, 1000):
            yield Promise(
                "both ends of the cross-validated error, monotone truth",
                f"uniform, {fault}, {size} rows",
                partial(
                    cross_validated_misses, "uniform", fault, size, "plain", 1, {"monotone": True}
                ),
                100,
            )

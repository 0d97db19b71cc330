"""The integrated calibration index and the confidence band of the curve."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.inference import classical_numbers
from calibrant.measures.kernel_smoothed import NARROWEST_CURVE, smoothed_bias
from promises.core import Promise
from promises.samples import FORECASTS, sample

BAND_TRUTHS = {
    "constant 0.5": lambda p: np.full(p.size, 0.5),
    "constant 0.02": lambda p: np.full(p.size, 0.02),
    "p^1.3": lambda p: p**1.3,
}


def ici_is_missed(n, fault, kind, rng):
    """The target is the index of the true chances, smoothed as the sample is."""
    p = FORECASTS["rare" if kind == "rare" else "uniform"](rng, n)
    drawn = sample(rng, p, kind, fault)
    found = classical_numbers(**drawn.rows, draws=99, rng=rng).ici
    joint = cal.Joint.from_samples(drawn.y, p, sample_weight=drawn.weight)
    width = max(float(cal.kernel_smoothed_calibration_error(joint)), NARROWEST_CURVE)
    mass = np.ones(n) / n if drawn.weight is None else drawn.weight / drawn.weight.sum()
    place = np.searchsorted(joint.prediction, p)
    charges = np.bincount(place, mass * (drawn.chance - p), len(joint))[np.newaxis, :]
    target = float(joint.mass @ np.abs(smoothed_bias(joint, charges, width)[0]))
    return not found.low <= target <= found.high


def band_is_left(truth, n, rng):
    p = rng.random(n)
    chance = BAND_TRUTHS[truth](p)
    band = cal.confidence_band(rng.random(n) < chance, p, draws=199, rng=rng)
    true = np.interp(band.prediction, np.sort(p), np.sort(chance))
    return not ((band.low <= true) & (true <= band.high)).all()


def promises():
    for kind in ("plain", "rare", "weights", "clusters"):
        for fault in ("right", "half the truth" if kind == "rare" else "slope 0.6"):
            for n, runs in ((50, 150), (500, 100), (2000, 60)):
                yield Promise(
                    "interval of ICI",
                    f"{fault}, {n} rows, {kind}",
                    partial(ici_is_missed, n, fault, kind),
                    runs,
                )
    yield Promise(
        "interval of ICI",
        "too low by 0.1, 500 rows, plain",
        partial(ici_is_missed, 500, "too low by 0.1", "plain"),
        150,
    )
    for truth, n, runs in (
        ("constant 0.5", 300, 300),
        ("constant 0.5", 3000, 300),
        ("constant 0.02", 3000, 300),
        ("p^1.3", 500, 400),
    ):
        yield Promise(
            "confidence band", f"truth {truth}, {n} rows", partial(band_is_left, truth, n), runs
        )

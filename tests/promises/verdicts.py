"""The default test, the typical gap, and the verdict on error and gap together."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.inference.gap import Ranges
from promises.core import Promise
from promises.samples import FORECASTS, sample, true_error

WEIGHTS = {
    "log-normal": lambda rng, n: rng.lognormal(0, 1, n),
    "gamma": lambda rng, n: rng.gamma(0.5, 1, n) + 1e-9,
    "one in fifty ten times as heavy": lambda rng, n: np.where(rng.random(n) < 0.02, 10.0, 1.0),
}


def draw(rng, n, kind, fault="right"):
    """A sample whose kind says how its forecasts lie, what lies beside them, or both."""
    words = kind.split(", ")
    forecasts = words[0] if words[0] in FORECASTS else "uniform"
    return sample(rng, FORECASTS[forecasts](rng, n), words[-1], fault)


def default_test_rejects(n, kind, rng):
    test = cal.calibration_test(**draw(rng, n, kind).rows, draws=199, rng=rng)
    return test.pvalue <= 0.05


def sound_forecasts_are_called_wrong(n, kind, rng):
    found = cal.verdict(**draw(rng, n, kind).rows, draws=299, rng=rng)
    return found.state == "miscalibrated"


def true_gap(drawn):
    """Typical gap of the chances over the ranges that a sample was cut into."""
    evidence = drawn.evidence
    ranges = Ranges.of(evidence)
    weight = np.ones(drawn.p.size) if drawn.weight is None else drawn.weight
    start = evidence.joint.prediction[ranges.first]
    index = np.maximum(np.searchsorted(start, drawn.p, "right") - 1, 0)
    charge = np.bincount(index, weight * (drawn.chance - drawn.p), start.size) / weight.sum()
    return float(np.sqrt((charge**2 / ranges.mass).sum()))


def gap_misses(n, fault, kind, rng):
    drawn = draw(rng, n, kind, fault)
    found = cal.typical_gap(**drawn.rows, draws=499, rng=rng)
    return not found.low - 1e-6 <= true_gap(drawn) <= found.high + 1e-6


def verdict_is_wrong(n, fault, kind, factor, rng):
    """Whether a verdict is wrong by tolerances so many times the true error and the true gap."""
    drawn = draw(rng, n, kind, fault)
    error = true_error(drawn.p, drawn.chance, drawn.weight)
    found = cal.verdict(
        **drawn.rows,
        tolerance=min(1.0, factor * error),
        gap_tolerance=min(1.0, factor * true_gap(drawn)),
        draws=299,
        rng=rng,
    )
    return found.state == ("miscalibrated" if factor > 1 else "calibrated")


def mixed_weights_reject(events, weights, rng):
    p = rng.choice(events / 2000 * np.array([0.2, 0.5, 1, 2]) / 0.925, 2000)
    weight = WEIGHTS[weights](rng, 2000)
    joint = cal.Joint.from_samples(rng.random(2000) < p, p, sample_weight=weight)
    return cal.calibration_test(joint, draws=199, rng=rng).pvalue <= 0.01


def promises():
    for n, kind in (
        (50, "plain"),
        (200, "weights"),
        (200, "nine levels"),
        (300, "clusters"),
        (500, "rare"),
    ):
        yield Promise(
            "default test at level 0.05",
            f"{n} rows, {kind}",
            partial(default_test_rejects, n, kind),
        )
        yield Promise(
            "sound forecasts are not called miscalibrated",
            f"{n} rows, {kind}",
            partial(sound_forecasts_are_called_wrong, n, kind),
            200,
        )
    for n, kind in ((300, "sharp, clusters"), (1000, "clusters")):
        yield Promise(
            "default test at level 0.05",
            f"{n} rows, {kind}",
            partial(default_test_rejects, n, kind),
        )
    for n, fault, kind in (
        (50, "slope 0.4", "plain"),
        (200, "right", "plain"),
        (200, "slope 0.4", "plain"),
        (1000, "slope 0.7", "plain"),
        (1000, "three waves of 0.15", "plain"),
        (300, "slope 0.4", "weights"),
        (300, "slope 0.4", "nine levels"),
        (1000, "slope 0.4", "clusters"),
        (1000, "right", "clusters"),
        (500, "right", "rare"),
        (500, "half the truth", "rare"),
        (2000, "half the truth", "rare"),
        (2000, "twice the truth", "rare"),
    ):
        yield Promise(
            "interval of the typical gap",
            f"{n} rows, {kind}, {fault}",
            partial(gap_misses, n, fault, kind),
        )
    for factor in (0.95, 1.05):
        for n, fault, kind in (
            (500, "slope 0.7", "plain"),
            (500, "three waves of 0.15", "plain"),
            (500, "too low by 0.05", "weights"),
            (1000, "slope 0.7", "clusters"),
            (2000, "half the truth", "rare"),
        ):
            yield Promise(
                f"verdict by tolerances of {factor} times the truth",
                f"{n} rows, {kind}, {fault}",
                partial(verdict_is_wrong, n, fault, kind, factor),
                100 if fault == "slope 0.7" and kind == "plain" else 40,
            )
    for weights in WEIGHTS:
        for events in (2, 6, 20):
            yield Promise(
                "approximate test at level 0.01",
                f"Joint of mixed weights, {weights}, {events} events",
                partial(mixed_weights_reject, events, weights),
                1000,
                0.03 if "heavy" in weights else 0.01,
            )

"""The choice of a calibrator: calibrated forecasts stay unchanged, gains are true."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.recalibration import recalibrate
from promises.core import Promise
from promises.samples import FAULTS, FORECASTS, sample

EVEN = np.arange(1, 200) / 200


def calibrated_is_changed(forecasts, n, beside, rng):
    drawn = sample(rng, FORECASTS[forecasts](rng, n), beside)
    time = np.arange(n) if beside == "time" else None
    return not recalibrate(**drawn.rows, time=time, rng=rng).unchanged


def drawn_classes(law, n, rng):
    chances = rng.dirichlet(law, n)
    label = (chances.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return label, chances


def calibrated_classes_are_changed(law, n, rng):
    label, chances = drawn_classes(law, n, rng)
    return not recalibrate(label, chances, rng=rng).unchanged


def half_of_the_gain_of_classes_is_forgone(power, n, rng):
    """Forecasts of 3 classes, sure of most rows, whose log-probabilities are multiplied."""
    label, chances = drawn_classes([0.3] * 3, n, rng)

    def stated(chances):
        moved = chances.clip(1e-12) ** power
        return moved / moved.sum(axis=1, keepdims=True)

    fitted = recalibrate(label, stated(chances), rng=rng).calibrator
    fresh = rng.dirichlet([0.3] * 3, 4000).clip(1e-12)
    first, last = (
        -float((fresh * np.log(some)).sum(axis=1).mean()) for some in (stated(fresh), fresh)
    )
    after = -float((fresh * np.log(fitted.transform(stated(fresh)))).sum(axis=1).mean())
    return first - after < (first - last) / 2


def gain(truth, moved):
    saved = truth * np.log(moved / EVEN) + (1 - truth) * np.log((1 - moved) / (1 - EVEN))
    return float(saved.mean())


def chosen(fault, n, rng):
    drawn = sample(rng, rng.choice(EVEN, n), fault=fault)
    return recalibrate(drawn.y, drawn.p, rng=rng)


def half_of_the_gain_is_forgone(fault, n, rng):
    truth = FAULTS[fault](EVEN)
    return gain(truth, chosen(fault, n, rng).calibrator.transform(EVEN)) < gain(truth, truth) / 2


def brier_gain(truth, moved):
    return float(((EVEN - truth) ** 2 - (moved - truth) ** 2).mean())


def gain_is_missed(fault, n, score, rng):
    choice = chosen(fault, n, rng)
    while choice.unchanged:
        choice = chosen(fault, n, rng)
    saved = {"log": gain, "brier": brier_gain}[score]
    true = saved(FAULTS[fault](EVEN), choice.calibrator.transform(EVEN))
    return not choice.gains[score].low <= true <= choice.gains[score].high


def promises():
    calibrated = [("uniform", n, "plain") for n in (50, 100, 300, 1000)]
    calibrated += [
        (forecasts, 300, "plain")
        for forecasts in ("sharp", "like a language model", "nineteen levels", "rare")
    ]
    calibrated += [("rare", 3000, "plain"), ("nineteen levels", 1000, "plain")]
    calibrated += [("uniform", 300, beside) for beside in ("weights", "clusters", "time")]
    calibrated += [("uniform", 50, "clusters")]
    for forecasts, n, beside in calibrated:
        said = {"plain": "", "clusters": ", clusters of 10, rho 0.3"}.get(beside, f", {beside}")
        yield Promise(
            "choose leaves calibrated forecasts alone",
            f"{forecasts}, {n} rows{said}",
            partial(calibrated_is_changed, forecasts, n, beside),
            200,
        )
    for n, name, law in (
        (100, "4 classes", [1.0] * 4),
        (300, "4 classes", [1.0] * 4),
        (300, "3 classes, one almost certain", [20, 0.5, 0.5]),
        (100, "3 classes", [1.0] * 3),
        (150, "3 classes", [1.0] * 3),
        (300, "3 classes", [1.0] * 3),
        (1000, "3 classes", [1.0] * 3),
        (150, "3 classes, sure of most rows", [0.3] * 3),
    ):
        yield Promise(
            "choose leaves calibrated forecasts alone",
            f"{name}, {n} rows",
            partial(calibrated_classes_are_changed, law, n),
            100,
        )
    # Half of what is available, where so many rows leave a chance to see it.
    for fault, n, nominal in (
        ("slope 0.6", 300, 0.35),
        ("slope 1.5", 300, 0.5),
        ("odds times 1.65", 300, 0.4),
        ("slope 0.6", 1000, 0.05),
        ("three waves of 0.15", 1000, 0.05),
    ):
        yield Promise(
            "choose keeps half of the gain available",
            f"{fault}, {n} rows",
            partial(half_of_the_gain_is_forgone, fault, n),
            60,
            nominal,
        )
    for power, n, nominal in ((1 / 3, 150, 0.05), (1.7, 150, 0.35), (1 / 3, 300, 0.05)):
        yield Promise(
            "choose keeps half of the gain available",
            f"3 classes, log-probabilities times {power:.2g}, {n} rows",
            partial(half_of_the_gain_of_classes_is_forgone, power, n),
            60,
            nominal,
        )
    for fault in ("slope 0.6", "slope 0.8", "odds times 1.65"):
        for n in (100, 300, 1000):
            yield Promise(
                "interval of the gain of the calibrator chosen, where one was",
                f"{fault}, {n} rows",
                partial(gain_is_missed, fault, n, "log"),
                60,
            )
    for fault in ("slope 0.6", "slope 0.8", "odds times 1.65"):
        for n in (100, 300, 1000):
            yield Promise(
                "interval of its gain in Brier score, where log loss chose",
                f"{fault}, {n} rows",
                partial(gain_is_missed, fault, n, "brier"),
                60,
            )

"""Real outcomes: bets that watch and test, calibrators that mend, two forecasters compared."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant import CalibrationMonitor, betting_test, compare
from calibrant.recalibration import recalibrate
from promises.core import Promise

GUMBEL_MEAN = 0.5772156649015329
# Noise of mean 0 around a forecast.
NOISES = {
    "normal": lambda rng, rows: rng.normal(0, 4, rows),
    "skewed": lambda rng, rows: 4 * (rng.gumbel(0, 1, rows) - GUMBEL_MEAN),
    "heavy tails": lambda rng, rows: 3 * rng.standard_t(3, rows),
}
POPULATION = 40_000


def bounded(rng, rows, kind):
    """Forecasts and outcomes in [0, 100] whose mean is the forecast."""
    z = rng.uniform(5, 60, rows)
    if kind == "two outcomes, a rare large one":
        chance = z / 200
        return np.where(rng.random(rows) < chance, 100.0, (z - 100 * chance) / (1 - chance)), z
    return 100 * rng.beta(z / 50, 2 - z / 50), z


def sound_stream_alarms(kind, rng):
    y, z = bounded(rng, 2000, kind)
    return CalibrationMonitor(kind="mean", range=(0, 100), tolerance=0.0).update_many(y, z)


def sound_quantiles_alarm(level, rng):
    z = rng.normal(20, 6, 2000)
    # The spread grows with the forecast; the quantile of the noise is 0.
    noise = rng.standard_t(2, 2000)
    right = z - 3 * (np.abs(z) / 10 + 1) * _quantile_of_t(level)
    y = right + 3 * (np.abs(z) / 10 + 1) * noise
    return CalibrationMonitor(kind=f"quantile={level}", tolerance=0.0).update_many(y, z)


def _quantile_of_t(level):
    """Quantile of Student's distribution with two degrees of freedom."""
    return (2 * level - 1) / np.sqrt(2 * level * (1 - level))


def sound_intervals_alarm(rng):
    z, half = rng.normal(20, 6, 2000), rng.uniform(1, 5, 2000)
    y = z + rng.uniform(-1, 1, 2000) * half / 0.8
    return CalibrationMonitor(kind="interval", level=0.8, tolerance=0.0).update_many(
        y, np.column_stack([z - half, z + half])
    )


def betting_test_rejects(kind, rows, clusters, rng):
    if clusters:
        y, z = (np.repeat(column, 5) for column in bounded(rng, rows // 5, kind))
        found = betting_test(y, z, range=(0, 100), clusters=np.arange(rows) // 5, rng=rng)
    else:
        found = betting_test(*bounded(rng, rows, kind), range=(0, 100), rng=rng)
    return found.pvalue <= 0.05


def conformal_misses(level, rows, ties, rng):
    z = rng.normal(20, 6, rows + 1)
    y = 3 + 0.7 * z + NOISES["heavy tails"](rng, rows + 1)
    if ties:
        y, z = y.round(-1), z.round(-1)
    given = {"kind": f"quantile={level}", "methods": ["conformal"], "always": True}
    found = recalibrate(y[:-1], z[:-1], rng=rng, **given).calibrator
    return bool(y[-1] > found.transform(z[-1:])[0])


def conformal_interval_misses(rng):
    z = rng.normal(20, 6, 51)
    y = z + NOISES["skewed"](rng, 51)
    ends = np.column_stack([z - 2, z + 2])
    given = {"kind": "interval", "level": 0.9, "methods": ["conformal"], "always": True}
    found = recalibrate(y[:-1], ends[:-1], rng=rng, **given).calibrator
    low, high = found.transform(ends[-1:])[0]
    return not low <= y[-1] <= high


def forecasts(rng, rows, noise, bias, clusters):
    """Forecasts, outcomes and clusters; rows of a cluster share half of the variance."""
    z = rng.normal(20, 6, rows)
    off = NOISES[noise](rng, rows)
    cluster = None
    if clusters:
        cluster = rng.permutation(np.arange(rows) % clusters)
        off = (off + NOISES[noise](rng, clusters)[cluster]) / np.sqrt(2)
    return z + bias + off, z, cluster


def right_forecasts_are_changed(noise, rows, clusters, rng):
    y, z, cluster = forecasts(rng, rows, noise, 0.0, clusters)
    return not recalibrate(y, z, kind="mean", clusters=cluster, rng=rng).unchanged


def right_quantiles_are_changed(level, rows, rng):
    z = rng.normal(20, 6, rows)
    y = z + 3 * (rng.standard_t(2, rows) - _quantile_of_t(level))
    return not recalibrate(y, z, kind=f"quantile={level}", rng=rng).unchanged


def saving_is_missed(noise, rows, clusters, rng):
    """Among samples in which a calibrator is taken, against what it saves in the population."""
    while True:
        y, z, cluster = forecasts(rng, rows, noise, 2.0, clusters)
        found = recalibrate(y, z, kind="mean", clusters=cluster, rng=rng)
        if not found.unchanged:
            break
    y, z, _ = forecasts(rng, POPULATION, noise, 2.0, 0)
    # Noise of the outcomes cancels: of means, squared errors differ by that of perfect forecasts.
    right = z + 2.0
    saved = float(np.mean((z - right) ** 2 - (found.calibrator.transform(z) - right) ** 2))
    return not found.gain.low <= saved <= found.gain.high


def fault_is_left(noise, rows, rng):
    """Whether half of a bias of 2, or more, is left on average over the population."""
    y, z, _ = forecasts(rng, rows, noise, 2.0, 0)
    found = recalibrate(y, z, kind="mean", rng=rng).calibrator
    z = rng.normal(20, 6, POPULATION)
    return bool(np.mean(np.abs(found.transform(z) - z - 2.0)) > 1.0)


def coverage_is_left(rows, rng):
    """Whether quantiles of 0.9 that cover 74 % cover less than 82 % of the population after all."""

    def drawn(size):
        z = rng.normal(20, 6, size)
        return z + rng.normal(0, 4, size), z + 4 * 0.65

    found = recalibrate(*drawn(rows), kind="quantile=0.9", rng=rng).calibrator
    y, z = drawn(POPULATION)
    return bool(np.mean(y <= found.transform(z)) < 0.82)


def comparison_misses(noise, rows, clusters, weighted, rng):
    y, z, cluster = forecasts(rng, rows, noise, 0.0, clusters)
    weight = rng.lognormal(0, 1, rows) if weighted else None
    other = 0.9 * z + 1
    found = compare(y, z, other, kind="mean", clusters=cluster, sample_weight=weight)
    # The mean of (0.9 z + 1 - z)^2 for normal forecasts of mean 20 and deviation 6.
    true = (0.1 * 20 - 1) ** 2 + (0.1 * 6) ** 2
    return not found.low <= true <= found.high


def promises():
    sound = "no alarm of a sound stream of continuous outcomes"
    for kind in ("beta outcomes", "two outcomes, a rare large one"):
        yield Promise(sound, f"means, {kind}, 2000 rows", partial(sound_stream_alarms, kind), 500)
    for level in (0.5, 0.9):
        yield Promise(
            sound,
            f"quantile {level}, heavy tails and unequal spread, 2000 rows",
            partial(sound_quantiles_alarm, level),
            500,
        )
    yield Promise(sound, "intervals of 80 %, 2000 rows", sound_intervals_alarm, 500)
    for kind in ("beta outcomes", "two outcomes, a rare large one"):
        for rows, clusters in ((50, False), (1000, False), (50, True)):
            yield Promise(
                "the betting test rejects right means",
                f"{kind}, {rows} rows{', clusters of five that are alike' if clusters else ''}",
                partial(betting_test_rejects, kind, rows, clusters),
                1000,
            )
    for level, rows, ties, rank in (
        (0.9, 50, False, 46),
        (0.9, 50, True, 46),
        (0.9, 9, False, 9),
        (0.5, 200, False, 101),
    ):
        yield Promise(
            "a conformal shift covers the next outcome",
            f"quantile {level}, {rows} rows{' with ties' if ties else ''}: {rank} in {rows + 1}",
            partial(conformal_misses, level, rows, ties),
            4000,
            1 - rank / (rows + 1),
        )
    yield Promise(
        "a conformal shift covers the next outcome",
        "intervals of 90 %, 50 rows: 46 in 51",
        conformal_interval_misses,
        4000,
        1 - 46 / 51,
    )
    for noise, rows, clusters in (
        ("normal", 50, 0),
        ("skewed", 50, 0),
        ("heavy tails", 300, 0),
        ("skewed", 300, 30),
    ):
        grouped = f" in {clusters} clusters" if clusters else ""
        yield Promise(
            "right means of continuous outcomes are left alone",
            f"{noise}, {rows} rows{grouped}",
            partial(right_forecasts_are_changed, noise, rows, clusters),
            200,
        )
        yield Promise(
            "interval of what a calibrator of means saves",
            f"too low by 2, {noise}, {rows} rows{grouped}",
            partial(saving_is_missed, noise, rows, clusters),
            200,
        )
    for noise in NOISES:
        yield Promise(
            "half of the error of means is mended",
            f"too low by 2, {noise}, 300 rows",
            partial(fault_is_left, noise, 300),
            200,
        )
    yield Promise(
        "half of the missing coverage is mended",
        "quantile 0.9 that covers 74 %, 300 rows",
        partial(coverage_is_left, 300),
        200,
    )
    for level, rows in ((0.5, 50), (0.9, 300)):
        yield Promise(
            "right quantiles are left alone",
            f"quantile {level}, heavy tails, {rows} rows",
            partial(right_quantiles_are_changed, level, rows),
            200,
        )
    for noise, rows, clusters, weighted in (
        ("normal", 50, 0, False),
        ("skewed", 50, 0, False),
        ("heavy tails", 300, 0, False),
        ("skewed", 300, 0, True),
        ("skewed", 300, 30, False),
        ("normal", 50, 3, False),
    ):
        grouped = f" in {clusters} clusters" if clusters else ""
        yield Promise(
            "difference of two mean squared errors",
            f"{noise}, {rows} rows{grouped}{', weights' if weighted else ''}",
            partial(comparison_misses, noise, rows, clusters, weighted),
            1000,
        )

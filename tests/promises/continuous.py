"""Forecasts of continuous outcomes: size of the test, coverage of error, gap, bias and groups."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant import calibration_error
from calibrant.data.rows import Rows
from calibrant.groups import groups_of, judge_groups, search_segments
from calibrant.inference import Evidence, Settings, Statistic, find_verdict
from calibrant.inference.ratio import find_mean_ratio
from calibrant.inputs import KindRequest, Roles, read
from calibrant.report.sections import loss_and_ranges
from promises.core import Promise

DRAWS = 199
SMOOTH = Statistic.of("smooth_calibration_error")
# Rows that stand for the population.
MANY = 10_000


def noise(kind, z, rng):
    """Errors of mean zero: what outcomes add to their mean."""
    if kind == "normal":
        return rng.normal(0, 5, z.size)
    if kind == "skewed":
        return 5 * (rng.lognormal(0, 0.8, z.size) - np.exp(0.32))
    if kind == "heavy tails":
        return 3 * rng.standard_t(3, z.size)
    if kind == "spread grows with the forecast":
        return 0.5 * z * rng.normal(0, 1, z.size)
    if kind == "mostly zero":  # claims: one in ten, as large as the mean asks for
        return z * (10 * (rng.random(z.size) < 0.1) * rng.gamma(2, 0.5, z.size) - 1)
    raise ValueError(kind)


def forecasts(size, rng):
    return rng.gamma(4, 5, size)


def outcomes(kind, z, wrong, rng):
    return mean_of(z, wrong) + noise(kind, z, rng)


def mean_of(z, wrong):
    return {"right": z, "too low by 2": z + 2, "slope 0.8": 20 + 0.8 * (z - 20)}[wrong]


def judged(y, z, rng, kind="mean", tolerance=1.0, clusters=None):
    held = Rows.of_kind(y, z, kind)
    evidence = Evidence.of_rows(held, clusters)
    return held, find_verdict(evidence, SMOOTH, settings_of(rng, tolerance, held.kind))


def settings_of(rng, tolerance, kind):
    return Settings.read(draws=DRAWS, rng=rng, tolerance=tolerance, kind=kind)


def source_of_means(y, z, by=None, sample_weight=None):
    return read(y, z, Roles(weight=sample_weight, by=by, kind=KindRequest("mean")))


def right_forecasts_are_rejected(kind, size, rng):
    z = forecasts(size, rng)
    return judged(outcomes(kind, z, "right", rng), z, rng)[1].pvalue <= 0.05


def error_is_missed(kind, wrong, size, rng):
    z = forecasts(size, rng)
    held, found = judged(outcomes(kind, z, wrong, rng), z, rng)
    everyone = forecasts(MANY, rng)
    scale = held.scale
    inside = np.clip(everyone, scale.start, scale.end)
    outcome = mean_of(everyone, wrong) - everyone + inside
    truth = Rows(inside, outcome, None, kind=held.kind, scale=scale)
    return not found.interval.low <= calibration_error(truth) <= found.interval.high


def shift_is_missed_by_the_gap(kind, shift, size, rng):
    z = forecasts(size, rng)
    found = judged(z + shift + noise(kind, z, rng), z, rng)[1]
    return not found.gap.interval.low <= shift <= found.gap.interval.high


def right_quantiles_are_rejected(level, size, rng):
    z = forecasts(size, rng)
    y = z * rng.exponential(1, size)
    return judged(y, -z * np.log(1 - level), rng, f"quantile={level}", 0.05)[1].pvalue <= 0.05


def coverage_is_missed(level, truth, size, rng):
    z = forecasts(size, rng)
    y = z * rng.exponential(1, size)
    found = judged(y, -z * np.log(1 - truth), rng, f"quantile={level}", 0.05)[1]
    return not found.interval.low <= abs(truth - level) <= found.interval.high


def clustered_error_is_missed(clusters, size, shift, rng):
    code = np.repeat(np.arange(clusters), size)
    z = forecasts(code.size, rng)
    y = z + shift + rng.normal(0, 3, clusters)[code] + rng.normal(0, 4, code.size)
    found = judged(y, z, rng, clusters=code)[1]
    return not found.interval.low <= shift <= found.interval.high


def clustered_right_forecasts_are_rejected(clusters, size, rng):
    code = np.repeat(np.arange(clusters), size)
    z = forecasts(code.size, rng)
    y = z + rng.normal(0, 3, clusters)[code] + rng.normal(0, 4, code.size)
    return judged(y, z, rng, clusters=code)[1].pvalue <= 0.05


def a_group_is_missed(kind, groups, size, rng):
    code = np.repeat(np.arange(groups), size)
    z = forecasts(code.size, rng)
    y = z + 2 + noise(kind, z, rng)
    source = source_of_means(y, z, {"g": code})
    found = judge_groups(
        groups_of(source),
        SMOOTH,
        settings_of(rng, 1.0, source.kind).settled(Evidence.of_source(source)),
    )
    return not all(group.low <= 2 <= group.high for group in found)


def bias_is_missed(kind, size, weighted, rng):
    z = forecasts(size, rng)
    weight = rng.lognormal(0, 1, size) if weighted else None
    y = z + 2 + noise(kind, z, rng)
    source = source_of_means(y, z, sample_weight=weight)
    loss, _ = loss_and_ranges(source, Evidence.of_source(source), 0.95)
    _, low, high = loss.bias
    return not low <= 2 <= high


def a_segment_is_confirmed(kind, size, rng):
    z = forecasts(size, rng)
    y = z + noise(kind, z, rng)
    by = {name: rng.integers(0, 4, size) for name in "abc"}
    divided = groups_of(source_of_means(y, z, by))
    found = search_segments(divided.rows, divided.parts, 0.05, rng)
    return any(segment.confirmed for segment in found)


def ratio_is_missed(kind, size, rng):
    """Observed over expected of right means, whose true ratio is 1."""
    z, cluster = rng.uniform(1, 5, size), None
    if kind == "clusters":
        cluster = np.arange(size) // 20
        y = z * rng.gamma(2, 0.5, size)[cluster] * rng.gamma(4, 0.25, size)
    elif kind == "counts":
        y = rng.poisson(0.02 * z).astype(float)
        z = 0.02 * z
    else:
        y = np.where(rng.random(size) < 0.05, rng.exponential(20 * z), 0.0)
    ratio = find_mean_ratio(Evidence.of_rows(Rows.of_kind(y, z), cluster), 0.95)
    return not ratio.low <= 1 <= ratio.high


def ratios():
    for kind, size in (
        ("counts", 3000),
        ("5 % claims", 500),
        ("5 % claims", 2000),
        ("clusters", 1200),
    ):
        yield Promise(
            "interval of observed over expected means",
            f"{kind}, {size} rows",
            partial(ratio_is_missed, kind, size),
        )


def promises():
    yield from ratios()
    for kind, size in (("normal", 600), ("skewed", 2000), ("heavy tails", 1000)):
        yield Promise(
            "no segment of right means is confirmed",
            f"{size} rows, {kind}",
            partial(a_segment_is_confirmed, kind, size),
            200,
        )
    for kind, size in (
        ("normal", 50),
        ("normal", 300),
        ("skewed", 50),
        ("skewed", 300),
        ("heavy tails", 300),
        ("spread grows with the forecast", 300),
        ("mostly zero", 500),
    ):
        yield Promise(
            "test of means at level 0.05",
            f"right, {size} rows, {kind}",
            partial(right_forecasts_are_rejected, kind, size),
            # Keeping the skewness is not enough where one outcome in ten counts.
            nominal=0.1 if kind == "mostly zero" else 0.05,
        )
    for kind, wrong, size in (
        ("normal", "right", 50),
        ("normal", "too low by 2", 300),
        ("skewed", "slope 0.8", 300),
        ("heavy tails", "too low by 2", 100),
        ("spread grows with the forecast", "slope 0.8", 300),
        ("mostly zero", "too low by 2", 500),
    ):
        yield Promise(
            "interval of the smooth error of means",
            f"{wrong}, {size} rows, {kind}",
            partial(error_is_missed, kind, wrong, size),
            200,
        )
    for kind, shift, size in (
        ("normal", 0.0, 100),
        ("skewed", 2.0, 300),
        ("heavy tails", 2.0, 300),
        ("spread grows with the forecast", 0.0, 300),
    ):
        yield Promise(
            "interval of the typical gap of means",
            f"too low by {shift:g}, {size} rows, {kind}",
            partial(shift_is_missed_by_the_gap, kind, shift, size),
            200,
        )
    for level, size in ((0.9, 50), (0.5, 300), (0.99, 300)):
        yield Promise(
            "test of quantiles at level 0.05",
            f"right, level {level:g}, {size} rows",
            partial(right_quantiles_are_rejected, level, size),
            200,
        )
    for level, truth, size in ((0.9, 0.9, 100), (0.9, 0.8, 300), (0.99, 0.95, 300)):
        yield Promise(
            "interval of the smooth error of quantiles",
            f"level {level:g}, {truth:g} of outcomes below, {size} rows",
            partial(coverage_is_missed, level, truth, size),
            200,
        )
    for clusters, size, shift in ((30, 10, 0.0), (100, 5, 2.0)):
        yield Promise(
            "interval of the smooth error of means, clusters",
            f"too low by {shift:g}, {clusters} clusters of {size} rows",
            partial(clustered_error_is_missed, clusters, size, shift),
            200,
        )
    yield Promise(
        "test of means at level 0.05, clusters",
        "right, 60 clusters of 10 rows",
        partial(clustered_right_forecasts_are_rejected, 60, 10),
        200,
    )
    for kind, groups, size in (("normal", 10, 60), ("skewed", 20, 50)):
        yield Promise(
            "intervals of groups of means, at once",
            f"too low by 2, {groups} groups of {size} rows, {kind}",
            partial(a_group_is_missed, kind, groups, size),
            200,
        )
    for kind, size, weighted in (("normal", 50, False), ("skewed", 300, True)):
        yield Promise(
            "interval of observed minus forecast",
            f"{size} rows, {kind}{', weights' if weighted else ''}",
            partial(bias_is_missed, kind, size, weighted),
            200,
        )

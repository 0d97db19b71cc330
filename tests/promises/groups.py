"""Clusters, groups, segments: nobody is accused by chance."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.special import expit, logit

import calibrant as cal
from calibrant.groups import audit_groups, find_segments, judge_groups
from calibrant.inference import laws as cluster_laws
from calibrant.inference.evidence import Evidence
from calibrant.inference.measured import clustered_noise_floors
from calibrant.inference.ratio import find_ratio
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from promises.core import Promise
from promises.samples import SMOOTH, sample, together


def lone_clusters_are_accused(rng):
    ward = np.repeat(np.arange(20), 100)
    p = rng.random(2000)
    y = together(rng, ward, 0.3) < p
    found = audit_groups(y, p, {"ward": ward.astype(str)}, clusters=ward, draws=99, rng=rng)
    return any(group.low > 0 for group in found)


def few_clusters_miss(count, shift, rng):
    cluster = np.repeat(np.arange(count), 20)
    p = rng.choice(np.arange(1, 10) / 10, cluster.size)
    y = together(rng, cluster, 0.3) < p + shift
    found = cal.confidence_interval(y, p, clusters=cluster, draws=199, rng=rng)
    return not found.low <= shift <= found.high


@contextmanager
def in_bundles(bundles):
    """Draw clusters in so many bundles, as is done for millions of rows in 512 at least."""
    most = dict.fromkeys(("MANY_ROWS", "MANY_CLUSTERS", "FEW_LEVELS"), 1)
    each = dict.fromkeys(("BLOCKS", "FEWEST_BLOCKS"), bundles)
    with patch.multiple(cluster_laws, **most, **each):
        yield


def bundles_miss(bundles, shift, rng):
    cluster = np.arange(4000) // 10
    p = rng.choice(np.arange(1, 46) / 50, cluster.size)
    y = together(rng, cluster, 0.3) < p + shift
    with in_bundles(bundles):
        found = cal.confidence_interval(y, p, clusters=cluster, draws=199, rng=rng)
    return not found.low <= shift <= found.high


def bundled_test_rejects(bundles, rng):
    drawn = sample(rng, rng.integers(1, 50, 4000) / 50, "clusters")
    with in_bundles(bundles):
        return cal.calibration_test(**drawn.rows, draws=199, rng=rng).pvalue <= 0.05


def sums_of_groups(rng, groups, events):
    levels, rows = np.array([0.005, 0.01, 0.015]), round(events / 0.03)
    ones = rng.binomial(rows, levels, (groups, 3))
    return {
        ("group", str(i)): Evidence.of_joint(cal.Joint.from_counts(levels, [rows] * 3, ones[i]))
        for i in range(groups)
    }


def some_group_misses(groups, events, rng):
    found = judge_groups(
        sums_of_groups(rng, groups, events),
        Statistic.of(SMOOTH),
        Settings.read(draws=499, rng=rng),
    )
    return any(group.low > 0 for group in found)


def some_group_is_accused(kind, groups, rows, rng):
    """Accused: error or typical gap above zero although every forecast is right."""
    site, cluster = np.repeat(np.arange(groups), rows), None
    p = rng.beta(1, 30, site.size) if kind == "rare" else rng.uniform(0.05, 0.95, site.size)
    y = rng.random(site.size) < p
    if kind == "clusters":
        cluster = np.arange(site.size) // 20
        y = together(rng, cluster, 0.3) < p
    by = {"site": site.astype(str)}
    found = audit_groups(y, p, by, tolerance=1e-6, clusters=cluster, draws=199, rng=rng)
    return bool(found.failing)


def opposite_slopes_pass(rng):
    """Slopes that are off, of two groups whose errors cancel: "calibrated" is wrong for each."""
    p, site = rng.random(40_000), rng.integers(0, 2, 40_000)
    flat = expit(0.7 * logit(p))
    y = rng.random(p.size) < np.where(site, flat, np.clip(2 * p - flat, 0, 1))
    found = audit_groups(y, p, {"site": site.astype(str)}, draws=99, rng=rng)
    return any(group.state == "calibrated" for group in found)


def some_ratio_misses(groups, events, rng):
    single = 1 - 0.05 / groups
    found = (find_ratio(e, single) for e in sums_of_groups(rng, groups, events).values())
    return any(not ratio.low <= 1 <= ratio.high for ratio in found)


def clustered_segment_is_confirmed(rng):
    drawn = sample(rng, rng.random(1500), "clusters", rho=0.5)
    by = {
        "site": rng.integers(0, 4, 150)[drawn.cluster].astype(str),
        "age": rng.random(150)[drawn.cluster],
    }
    found = find_segments(drawn.y, drawn.p, by, clusters=drawn.cluster, rng=rng)
    return any(segment.confirmed for segment in found)


def clustered_value_exceeds_its_floor(measure, rng):
    evidence = sample(rng, rng.uniform(0.1, 0.9, 1200), "clusters", size=20, rho=0.5).evidence
    floor = clustered_noise_floors(evidence, [measure], 39, rng)[measure]
    return Statistic.of(measure).value(evidence.full_joint) > floor


def promises():
    yield Promise(
        "no group of one cluster is accused", "20 groups, rho 0.3", lone_clusters_are_accused, 150
    )
    for count in (3, 10, 30):
        for shift in (0.0, 0.1):
            yield Promise(
                "interval of the smooth error",
                f"{count} clusters, rho 0.3, error {shift:g}",
                partial(few_clusters_miss, count, shift),
            )
    for bundles in (20, 200):
        for shift in (0.0, 0.1):
            yield Promise(
                "interval of the smooth error",
                f"400 clusters in {bundles} bundles, rho 0.3, error {shift:g}",
                partial(bundles_miss, bundles, shift),
            )
    yield Promise(
        "default test at level 0.05",
        "400 clusters in 200 bundles, rho 0.3",
        partial(bundled_test_rejects, 200),
    )
    for groups, events, runs in ((250, 10, 200), (250, 40, 200), (1000, 10, 60)):
        yield Promise(
            "smooth errors of all groups at once",
            f"{groups} groups, {events} events each",
            partial(some_group_misses, groups, events),
            runs,
        )
    for kind, groups, rows in (("uniform", 20, 300), ("rare", 50, 200), ("clusters", 8, 1000)):
        yield Promise(
            "errors and typical gaps of all groups at once",
            f"{kind}, {groups} groups of {rows} rows",
            partial(some_group_is_accused, kind, groups, rows),
            150,
        )
    yield Promise(
        "no group with a slope that is off is called calibrated",
        "two groups of opposite slopes, 40 000 rows",
        opposite_slopes_pass,
        100,
    )
    for events in (2, 10):
        yield Promise(
            "observed over expected of all groups at once",
            f"250 groups, {events} events each",
            partial(some_ratio_misses, 250, events),
            200,
        )
    yield Promise(
        "no segment of a sound forecaster is confirmed",
        "1500 rows in clusters of 10, rho 0.5",
        clustered_segment_is_confirmed,
        200,
    )
    for measure in ("binned", "cutoff", "kernel_smoothed"):
        yield Promise(
            "a measure of clustered rows is below its noise floor",
            f"{measure.replace('_', '-')} error, 60 clusters of 20, rho 0.5",
            partial(clustered_value_exceeds_its_floor, f"{measure}_calibration_error"),
            100 if measure == "kernel_smoothed" else 300,
            0.5,
        )

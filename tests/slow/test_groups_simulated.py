"""Groups by simulation: intervals that hold at once, alarms that are rare, honest segments."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.groups import (
    audit_groups,
    find_segments,
    judge_groups,
    learned_advantage,
    recalibrate_by_group,
)
from calibrant.inference.evidence import Evidence
from calibrant.inference.settings import Settings
from calibrant.inference.simultaneous_verdicts import cells_for
from calibrant.inference.statistic import Statistic
from calibrant.weight_functions import LearnedFamily

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning"),
]

RUNS = 600
LEVELS = np.array([0.05, 0.2, 0.4, 0.6, 0.9])


def columns(rng, n):
    """Columns of large, small and tiny groups that overlap."""
    return {
        "site": rng.choice(["a", "b", "c"], n, p=[0.7, 0.25, 0.05]),
        "night": rng.random(n) < 0.3,
        "age": rng.integers(18, 90, n),
    }


def above(share, runs):
    """Four standard errors above a share."""
    return share + 4 * np.sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("rare", [False, True])
def test_a_sound_forecaster_is_rarely_accused_in_any_group(pairs, rare):
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(RUNS):
        by = columns(rng, 1500)
        p = rng.random(1500) ** (4 if rare else 1) * (0.3 if rare else 1)
        y = rng.random(1500) < p
        groups = audit_groups(y, p, by, pairs=pairs, draws=199, rng=rng)
        alarms += any(group.low > 0 for group in groups)
    assert alarms / RUNS <= above(0.05, RUNS)


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_all_groups_hold_at_once(weighted):
    """True errors are known: the chance of each level in each site is."""
    rng = np.random.default_rng(8)
    truth = {
        "a": LEVELS,
        "b": np.clip(LEVELS + 0.1, 0, 1),
        "c": np.array([0.3, 0.2, 0.3, 0.7, 0.7]),
    }
    law = {
        site: float(cal.smooth_calibration_error(chance, LEVELS)) for site, chance in truth.items()
    }
    misses = 0
    for _ in range(RUNS):
        n = 2000
        site = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
        level = rng.integers(0, 5, n)
        chance = np.select([site == s for s in truth], [truth[s][level] for s in truth])
        y = rng.random(n) < chance
        weight = rng.lognormal(0, 0.5, n) if weighted else None
        groups = audit_groups(
            y, LEVELS[level], {"site": site}, sample_weight=weight, draws=199, rng=rng
        )
        misses += any(not g.low <= law[g.name] <= g.high for g in groups)
    assert misses / RUNS <= above(0.05, RUNS)


def test_learned_tests_keep_their_size():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(9)
    tree = DecisionTreeRegressor(max_depth=3)
    chances = []
    for run in range(RUNS):
        x, p = rng.random((300, 2)), rng.random(300)
        family = LearnedFamily(tree, draws=99, rng=run)
        chances.append(learned_advantage(rng.random(300) < p, p, x, family).pvalue)
    for level in (0.05, 0.2):
        assert np.mean(np.array(chances) <= level) <= above(level, RUNS)


def test_segments_of_a_sound_forecaster_are_rarely_confirmed():
    rng = np.random.default_rng(10)
    alarms = 0
    for run in range(RUNS):
        by = columns(rng, 1200)
        p = rng.random(1200)
        found = find_segments(rng.random(1200) < p, p, by, rng=run)
        alarms += any(segment.confirmed for segment in found)
    assert alarms / RUNS <= above(0.05, RUNS)


@pytest.mark.parametrize("share", [0.005, 0.02, 0.1, 0.5])
def test_a_broken_segment_of_any_size_is_found(share):
    """The bias is so large that half of the rows show it by eight standard errors."""
    rng = np.random.default_rng(11)
    found_it = 0
    for run in range(20):
        n = 40_000
        levels = round(1 / np.sqrt(share)) if share < 0.5 else 2
        by = {name: rng.integers(0, levels, n).astype(str) for name in ("site", "kind")}
        by["age"] = rng.integers(18, 90, n)
        broken = by["site"] == "0"
        if share < 0.5:
            broken &= by["kind"] == "0"
        p = np.full(n, 0.4) + 0.1 * rng.random(n)
        bias = min(0.5, 12 * 0.5 / np.sqrt(n * share))
        y = rng.random(n) < p + bias * broken
        segments = find_segments(y, p, by, rng=run)
        found_it += any(segment.confirmed for segment in segments)
    assert found_it >= 18


@pytest.mark.parametrize("score", ["log", "brier"])
@pytest.mark.parametrize("kind", ["uniform", "rare", "clusters", "over-confident"])
def test_patches_of_sound_groups_are_refused(kind, score):
    """At least 95 %, with groups large, small and tiny; also where a plain calibrator is needed."""
    rng = np.random.default_rng(13)
    refused, n = 0, 1500
    for _ in range(200):
        by = columns(rng, n)
        p = rng.beta(0.5, 20, n) if kind == "rare" else rng.random(n)
        y = rng.random(n) < p
        beside = {"clusters": np.arange(n) % 75} if kind == "clusters" else {}
        if kind == "over-confident":
            p = p**2 / (p**2 + (1 - p) ** 2)
        found = recalibrate_by_group(
            y, p, by, methods=["platt", "isotonic"], score=score, draws=99, rng=rng, **beside
        )
        refused += not found.patched
    assert refused >= 0.95 * 200


@pytest.mark.parametrize("share", [0.005, 0.02, 0.1, 0.5])
def test_a_broken_group_of_any_size_is_repaired_on_new_rows(share):
    """Twelve standard errors of bias; on new rows at most a third of it is left."""
    rng = np.random.default_rng(14)

    def rows(bias):
        n = 40_000
        by = columns(rng, n) | {"ward": np.where(rng.random(n) < share, "bad", "good")}
        p = 0.3 + 0.2 * rng.random(n)
        y = rng.random(n) < p + bias * (by["ward"] == "bad")
        return p, y, by

    bias = min(0.4, 12 * 0.5 / np.sqrt(40_000 * share))
    done = 0
    for run in range(10):
        p, y, by = rows(bias)
        found = recalibrate_by_group(y, p, by, methods=["platt"], draws=99, rng=run)
        p, y, by = rows(bias)
        inside = by["ward"] == "bad"
        left = np.mean(found.calibrator.transform(p, by)[inside] - y[inside])
        done += found.patched and abs(left) <= bias / 3
    assert done >= 8


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize(("groups", "size", "runs"), [(8, 400, 600), (260, 100, 50)])
def test_groups_without_rows_are_rarely_accused(groups, size, runs, rare):
    """Sums of groups that come without rows: their noise is drawn on cells, the fewer the more."""
    rng = np.random.default_rng(15)
    statistic = Statistic.of("smooth_calibration_error")
    alarms = 0
    for _ in range(runs):
        evidences = {}
        for group in range(groups):
            p = rng.beta(0.5, 10, size) if rare else rng.random(size)
            joint = cal.Joint.from_samples(rng.random(size) < p, p)
            assert len(joint) > cells_for(groups)
            evidences["group", str(group)] = Evidence.of_joint(joint)
        found = judge_groups(evidences, statistic, Settings(draws=199, tolerance=0.02, rng=rng))
        alarms += any(group.low > 0 for group in found)
    assert alarms / runs <= above(0.05, runs)


def test_intervals_of_groups_without_rows_hold_at_once():
    """True errors are those of a shift of each group, which forecasts do not know."""
    rng = np.random.default_rng(16)
    statistic = Statistic.of("smooth_calibration_error")
    shifts = np.array([0.0, 0.02, 0.05, 0.1, 0.2, -0.05, -0.1, 0.0])
    misses, runs, size = 0, 400, 500
    for _ in range(runs):
        evidences = {}
        for group, shift in enumerate(shifts):
            p = 0.25 + 0.5 * rng.random(size)
            joint = cal.Joint.from_samples(rng.random(size) < p + shift, p)
            evidences["group", str(group)] = Evidence.of_joint(joint)
        found = judge_groups(evidences, statistic, Settings(draws=199, tolerance=0.02, rng=rng))
        law = {str(group): abs(shift) for group, shift in enumerate(shifts)}
        misses += any(not one.low <= law[one.name] <= one.high for one in found)
    assert misses / runs <= above(0.05, runs)

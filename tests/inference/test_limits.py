"""One-sided limits of the smooth error and of the typical gap."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import Evidence
from calibrant.inference.gap import Ranges
from calibrant.inference.limits import CELLS, LimitLevels, gap_limits, smooth_limits, smooth_upper

LEVELS = LimitLevels.of(0.95)
NODES = np.arange(CELLS + 1) / CELLS


def sample(rows, seed, truth=lambda p: p, low=0.0, high=1.0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(low, high, rows)
    return Evidence.read((rng.random(rows) < truth(p)).astype(int), p)


def best_smooth_test(linear):
    """Values of the best smooth test on the nodes, by a dynamic program that remembers its way."""
    w = np.arange(-CELLS, CELLS + 1) / CELLS
    best, came = np.zeros(w.size), []
    for mean in linear:
        steps = np.stack([np.roll(best, 1), best, np.roll(best, -1)])
        steps[0, 0] = steps[2, -1] = -np.inf
        choice = steps.argmax(axis=0)
        came.append(choice)
        best = steps.max(axis=0) + mean * w
    at, values = int(best.argmax()), []
    for choice in came[::-1]:
        values.append(w[at])
        at += int(choice[at]) - 1
    return np.array(values[::-1])


def climbed(charge, variance, z):
    """A smooth test that no step of linear ascent improves: the largest limit, from below."""
    found = 0.0
    for start in (charge, np.ones(charge.size), -np.ones(charge.size)):
        w = best_smooth_test(start)
        for _ in range(30):
            deviation = np.sqrt(variance @ w**2)
            w = best_smooth_test(charge + z * variance * w / max(deviation, 1e-300))
        found = max(found, charge @ w + z * np.sqrt(variance @ w**2))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_upper_limit_is_the_largest_over_smooth_tests(seed):
    rng = np.random.default_rng(seed)
    rows = 10.0 ** rng.uniform(1, 5)
    variance = rng.dirichlet(np.full(CELLS + 1, 0.3)) / (4 * rows)
    charge = rng.standard_normal(CELLS + 1) * np.sqrt(variance)
    charge += rng.uniform(-0.1, 0.1) * np.sin(rng.uniform(0, 20) * NODES) / CELLS
    bound, least = smooth_upper(charge, variance, 1.645), climbed(charge, variance, 1.645)
    assert least <= bound * (1 + 1e-9)
    assert bound - least <= 0.02 * 1.645 * np.sqrt(variance.sum())


def test_no_smooth_test_exceeds_the_upper_limit():
    rng = np.random.default_rng(3)
    variance = rng.random(CELLS + 1) / 1e5
    charge = rng.standard_normal(CELLS + 1) * 1e-3
    bound = smooth_upper(charge, variance, 2.0)
    for _ in range(300):
        steps = rng.uniform(-1, 1, CELLS + 1) / CELLS
        w = np.clip(rng.uniform(-1, 1) + np.cumsum(steps), -1, 1)
        assert charge @ w + 2 * np.sqrt(variance @ w**2) <= bound + 1e-12


@pytest.mark.parametrize("find", [smooth_limits, gap_limits])
@pytest.mark.parametrize("rows", [30, 400, 6000])
def test_limits_hold_the_value_and_widen_with_confidence(find, rows):
    evidence = sample(rows, rows, lambda p: p**1.3)
    more = (99, np.random.default_rng(0)) if find is smooth_limits else None
    found = []
    for confidence in (0.8, 0.95, 0.99):
        levels = LimitLevels.of(confidence)
        if more is None:
            found.append(gap_limits(evidence, Ranges.of(evidence), levels))
        else:
            found.append(smooth_limits(evidence, levels, 999, np.random.default_rng(0)))
    for one in found:
        assert 0 <= one.low <= one.value <= one.high <= 1
    assert [one.high for one in found] == sorted(one.high for one in found)
    assert [one.low for one in found] == sorted((one.low for one in found), reverse=True)


def test_limits_of_the_same_rows_in_another_order_are_the_same():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    order = rng.permutation(500)
    first, second = (cal.verdict(a, b, rng=0) for a, b in ((y, p), (y[order], p[order])))
    assert (first.interval, first.gap.interval) == (second.interval, second.gap.interval)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    ("truth", "error", "gap"),
    [
        (lambda p: p, 0.0, 0.0),
        (lambda p: p + 0.08 * (1 - p), 0.04, None),
        (lambda p: 0.1 + 0.8 * p, None, None),
    ],
    ids=["right", "too low", "too extreme"],
)
def test_limits_miss_in_few_samples(truth, error, gap, clustered):
    grid = (np.arange(2**14) + 0.5) / 2**14
    error = float(cal.smooth_calibration_error(truth(grid), grid)) if error is None else error
    cells = (truth(grid) - grid).reshape(16, -1).mean(axis=1)
    gap = float(np.sqrt(np.mean(cells**2))) if gap is None else gap
    misses, samples = np.zeros(4), 100
    for seed in range(samples):
        evidence = sample(600, 1000 + seed, truth)
        if clustered:
            rng = np.random.default_rng(1000 + seed)
            p = rng.random(600)
            labels = np.arange(600) // 2
            evidence = Evidence.read((rng.random(600) < truth(p)).astype(int), p, clusters=labels)
        smooth = smooth_limits(evidence, LEVELS, 199, np.random.default_rng(seed))
        typical = gap_limits(evidence, Ranges.of(evidence), LEVELS)
        misses += [
            smooth.low > error + 1e-9,
            smooth.high < error - 1e-9,
            typical.low > gap + 0.003,
            typical.high < gap - 0.003,
        ]
    # 5 % of 100 samples, and what chance adds to that in one of a thousand runs.
    assert misses.max() <= 13


def test_one_cluster_leaves_limits_open():
    rng = np.random.default_rng(0)
    p = rng.random(50)
    with pytest.raises(cal.errors.CalibrantError):
        cal.verdict((rng.random(50) < p).astype(int), p, clusters=np.zeros(50), rng=0)


def test_a_group_with_far_too_many_events_is_found_among_two_hundred():
    rng = np.random.default_rng(4)
    groups, rows = 200, 100
    p = rng.uniform(0.05, 0.15, groups * rows)
    label = np.repeat(np.arange(groups), rows)
    chance = np.where(label == 17, np.minimum(1, 3 * p), p)
    y = (rng.random(p.size) < chance).astype(int)
    names = np.char.add("g", label.astype(str))
    failing = cal.groups.audit_groups(y, p, {"g": names}, draws=199, rng=0).failing
    assert [group.name for group in failing] == ["g17"]


def test_rare_events_are_judged_by_observed_over_expected():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.001, 0.02, 60_000)
    y = (rng.random(p.size) < 1.3 * p).astype(int)
    found = cal.verdict(y, p, rng=0)
    assert found.ratio_tolerance == pytest.approx(0.1, rel=0.35)
    assert found.ratio_state == found.state == "miscalibrated"
    assert "observed over expected" in found.sentence

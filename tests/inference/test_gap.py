"""The typical gap: its definition, no bias, its interval, and what it sees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import calibrant as cal
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import Ranges, gaps_of_each
from calibrant.joint import Rows


def forecasts(n, chance=lambda p: p, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < chance(p)).astype(int), p


def by_hand(y, p, w, cluster, count):
    """Mean squared gap over ranges of equal weight, less the products of a row with itself."""
    order = np.argsort(p)
    y, p, w, cluster = y[order], p[order], w[order] / w.sum(), cluster[order]
    middle = np.cumsum(w) - w / 2
    of_range = np.minimum((middle * count).astype(int), count - 1)
    total = 0.0
    for index in range(count):
        rows = of_range == index
        part = w[rows] * (y[rows] - p[rows])
        names, code = np.unique(cluster[rows], return_inverse=True)
        sums = np.bincount(code, part, names.size)
        several = np.unique(cluster).size
        factor = several / (several - 1) if several < y.size else 1.0
        total += (part.sum() ** 2 - factor * (sums**2).sum()) / w[rows].sum()
    return total


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_the_squared_gap_leaves_out_what_a_row_has_in_common_with_itself(kind):
    y, p = forecasts(300, lambda p: 0.5 + 0.4 * (p - 0.5))
    w = np.exp(np.random.default_rng(1).normal(size=300)) if kind == "weights" else np.ones(300)
    cluster = np.arange(300) % 50 if kind == "clusters" else np.arange(300)
    evidence = Evidence.read(
        y, p, w if kind == "weights" else None, None, cluster if kind == "clusters" else None
    )
    found = Ranges.of(evidence, 5)
    assert found.squared == pytest.approx(by_hand(y, p, w, cluster, 5), rel=1e-9)
    assert found.value == pytest.approx(np.sqrt(max(0, found.squared)))


def test_the_squared_gap_of_a_perfect_forecaster_is_zero_on_average():
    found = [Ranges.of(Evidence.read(*forecasts(200, seed=seed))).squared for seed in range(300)]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(300)


def test_it_sees_slope_and_waves_that_the_smooth_error_hardly_does():
    for chance in (
        lambda p: expit(0.6 * logit(p)),
        lambda p: np.clip(p + 0.2 * np.sin(8 * np.pi * p), 0, 1),
    ):
        y, p = forecasts(20_000, chance)
        gap = cal.typical_gap(y, p, rng=0)
        pieces = np.array_split(np.sort(p), 15)
        truth = np.sqrt(np.mean([np.mean(chance(part) - part) ** 2 for part in pieces]))
        assert gap.low > 0.04
        assert gap.low < truth < gap.high
        assert cal.smooth_calibration_error(y, p) < 0.03


def test_weights_add_no_evidence_and_clusters_take_some_away():
    y, p = forecasts(600)
    plain = cal.typical_gap(y, p, rng=0)
    heavy = cal.typical_gap(y, p, sample_weight=np.full(600, 7.0), rng=0)
    assert (heavy.low, heavy.high) == pytest.approx((plain.low, plain.high), abs=1e-6)
    five = np.repeat(np.arange(600), 5)
    again = cal.typical_gap(np.repeat(y, 5), np.repeat(p, 5), clusters=five, n_bins=15, rng=0)
    known = cal.typical_gap(y, p, n_bins=15, rng=0)
    assert again.high == pytest.approx(known.high, rel=0.25)


@pytest.mark.parametrize("confidence", [0.95, 0.999])
@pytest.mark.parametrize("kind", ["right", "slope", "rare", "clusters"])
def test_gaps_of_groups_are_those_of_draws(kind, confidence):
    rng = np.random.default_rng(3)
    p = rng.random(2000) * (0.04 if kind == "rare" else 1)
    y = rng.random(2000) < (expit(0.6 * logit(p)) if kind == "slope" else p)
    cluster = np.arange(2000) // 20 if kind == "clusters" else None
    drawn = cal.typical_gap(y, p, clusters=cluster, confidence=confidence, draws=40_000, rng=0)
    evidence = Evidence.read(y, p, clusters=cluster)
    ((found, _),) = gaps_of_each([evidence], confidence)
    assert found.value == drawn.value
    # One chi-square for a sum of several is a little too wide far in the tails.
    assert found.low == pytest.approx(drawn.low, rel=0.05)
    assert drawn.high - 0.001 < found.high < 1.05 * drawn.high


def test_the_gap_of_a_group_of_one_cluster_may_be_anything():
    y, p = forecasts(100)
    rows = Rows(p, y.astype(np.uint8), None)
    ((found, _),) = gaps_of_each([Evidence.of_group(rows, np.zeros(100))], 0.95)
    assert (found.low, found.high) == (0, 1)


def test_few_rows_make_few_ranges_and_a_wide_interval():
    y, p = forecasts(30)
    gap = cal.typical_gap(y, p, rng=0)
    assert gap.low == 0.0
    assert gap.high > 0.1
    assert Ranges.of(Evidence.read(y, p)).mass.size == 1
    assert Ranges.of(Evidence.read(*forecasts(1000))).mass.size == 15


@pytest.mark.parametrize("n_bins", [0, 2.5, 2**20 + 1])
def test_impossible_ranges_are_refused(n_bins):
    with pytest.raises(InvalidOptionError):
        cal.typical_gap([0, 1], [0.5, 0.6], n_bins=n_bins)


def test_the_worst_range_is_the_one_with_the_clearest_gap():
    p = np.repeat(np.arange(1, 10) / 10, 200)
    y = np.concatenate([np.arange(200) < 200 * v for v in np.arange(1, 10) / 10]).astype(int)
    y[p == 0.7] = (np.arange(200) < 90).astype(int)
    evidence = Evidence.read(y, p)
    worst = Ranges.of(evidence).worst(evidence)
    assert (worst.low, worst.high) == (0.7, 0.7)
    assert "too high" in worst.sentence


@pytest.mark.parametrize("rows", [1000, 10**6, 2 * 10**15])
def test_rows_that_agree_by_luck_do_not_prove_a_gap_of_nothing(rows):
    """The upper end is never less than what a perfect forecaster's rows leave open."""
    joint = cal.Joint.from_counts([0.3, 0.7], [rows // 2] * 2, [3 * rows // 20, 7 * rows // 20])
    found = cal.typical_gap(joint, rng=0)
    error = np.sqrt(0.3 * 0.7 / rows)
    assert found.low == found.value == 0
    assert error < found.high < 5 * error


def test_ends_are_rounded_outwards():
    """Gaps beyond the steps of the search are not called larger, nor smaller, than they are."""
    joint = cal.Joint.from_counts([0.5], [10**15], [5 * 10**14 + 10**8])
    found = cal.typical_gap(joint, rng=0)
    error = 0.5 / np.sqrt(1e15)
    assert found.low == pytest.approx(1e-7 - 1.96 * error, rel=0.05)
    assert found.high == pytest.approx(1e-7 + 1.96 * error, rel=0.05)
    assert cal.verdict(joint, gap_tolerance=8e-8, rng=0).gap.state == "undecided"


@pytest.mark.parametrize("chance", [5e-324, 1e-320, 1e-300])
def test_forecasts_of_next_to_nothing(chance):
    none, one = (cal.verdict([0] * 99 + [y], [chance] * 100, rng=0) for y in (0, 1))
    assert none.pvalue == 1
    assert one.pvalue == pytest.approx(0.001)
    assert one.gap.worst.outcome == pytest.approx(0.01)


@pytest.mark.parametrize("rows", [42, 200, 300])
@pytest.mark.parametrize("weight", [1 / 3, 1e-12, 0.7])
def test_weights_that_are_equal_change_nothing(rows, weight):
    rng = np.random.default_rng(0)
    p = rng.random(rows)
    y = (rng.random(rows) < p).astype(int)
    for n_bins in (None, 14):
        one = cal.typical_gap(y, p, rng=0, draws=99, n_bins=n_bins)
        same = cal.typical_gap(
            y, p, rng=0, draws=99, n_bins=n_bins, sample_weight=np.full(rows, weight)
        )
        assert [same.value, same.low, same.high] == pytest.approx([one.value, one.low, one.high])

"""ROC curve, its area, and risk by coverage, each from its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from scipy.integrate import quad

import calibrant as cal
from oracles.strategies import rows, universal, weighted_rows

GOLDEN = [1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6]


def area_by_pairs(y, p, w):
    """The share of pairs of an event and another whose order is right; ties count half."""
    pairs = [
        (a * b, 1.0 if u > v else 0.5 if u == v else 0.0)
        for (i, u, a), (j, v, b) in itertools.product(zip(y, p, w, strict=True), repeat=2)
        if i == 1 and j == 0
    ]
    return math.fsum(a * b for a, b in pairs) / math.fsum(a for a, _ in pairs)


@universal
@given(data=weighted_rows(max_size=25))
def test_area_is_the_share_of_pairs_in_order(data):
    y, p, w = data
    if not (w[y == 1].any() and w[y == 0].any()):
        assert cal.auc(y, p, sample_weight=w).reason == "one outcome only"
        with pytest.raises(cal.errors.InferenceRefusedError):
            cal.roc_curve(y, p, sample_weight=w)
        return
    expected = pytest.approx(area_by_pairs(y, p, w), abs=1e-12)
    found = cal.auc(y, p, sample_weight=w)
    assert found.value == expected
    assert cal.roc_curve(y, p, sample_weight=w).auc == expected
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_delong_variance_is_the_published_one():
    """From placements, as in DeLong, DeLong and Clarke-Pearson (1988), without their n - 1."""
    from calibrant.inference.discrimination import _variance
    from calibrant.inference.evidence import Evidence

    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    one, zero = p[y == 1], p[y == 0]
    right = (one[:, None] > zero).astype(float)
    variance = right.mean(1).var() / one.size + right.mean(0).var() / zero.size
    found = cal.auc(y, p)
    spread = math.sqrt(max(variance, _variance(found.value, one.size, zero.size)))
    assert (found.high - found.low) / 2 / 1.959964 == pytest.approx(spread, rel=0.02)
    assert Evidence.read(y, p).cases().weight.sum() == 400


def test_an_interval_of_separated_outcomes_does_not_collapse():
    found = cal.auc([0] * 20 + [1] * 3, np.linspace(0, 1, 23))
    assert found.value == found.high == 1
    assert 0.4 < found.low < 0.9


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(3)
    p = np.repeat(rng.random(40), 10)
    y = np.repeat(rng.random(40) < p[::10], 10)
    plain, clustered = cal.auc(y, p), cal.auc(y, p, clusters=np.repeat(np.arange(40), 10))
    assert clustered.value == plain.value
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)


def test_risk_by_coverage_of_four_answers():
    """Integrals by hand: 1 - 2 (1/2 + log(3/2)/2 - 1/4) and so on."""
    curve = cal.risk_coverage_curve(*GOLDEN)
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert curve.risk == pytest.approx([0, 0, 1 / 3, 1 / 4])
    expected = 0.25 - 0.5 * math.log(1.5) + 0.25 * math.log(4 / 3)
    assert curve.area == pytest.approx(expected, abs=1e-14)
    assert curve.best_area == pytest.approx(0.25 + 0.75 * math.log(0.75))
    assert curve.threshold.tolist() == [0.9, 0.8, 0.7, 0.6]


@universal
@given(data=rows(max_size=30))
def test_area_is_the_mean_risk_over_coverage(data):
    y, p = data
    curve = cal.risk_coverage_curve(y, p)
    knots = np.unique(np.append(0.0, curve.coverage))
    pieces = [quad(lambda c: float(curve([c])[0]), a, b)[0] for a, b in itertools.pairwise(knots)]
    assert curve.area == pytest.approx(math.fsum(pieces), abs=1e-6)
    assert 0 <= curve.excess <= 1
    assert "surest half" in curve.sentence
    best = cal.risk_coverage_curve(y, y.astype(float))
    assert best.area == pytest.approx(best.best_area, abs=1e-12)


@universal
@given(data=weighted_rows(max_size=30))
def test_scale_of_weights_does_not_matter_and_weights_are_repeats(data):
    y, p, w = data
    first = cal.risk_coverage_curve(y, p, sample_weight=w).area
    assert cal.risk_coverage_curve(y, p, sample_weight=7 * w).area == pytest.approx(first)
    again = cal.risk_coverage_curve(np.tile(y, 3), np.tile(p, 3), sample_weight=np.tile(w, 3))
    assert again.area == pytest.approx(first)


def test_risk_of_equal_confidences_is_read_off_between():
    curve = cal.risk_coverage_curve([1, 0, 1, 0], [0.9, 0.9, 0.2, 0.2])
    assert curve([0, 0.25, 0.5, 0.75, 1]) == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.5])
    assert curve.area == pytest.approx(0.5)

"""Intervals of errors that depend on more than biases: the inequalities behind them, and what they
refuse."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.whole_noise import _majorants
from calibrant.measures.smooth import mover_batch

MONOTONE = partial(cal.calibration_decision_loss, pooling="isotonic")


def two_joints(seed, levels=12):
    """Two joint distributions on the same forecasts."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.random(levels))
    rows = rng.integers(20, 200, (2, levels))
    rows[1] += (rows[0].sum() - rows[1].sum()) // levels
    ones = rng.binomial(rows, np.clip(p + rng.normal(0, 0.1, (2, levels)), 0, 1))
    return [cal.Joint.from_counts(p, n, k) for n, k in zip(rows, ones, strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_losses_differ_by_at_most_the_functional_of_the_difference(seed):
    one, other = two_joints(seed)
    cut = np.concatenate([[0.0], (one.prediction[1:] + one.prediction[:-1]) / 2, [1.0]])
    mass = one.mass - other.mass
    ones = one.mass * one.outcome - other.mass * other.outcome
    # Thresholds between cuts: the forecasts themselves, from both sides.
    most = 0.0
    for fine in (cut, np.concatenate([[0.0], one.prediction[:-1] + 1e-12, [1.0]])):
        most = max(most, float(_majorants(fine, mass[np.newaxis], ones[np.newaxis])[0]))
    apart = abs(float(MONOTONE(one)) - float(MONOTONE(other)))
    assert apart <= 1.1 * most


@pytest.mark.parametrize("seed", range(20))
def test_lower_distances_differ_by_at_most_what_noise_moves(seed):
    one, other = two_joints(seed)
    mass = one.mass - other.mass
    residual_mass = one.mass * one.outcome - other.mass * other.outcome - mass * one.prediction
    distance = float(np.abs(np.cumsum(mass)[:-1]) @ np.diff(one.prediction))
    most = float(mover_batch(one, residual_mass[np.newaxis])[0]) + 2 * distance
    bounds = [cal.lower_distance_to_calibration(joint).bounds for joint in (one, other)]
    apart = max(bounds[0][0] - bounds[1][1], bounds[1][0] - bounds[0][1])
    assert apart <= most + 1e-9


def test_majorant_by_its_definition():
    """At each threshold the largest interval sum; then the best mixture of two thresholds."""
    rng = np.random.default_rng(0)
    cut = np.array([0.0, 0.2, 0.45, 0.5, 0.7, 1.0])
    mass, ones = rng.normal(size=(2, 1, 5))
    top = [
        2 * max(abs((ones - t * mass)[0, min(i, j) : max(i, j)].sum()) for j in range(cut.size))
        for i, t in enumerate(cut)
    ]
    known = max(
        top[i] * (cut[j] - 0.5) / (cut[j] - cut[i]) + top[j] * (0.5 - cut[i]) / (cut[j] - cut[i])
        for i in range(cut.size)
        for j in range(cut.size)
        if cut[i] <= 0.5 <= cut[j] and cut[i] < cut[j]
    )
    assert _majorants(cut, mass, ones)[0] == pytest.approx(known)


@pytest.mark.parametrize("order", [1, 2])
def test_expected_and_debiased_binned_errors(order):
    rng = np.random.default_rng(1)
    p = rng.integers(1, 20, 2000) / 20
    y = rng.random(2000) < p**1.5
    expected = partial(cal.exact_calibration_error, order=order)
    binned = partial(cal.binned_calibration_error, order=order, debias=True)
    for measure in (expected, binned):
        found = cal.confidence_interval(y, p, measure=measure, rng=0)
        assert 0 < found.low < found.value < found.high < 0.2
        assert found.value == pytest.approx(float(measure(y, p)))
        heavy = cal.confidence_interval(
            y, p, measure=measure, sample_weight=np.full(2000, 7), rng=0
        )
        assert (heavy.low, heavy.high) == pytest.approx((found.low, found.high), abs=1e-9)
        wide = cal.confidence_interval(y, p, measure=measure, clusters=np.arange(2000) // 50, rng=0)
        assert wide.high > wide.low
    # A fixed truth within both ends, for the order that is asked for.
    truth = np.mean(np.abs((np.arange(1, 20) / 20) ** 1.5 - np.arange(1, 20) / 20) ** order)
    found = cal.confidence_interval(y, p, measure=expected, rng=0)
    assert found.low < truth ** (1 / order) < found.high


def test_what_has_no_such_interval():
    rng = np.random.default_rng(2)
    p = rng.random(300)
    y = rng.random(300) < p
    refused = cal.errors.InferenceRefusedError
    with pytest.raises(refused, match="forecasts that repeat, got 100% of the weight"):
        cal.confidence_interval(y, p, measure="exact_calibration_error")
    with pytest.raises(refused, match="no valid confidence interval"):
        cal.confidence_interval(y, p, measure="calibration_decision_loss")
    with pytest.raises(refused, match="no valid confidence interval"):
        cal.confidence_interval(
            y, p, measure=partial(cal.binned_calibration_error, debias=True, strategy="quantile")
        )
    loss = cal.confidence_interval(y, p, measure=MONOTONE, clusters=np.arange(300) // 30, rng=0)
    assert "only 10 clusters" in loss.cautions[0]
    assert loss.low == 0
    assert loss.value < loss.high

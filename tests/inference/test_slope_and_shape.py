"""What the default test sees beside the smooth error, against slow definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

import calibrant as cal
from calibrant.inference.slope_and_shape import shape_gains, slope_scores, squared_shape_gains
from calibrant.inference.statistic import residual_mass_of
from calibrant.joint import Joint


def sample(n=60, *, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2).clip(0.02, 0.98)
    y = (rng.random(n) < p).astype(float)
    w = rng.integers(1, 5, n).astype(float) if weighted else np.ones(n)
    return y, p, w


def rows_of(joint):
    return residual_mass_of(joint)[np.newaxis, :]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_statistic_is_raos(weighted):
    """U' V^-1 U with the derivatives of the likelihood of expit(a + b logit p), row by row."""
    y, p, w = sample(weighted=weighted)
    design = np.stack([np.ones_like(p), logit(p)])
    score = design @ (w * (y - p))
    spread = (design * w**2 * p * (1 - p)) @ design.T
    expected = score @ np.linalg.solve(spread, score)
    joint = Joint.from_samples(y, p, sample_weight=w)
    assert slope_scores(joint, rows_of(joint)) == pytest.approx([expected], rel=1e-9)


def test_one_forecast_has_an_intercept_only():
    joint = Joint.from_counts([0.3], [100], [40])
    assert slope_scores(joint, rows_of(joint)) == pytest.approx([10**2 / (100 * 0.21)])


def test_certain_forecasts_have_no_slope():
    joint = Joint.from_counts([0.0, 1.0], [10, 10], [0, 10])
    assert slope_scores(joint, rows_of(joint)) == pytest.approx([0.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_shape_is_the_likelihood_that_the_best_monotone_map_gains(weighted):
    """A general optimiser over increasing calibrators finds the same gain."""
    y, p, w = sample(25, weighted=weighted, seed=3)
    joint = Joint.from_samples(y, p, sample_weight=w)

    def loss(steps):
        q = np.clip(np.cumsum(steps), 1e-9, 1 - 1e-9)
        ones, zeros = joint.mass * joint.outcome, joint.mass * (1 - joint.outcome)
        return -float(ones @ np.log(q) + zeros @ np.log1p(-q))

    start = np.diff(joint.prediction, prepend=0.0)
    limits = [(0.0, 1.0)] * len(joint)
    best = min(
        minimize(loss, start, bounds=limits, method=method, options={"maxiter": 3000}).fun
        for method in ("L-BFGS-B", "SLSQP")
    )
    own = loss(start)
    (found,) = shape_gains(joint, rows_of(joint))
    assert found == pytest.approx(own - best, abs=2e-4)
    assert found >= own - best - 1e-9


def test_the_shape_of_clusters_is_the_brier_score_that_the_best_monotone_map_gains():
    y, p, w = sample(40, weighted=True, seed=4)
    joint = Joint.from_samples(y, p, sample_weight=w)
    best = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    gain = np.average((y - p) ** 2 - (y - best) ** 2, weights=w)
    assert squared_shape_gains(joint, rows_of(joint)) == pytest.approx([gain])
    test = cal.calibration_test(y, p, sample_weight=w, clusters=np.arange(40) // 4, draws=19, rng=0)
    assert test.parts[2].statistic == pytest.approx(gain)


def test_a_certain_forecast_that_failed_is_infinitely_wrong():
    joint = Joint.from_counts([0.0, 0.5], [10, 10], [1, 5])
    assert shape_gains(joint, rows_of(joint)) == [np.inf]
    kept = Joint.from_counts([0.0, 0.5], [10, 10], [0, 5])
    assert np.isfinite(shape_gains(kept, rows_of(kept))).all()


def test_a_monotone_sample_without_error_gains_nothing():
    joint = Joint.from_counts([0.2, 0.6], [10, 10], [2, 6])
    assert shape_gains(joint, rows_of(joint)) == pytest.approx([0.0], abs=1e-15)


def test_a_slope_is_seen_by_the_slope_and_a_wave_by_the_shape():
    p = (np.arange(1, 100) / 100).round(2)
    wave = np.clip(p + 0.2 * np.sin(6 * np.pi * p), 0, 1)
    steep = expit(0.6 * logit(p))
    n = np.full(p.size, 1000.0)
    found = {}
    for name, chance in (("wave", wave), ("steep", steep)):
        joint = Joint.from_counts(p, n, np.rint(n * chance))
        found[name] = slope_scores(joint, rows_of(joint))[0], shape_gains(joint, rows_of(joint))[0]
    assert found["steep"][0] > found["wave"][0]
    assert found["wave"][1] > found["steep"][1]

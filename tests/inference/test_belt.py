"""The calibration belt against its definition: a slow constrained search, and drawn null values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

import calibrant as cal
from calibrant.inference.polynomial_fit import _exceeding, _gain_needed, _quantile


@pytest.mark.parametrize("chosen", [0, 1, 2, 3])
@pytest.mark.parametrize("freedom", [1, 2])
def test_distribution_given_the_degree(chosen, freedom):
    """Chi-squared numbers, those of chosen degrees known to exceed what was needed."""
    rng = np.random.default_rng(chosen)
    drawn = rng.chisquare(freedom, 200_000)
    for _ in range(chosen):
        drawn += chi2.isf(0.05 * rng.random(drawn.size), 1)
    for value in np.quantile(drawn, [0.1, 0.5, 0.95, 0.999]):
        exceeding = float(_exceeding(np.array([value]), chosen, freedom)[0])
        share = float(np.mean(drawn > value))
        assert exceeding == pytest.approx(share, abs=5 * np.sqrt(share / drawn.size))
    assert _exceeding(np.array([chosen * _gain_needed()]), chosen, freedom)[0] == pytest.approx(1)
    at = _quantile(chosen, freedom, 0.8)
    assert _exceeding(np.array([at]), chosen, freedom)[0] == pytest.approx(0.2, abs=1e-9)


def rows(seed, size=400):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.5, 2, size).clip(0.01, 0.99)
    wave = 0.6 * np.sin(3 * logit(p)) if seed % 2 else 0.3
    return rng.random(size) < expit(logit(p) + wave), p


def searched(y, p, belt, at, sign):
    """The farthest value at a point of polynomials whose likelihood is within the reach."""
    odds, powers = logit(p), np.arange(belt.degree + 1)
    design, target = odds[:, None] ** powers, logit(at) ** powers

    def loss(beta):
        score = design @ beta
        return float(np.sum(np.logaddexp(0, score) - y * score))

    def slope(beta):
        return design.T @ (expit(design @ beta) - y)

    best = minimize(loss, np.eye(belt.degree + 1)[1], jac=slope, method="BFGS", tol=1e-12)
    allowed_fall = _quantile(belt.degree - 1, 2, belt.confidence)
    within = {
        "type": "ineq",
        "fun": lambda beta: best.fun + allowed_fall / 2 - loss(beta),
        "jac": lambda beta: -slope(beta),
    }
    found = minimize(
        lambda beta: -sign * (target @ beta),
        best.x,
        jac=lambda beta: -sign * target,
        constraints=[within],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return expit(target @ found.x)


@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_a_search(seed):
    y, p = rows(seed)
    belt = cal.calibration_belt(y, p, confidence=0.9, points=30)
    for index in (0, 7, 15, 29):
        at = belt.prediction[index]
        assert belt.low[index] == pytest.approx(searched(y, p, belt, at, -1), abs=2e-5)
        assert belt.high[index] == pytest.approx(searched(y, p, belt, at, 1), abs=2e-5)


@pytest.mark.parametrize("seed", range(12))
def test_belt_and_test_agree(seed):
    """The belt holds the diagonal somewhere outside only if the test rejects at its level."""
    y, p = rows(seed, 200)
    belt = cal.calibration_belt(y, p, confidence=0.9)
    off = belt.too_high + belt.too_low
    assert not off or belt.pvalue < 0.1
    wider = cal.calibration_belt(y, p, confidence=0.99)
    assert (wider.low <= belt.low + 1e-9).all()
    assert (wider.high >= belt.high - 1e-9).all()


def test_belt_of_many_rows_and_of_a_joint():
    rng = np.random.default_rng(0)
    p = rng.random(60_000)
    y = rng.random(60_000) < expit(0.7 * logit(p))
    belt = cal.calibration_belt(y, p, points=20)
    assert belt.pvalue < 1e-9
    assert belt.too_low[0][0] == pytest.approx(p.min())
    assert belt.too_high[-1][1] == pytest.approx(p.max())
    again = cal.calibration_belt(cal.Joint.from_samples(y, p), points=20)
    assert again.statistic == pytest.approx(belt.statistic, rel=1e-12)
    assert "too low for forecasts" in str(belt)
    assert cal.classical_numbers(y, p, draws=19).giviti.pvalue == belt.pvalue


def test_what_has_no_belt():
    y, p = rows(0, 60)
    refused = cal.errors.InferenceRefusedError
    with pytest.raises(refused, match="log-odds, got 1 of exactly 0 or 1"):
        cal.calibration_belt(y, np.append(p[1:], 1.0))
    with pytest.raises(refused, match="at least 10 of either outcome, got 9"):
        cal.calibration_belt(np.arange(60) < 9, p)
    with pytest.raises(refused, match="overlap"):
        cal.calibration_belt(p > 0.4, p)
    with pytest.raises(refused, match="different forecasts"):
        cal.calibration_belt(y, np.full(60, 0.3))
    with pytest.raises(refused, match="weigh the same"):
        cal.calibration_belt(cal.Joint.from_samples(y, p, sample_weight=np.arange(1, 61)))
    assert cal.calibration_belt(y, np.where(p < 0.4, 0.2, 0.6)).degree == 1
    assert "10 of either" in cal.classical_numbers(np.arange(60) < 9, p, draws=19).giviti.reason

"""The logistic fit of two outcomes: where it ends nothing pulls, and bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from calibrant._base.arrays import BLOCK
from calibrant.errors import ConvergenceError
from calibrant.joint import Joint
from calibrant.regression import binary, binary as newton, curves, fit_logistic, log_odds

FREE = (np.full(2, -np.inf), np.full(2, np.inf))


def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    return x, np.full(500, 1 / 500), (rng.random(500) < expit(0.3 - 1.2 * x)) / 500


def test_at_the_end_of_a_fit_no_coefficient_is_pulled():
    x, weight, ones = sample()
    at = fit_logistic(weight, ones, [None, x], FREE, np.zeros(2))
    excess = weight * expit(at[0] + at[1] * x) - ones
    assert [excess.sum(), x @ excess] == pytest.approx([0, 0], abs=1e-12)
    assert at == pytest.approx([0.3, -1.2], abs=0.4)


def test_a_coefficient_stays_at_the_bound_that_it_presses_against():
    x, weight, ones = sample()
    bounds = (np.array([-np.inf, -0.5]), np.array([np.inf, np.inf]))
    at = fit_logistic(weight, ones, [None, x], bounds, np.zeros(2))
    assert at[1] == -0.5
    assert (weight * expit(at[0] - 0.5 * x) - ones).sum() == pytest.approx(0, abs=1e-12)


def test_a_given_part_counts_as_its_coefficient_one():
    x, weight, ones = sample()
    free = (np.full(1, -np.inf), np.full(1, np.inf))
    (alone,) = fit_logistic(weight, ones, [None], free, np.zeros(1), offset=-1.2 * x)
    assert (weight * expit(alone - 1.2 * x) - ones).sum() == pytest.approx(0, abs=1e-12)


def test_a_fit_that_does_not_end_says_so(monkeypatch):
    x, weight, ones = sample()
    monkeypatch.setattr(newton, "MOST_STEPS", 1)
    with pytest.raises(ConvergenceError, match="a logistic regression must converge"):
        fit_logistic(weight, ones, [None, x], FREE, np.zeros(2))


def mean_loss(weight, ones, terms, at):
    score = at @ terms
    return float((weight * np.logaddexp(0, score) - ones * score).sum())


def test_no_other_coefficients_within_bounds_are_better_however_unlike_the_weights():
    """Certain forecasts, weights from 1 to 10^9, terms that are nearly alike: L-BFGS-B agrees."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        rows, slopes = rng.integers(2, 12), rng.integers(1, 3)
        certain = rng.choice([-36.7, -20.0, 0.0, 36.7], rows)
        x = np.where(rng.random(rows) < 0.3, certain, 2 * rng.normal(size=rows))
        weight = 10.0 ** rng.choice([-3, 0, 0, 0, 3, 6], rows)
        weight /= weight.sum()
        ones = weight * rng.choice([1e-6, 0.01, 0.5, 1 - 1e-6], rows)
        parts = [x] if slopes == 1 else [np.minimum(x, 0), np.maximum(x, 0)]
        terms = np.array([np.ones(rows), *parts])
        low, high = np.append(-np.inf, np.zeros(slopes)), np.append(np.inf, np.full(slopes, 100.0))
        start = np.append(0.0, np.ones(slopes))
        found = fit_logistic(weight, ones, [None, *parts], (low, high), start)
        assert ((found >= low) & (found <= high)).all()
        best = min(
            minimize(
                lambda at: mean_loss(weight, ones, terms, at),  # noqa: B023
                begin,
                jac=lambda at: terms @ (weight * expit(at @ terms) - ones),  # noqa: B023
                bounds=list(zip(low, high, strict=True)),
                method="L-BFGS-B",
                options={"ftol": 1e-16, "gtol": 1e-12},
            ).fun
            for begin in (start, found)
        )
        assert mean_loss(weight, ones, terms, found) <= best + 1e-11


MODELS = {
    "line": binary.Model(("one", "log_odds"), (0.0, 1.0), (-np.inf,) * 2, (np.inf,) * 2),
    "shift": binary.Model(("one",), (0.0,), (-np.inf,), (np.inf,), "log_odds"),
    "beta": binary.Model(
        ("one", "log_low", "log_high"), (0.0, 1.0, 1.0), (-np.inf, 0.0, 0.0), (np.inf,) * 3
    ),
}


@pytest.mark.parametrize("smoothing", [(0.0, 1.0), (0.01, 0.98)])
@pytest.mark.parametrize("name", MODELS)
def test_many_levels_are_fitted_in_blocks_as_if_they_were_one(name, smoothing):
    rng = np.random.default_rng(1)
    p = rng.random(3 * BLOCK + 7)
    weight = rng.lognormal(0, 1, p.size)
    joint = Joint.from_samples(rng.random(p.size) < p**1.3, p, sample_weight=weight)
    model = MODELS[name]
    share = joint.weight / joint.total
    ones = smoothing[1] * joint.positives + smoothing[0] * (joint.weight - joint.positives)
    terms, offset = model.of(joint.prediction)
    bounds = np.array(model.low), np.array(model.high)
    whole = fit_logistic(share, ones / joint.total, terms, bounds, np.array(model.start), offset)
    assert binary.solve(joint, model, smoothing) == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_a_curve_of_many_levels_is_the_same_in_blocks(penalty):
    rng = np.random.default_rng(2)
    p = rng.random(2 * BLOCK + 5)
    joint = Joint.from_samples(rng.random(p.size) < p**1.3, p)
    knot = curves.knots_of(joint, 5)
    problem = curves._CurveProblem.of(joint, (0.0, 1.0))
    assert problem.score.size < len(joint)
    start = problem.solved(knot, np.append(knot[0], np.ones(5)), penalty)
    found = problem.refined(knot, start, penalty)
    terms = curves.terms_of(log_odds(joint.prediction), knot)
    score = found @ terms
    excess = joint.weight / joint.total * (expit(score) - joint.outcome)
    pull = penalty * curves.roughness(knot) @ found
    assert terms @ excess + pull == pytest.approx(np.zeros(6), abs=1e-9)
    assert problem.weight.sum() == pytest.approx(1)
    assert problem.ones.sum() == pytest.approx(joint.base_rate)


@given(st.lists(st.floats(-800, 800), min_size=1, max_size=20))
def test_log_losses_and_chances_are_those_of_the_definition(scores):
    score = np.array(scores)
    assert binary.softplus(score) == pytest.approx(np.logaddexp(0, score), rel=1e-14, abs=0)
    assert binary.chance_of(score) == pytest.approx(expit(score), rel=1e-13, abs=1e-300)


def test_log_odds_of_many_predictions_are_those_of_each():
    p = np.append(np.random.default_rng(3).random(BLOCK + 3), [0.0, 1.0])
    assert np.array_equal(log_odds(p)[BLOCK - 3 :], log_odds(p[BLOCK - 3 :]))

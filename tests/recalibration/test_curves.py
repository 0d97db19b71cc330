"""Quadratic, smoothing spline and centred isotonic regression, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit

import calibrant as cal
from calibrant.recalibration import (
    CenteredIsotonicCalibration,
    PlattScaling,
    QuadraticCalibration,
    SplineCalibration,
    load,
)
from calibrant.regression.curves import PENALTIES, knots_of, roughness, terms_of

FAULTS = {
    "bent": lambda z: 0.3 + 0.8 * z + 0.15 * z**2,
    "flat then steep": lambda z: np.where(z < 0, 0.1 * z, 2 * z) - 0.5,
    "turned": lambda z: -0.6 * z,
    "waves": lambda z: z + np.sin(2 * z),
}


def sample(fault, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n).round(3).clip(0.001, 0.999)
    y = (rng.random(n) < expit(FAULTS[fault](logit(p)))).astype(int)
    return p, y, rng.integers(1, 4, n).astype(float)


def mean_loss(y, w, score):
    return np.average(np.logaddexp(0, score) - y * score, weights=w)


def slope_between(knot, slope):
    return lambda z: np.interp(z, knot, slope)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_quadratic_has_the_least_log_loss(fault):
    """Quadratic between the outer one per cent, straight beyond, both end slopes in [0, 100]."""
    p, y, w = sample(fault)
    z = logit(p)
    order = np.argsort(z)
    reached = np.cumsum(w[order]) / w.sum()
    low, high = (z[order][np.searchsorted(reached, share)] for share in (0.01, 0.99))

    def score(beta):
        inside = np.clip(z, low, high)
        bend = (beta[2] - beta[1]) / (high - low) / 2
        middle = beta[0] + beta[1] * (inside - low) + bend * (inside - low) ** 2
        return middle + beta[1] * np.minimum(z - low, 0) + beta[2] * np.maximum(z - high, 0)

    def loss(beta):
        return mean_loss(y, w, score(beta))

    bounds = [(None, None), (0, 100), (0, 100)]
    best = minimize(loss, [low, 1, 1], bounds=bounds, method="L-BFGS-B", tol=1e-14)
    fitted = QuadraticCalibration().fit(p, y, w)
    np.testing.assert_allclose(fitted.transform(p), expit(score(best.x)), atol=2e-4)
    assert mean_loss(y, w, logit(fitted.transform(p))) <= best.fun + 1e-10


def test_terms_are_integrals_of_hats():
    knot, at = np.array([-2.0, -0.5, 1.5, 2.0]), np.array([-5.0, -2, -1.3, 0.2, 1.7, 2, 9])
    terms = terms_of(at, knot)
    assert (terms[0] == 1).all()
    for i in range(4):
        expected = [quad(slope_between(knot, np.eye(4)[i]), -2, z, limit=200)[0] for z in at]
        np.testing.assert_allclose(terms[i + 1], expected, atol=1e-6)


def test_the_penalty_is_the_squared_second_derivative():
    knot = np.array([-2.0, -0.5, 1.5, 2.0])
    slope = np.array([0.3, 1.2, 0.1, 0.4])
    bends = np.diff(slope) / np.diff(knot)
    # With u = (z + 2) / 4: d2f/du2 = 16 d2f/dz2 and du = dz / 4.
    expected = 64 * float(bends**2 @ np.diff(knot))
    coefficients = np.append(7.0, slope)
    assert coefficients @ roughness(knot) @ coefficients / 2 == pytest.approx(expected)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_spline_solves_its_penalised_problem_and_takes_the_least_aic(fault):
    p, y, w = sample(fault, n=1500)
    fitted = SplineCalibration().fit(p, y, w)
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    knot = knots_of(joint, 8)
    design = terms_of(logit(p), knot).T
    found = {}
    for penalty in PENALTIES:
        pull = penalty * roughness(knot)

        def loss(beta, pull=pull):
            return mean_loss(y, w, design @ beta) + beta @ pull @ beta / 2

        def gradient(beta, pull=pull):
            return (
                np.average((expit(design @ beta) - y)[:, None] * design, axis=0, weights=w)
                + pull @ beta
            )

        bounds = [(None, None), *[(0, 100)] * 8]
        best = minimize(
            loss, [knot[0], *np.ones(8)], jac=gradient, bounds=bounds, method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        chance = expit(design @ best.x)
        spread = w / w.sum() * chance * (1 - chance)
        free = np.append(True, best.x[1:] > 1e-7)
        some = design[:, free]
        bends = some.T @ (some * spread[:, None])
        freedom = np.trace(np.linalg.pinv(bends + pull[np.ix_(free, free)]) @ bends)
        aic = 2 * w.sum() * mean_loss(y, w, design @ best.x) + 2 * freedom
        aic += 2 * freedom * (freedom + 1) / (w.sum() - freedom - 1)
        found[penalty] = (aic, freedom, chance)
    aic, freedom, chance = found[fitted.penalty_]
    assert aic <= min(values[0] for values in found.values()) + 0.05
    assert fitted.freedom_ == pytest.approx(freedom, abs=0.05)
    np.testing.assert_allclose(fitted.transform(p), chance, atol=2e-3)


def test_with_few_rows_the_spline_is_nearly_a_line():
    rng = np.random.default_rng(1)
    freedom, off = [], []
    for _ in range(20):
        p = rng.random(60)
        y = rng.random(60) < p
        fitted = SplineCalibration().fit(p, y)
        freedom.append(fitted.freedom_)
        off.append(np.abs(fitted.transform(p) - PlattScaling("none").fit(p, y).transform(p)).mean())
    assert np.median(freedom) < 2.6
    assert np.median(off) < 0.02


def test_many_levels_start_in_cells_and_end_exact():
    rng = np.random.default_rng(2)
    p = rng.random(20000) * 0.02
    y = rng.random(20000) < p * 1.5
    for kind in (QuadraticCalibration, SplineCalibration):
        fitted = kind().fit(p, y)
        assert np.mean(fitted.transform(p) - y) == pytest.approx(0, abs=1e-9)
    exact = np.abs(SplineCalibration().fit(p, y).transform(p) - 1.5 * p)
    assert exact.mean() < 0.0015


def test_the_quadratic_finds_a_quadratic():
    rng = np.random.default_rng(4)
    z = rng.normal(0, 2, 60000)
    truth = expit(0.3 + 0.9 * z + 0.06 * z**2)
    off = np.abs(
        QuadraticCalibration().fit(expit(z), rng.random(z.size) < truth).transform(expit(z)) - truth
    )
    assert off[np.abs(z) < 4].max() < 0.02


def test_centred_isotonic_is_lines_between_the_centres_of_pools():
    rng = np.random.default_rng(3)
    p = rng.random(300).round(2)
    y = (rng.random(300) < p).astype(float)
    w = rng.integers(1, 4, 300).astype(float)
    level, index = np.unique(p, return_inverse=True)
    weight = np.bincount(index, w)
    found = isotonic_regression(np.bincount(index, w * y) / weight, weights=weight)
    block = np.cumsum(np.append(0, np.diff(found.x) > 1e-12))
    centre = np.bincount(block, weight * level) / np.bincount(block, weight)
    height = np.bincount(block, weight * found.x) / np.bincount(block, weight)
    fitted = CenteredIsotonicCalibration(allow_certain=True).fit(p, y, w)
    at = np.linspace(0, 1, 501)
    np.testing.assert_allclose(fitted.transform(at), np.interp(at, centre, height), atol=1e-12)
    inside = fitted.transform(np.linspace(centre[0], centre[-1], 200))
    assert (np.diff(inside) > 0).all()


def test_published_example_of_centred_isotonic_regression():
    """One violating pair becomes its weighted centre: doses 1, 2, 3 with 1/4, 3/4 and 1/2."""
    p = np.repeat([0.1, 0.2, 0.3], 4)
    y = [1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0]
    fitted = CenteredIsotonicCalibration().fit(p, y)
    assert fitted.transform([0.1, 0.25, 0.3]) == pytest.approx([0.25, 0.625, 0.625])
    assert fitted.transform([0.175]) == pytest.approx([0.4375])


@pytest.mark.parametrize("kind", [QuadraticCalibration, SplineCalibration])
def test_odd_predictions(kind):
    """Next to 0 and 1, an ulp apart, and mostly equal."""
    sets = [
        ([0.0, 1.0, 0.0, 1.0, 0.5], [0, 1, 1, 0, 1]),
        ([0.3, np.nextafter(0.3, 1), 0.3, 0.3], [0, 1, 1, 0]),
        ([0.5] * 500 + [0.1, 0.9, 0.9], [0, 1] * 250 + [1, 0, 1]),
        ([1e-300, 1e-12, 1 - 2**-53, 0.2], [0, 1, 1, 0]),
    ]
    for p, y in sets:
        fitted = kind().fit(p, y)
        values = fitted.transform(np.linspace(0, 1, 101))
        assert ((values > 0) & (values < 1)).all()
        assert (np.diff(values) >= -1e-15).all()
        again = load(fitted.to_json())
        np.testing.assert_array_equal(again.transform(p), fitted.transform(p))


def test_a_broken_curve_is_refused():
    stored = QuadraticCalibration().fit([0.2, 0.5, 0.8, 0.8], [0, 1, 1, 0]).to_dict()
    for broken in (
        {"log_odds": [1.0, 0.0]},
        {"slope": [-1.0, 1.0]},
        {"slope": [1.0]},
        {"log_odds": []},
    ):
        with pytest.raises(cal.errors.InvalidStateError):
            load(stored | {"form": stored["form"] | broken})
    with pytest.raises(cal.errors.InvalidOptionError, match="knots"):
        SplineCalibration(knots=2).fit([0.2, 0.5, 0.8], [0, 1, 0])


def test_a_spline_of_forecasts_that_are_all_next_to_zero_is_a_shift():
    values = (
        SplineCalibration().fit([0.0, 1e-300, 1e-17, 0.0], [0, 1, 0, 0]).transform([0.0, 1e-17])
    )
    assert values == pytest.approx([0.25, 0.25], abs=0.02)


@pytest.mark.parametrize("kind", [QuadraticCalibration, SplineCalibration])
def test_a_fit_ends_though_a_certain_forecast_must_move_very_far(kind):
    """The optimum has the slope 0 above, and moves the log-odds of 0 by more than 1500."""
    fitted = kind().fit([0.2, 0.6, 0.0, 0.65], [0, 1, 0, 0])
    values = fitted.transform([0.0, 0.2, 0.6, 0.65])
    assert (np.diff(values) >= 0).all()
    assert values[2:] == pytest.approx([0.5, 0.5], abs=0.2)

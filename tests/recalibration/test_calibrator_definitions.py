"""Calibrators against their definitions, and against scikit-learn, betacal and venn-abers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit

import calibrant as cal
from calibrant.recalibration import (
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    PlattScaling,
    PriorCorrection,
    TemperatureScaling,
    VennAbers,
)
from oracles.strategies import rows, universal


def sample(n=3000, seed=0, bend=0.6):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.5, 2, n)
    y = rng.random(n) < expit(-0.4 + bend * logit(p))
    return p, y.astype(int), rng.integers(1, 4, n).astype(float)


def log_loss(y, w, chance):
    return float(np.sum(w * -np.log(np.where(y == 1, chance, 1 - chance))))


DESIGNS = {
    "prior": (PriorCorrection(), lambda z, p: (z, [np.ones_like(z)]), [None]),
    "temperature": (TemperatureScaling(), lambda z, p: (0 * z, [z]), [0.01]),
    "platt": (PlattScaling("none"), lambda z, p: (0 * z, [np.ones_like(z), z]), [None, None]),
    "beta": (
        BetaCalibration(),
        lambda z, p: (0 * z, [np.ones_like(z), np.log(p), -np.log(1 - p)]),
        [None, 0, 0],
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("bend", [0.6, 1.7, -0.3])
def test_fits_have_the_least_log_loss(name, bend):
    """A general minimiser from scipy finds no better coefficients within the same bounds."""
    p, y, w = sample(bend=bend)
    fitted, design, lowest = DESIGNS[name]
    offset, columns = design(logit(p), p)

    def loss(beta):
        return log_loss(
            y, w, expit(offset + sum(b * c for b, c in zip(beta, columns, strict=True)))
        )

    bounds = [(low, None) for low in lowest]
    best = min(
        (minimize(loss, start, bounds=bounds, method="L-BFGS-B", tol=1e-14) for start in
         (np.full(len(columns), 0.5), np.ones(len(columns)))),
        key=lambda found: found.fun,
    )  # fmt: skip
    ours = log_loss(y, w, fitted.fit(p, y, w).transform(p))
    assert ours <= best.fun + 1e-9 * abs(best.fun)
    assert ours == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("name", DESIGNS)
def test_fits_on_many_levels_start_coarse_and_end_exact(name):
    p, y, w = sample(n=20000)
    fitted, design, _ = DESIGNS[name]
    offset, columns = design(logit(p), p)
    chance = fitted.fit(p, y, w).transform(p)
    for column in columns:
        assert np.average((chance - y) * column, weights=w) == pytest.approx(0, abs=1e-10)
    assert offset.shape == p.shape


def test_platt_agrees_with_scikit_learn_on_log_odds():
    from sklearn.calibration import _SigmoidCalibration

    p, y, w = sample()
    ours = PlattScaling().fit(p, y, w)
    w = w / w.mean()
    theirs = _SigmoidCalibration().fit(logit(p), y, w)
    assert ours.transform(p) == pytest.approx(theirs.predict(logit(p)), abs=1e-4)
    assert (ours.slope_, ours.intercept_) == pytest.approx((-theirs.a_, -theirs.b_), abs=1e-3)
    ones = w[y == 1].sum()
    assert ours.one_ == pytest.approx((ones + 1) / (ones + 2))
    assert ours.zero_ == pytest.approx(1 / (w[y == 0].sum() + 2))


def test_beta_agrees_with_betacal():
    """betacal ignores no weights but regularises ever so little and stops early: 1e-3."""
    from betacal import BetaCalibration as PeerBeta

    p, y, _ = sample()
    theirs = PeerBeta(parameters="abm").fit(p.reshape(-1, 1), y)
    at = np.linspace(0.01, 0.99, 99)
    assert BetaCalibration().fit(p, y).transform(at) == pytest.approx(theirs.predict(at), abs=1e-3)


def test_isotonic_agrees_with_scikit_learn():
    from sklearn.isotonic import IsotonicRegression

    p, y, w = sample()
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y, w)
    at = np.concatenate([[0, 1], np.linspace(0, 1, 999), p])
    ours = IsotonicCalibration(allow_certain=True).fit(p, y, w).transform(at)
    assert ours == pytest.approx(theirs.predict(at), abs=1e-12)


def test_venn_abers_agrees_with_the_package():
    from venn_abers import VennAbers as Package

    p, y, _ = sample(n=400)
    at = np.concatenate([p[:50], np.linspace(0.02, 0.98, 77)])
    package = Package()
    package.fit(np.column_stack([1 - p, p]), y)
    chance, ends = package.predict_proba(np.column_stack([1 - at, at]))
    ours = VennAbers().fit(p, y)
    low, high = ours.interval(at)
    assert low == pytest.approx(ends[:, 0], abs=1e-12)
    assert high == pytest.approx(ends[:, 1], abs=1e-12)
    assert ours.transform(at) == pytest.approx(chance[:, 1], abs=1e-12)


@universal
@given(data=rows(max_size=25))
def test_venn_abers_is_two_regressions_with_one_more_row(data):
    y, p = data
    p = np.where(p < 1e-290, 0.0, p)  # databases know no smaller numbers, so calibrators do not
    fitted = VennAbers().fit(p, y)
    at = np.unique(np.concatenate([p, [0.0, 0.33, 1.0], (p + 0.05) % 1]))
    low, high = fitted.interval(at)
    for outcome, found in ((0, low), (1, high)):
        expected = [value_with_one_more(y, p, x, outcome) for x in at]
        assert found == pytest.approx(expected, abs=1e-12)
    assert (low <= high + 1e-15).all()
    assert fitted.transform(at) == pytest.approx(high / (1 - low + high), abs=1e-12)


def value_with_one_more(y, p, x, outcome):
    level, index = np.unique(np.append(p, x), return_inverse=True)
    weight = np.bincount(index)
    mean = np.bincount(index, np.append(y, outcome)) / weight
    return isotonic_regression(mean, weights=weight).x[np.searchsorted(level, x)]


def test_histograms_predict_the_mean_outcome_of_their_bins():
    p, y, w = sample(n=500)
    for fitted, edges in (
        (HistogramBinning("uniform", 10), np.arange(10) / 10),
        (
            HistogramBinning("interval"),
            cal.interval_calibration_error(
                cal.Joint.from_samples(y, p, sample_weight=w).of_mean_weight_one()
            ).witness.start,
        ),
    ):
        values = fitted.fit(p, y, w).transform(p)
        index = np.searchsorted(edges, p, side="right") - 1
        mean = np.bincount(index, w * y)[index] / np.bincount(index, w)[index]
        inside = (mean > 0) & (mean < 1)
        assert values[inside] == pytest.approx(mean[inside])
    quarters = HistogramBinning(n_bins=4).fit(p, y)
    values = quarters.transform(np.sort(p))
    assert [len(set(part)) for part in np.split(values, 4)] == [1] * 4


def test_smooth_adds_the_bias_around_a_prediction():
    rng = np.random.default_rng(5)
    p = rng.random(4000)
    y = rng.random(4000) < np.clip(p + 0.1 * np.sin(6 * p), 0, 1)
    fitted = KernelCalibration(bandwidth=0.05).fit(p, y)
    for x in (0.0, 0.31, 0.5, 0.98):
        images = np.concatenate([p, -p, 2 - p])
        near = np.exp(-0.5 * ((images - x) / 0.05) ** 2)
        expected = x + np.average(np.tile(y - p, 3), weights=near)
        assert float(fitted.transform([x])[0]) == pytest.approx(expected, abs=2e-3)


def test_a_prior_shift_undoes_the_sampling_of_zeros():
    rng = np.random.default_rng(6)
    chance = rng.beta(1, 8, 200_000)
    y = rng.random(chance.size) < chance
    kept = y | (rng.random(chance.size) < 0.2)
    inflated = chance / (chance + (1 - chance) * 0.2)  # what a model of the kept rows predicts
    known = PriorCorrection(sampling_rate=0.2).fit(inflated[kept], y[kept])
    assert known.transform(inflated) == pytest.approx(chance)
    rate = float(y.mean())
    aimed = PriorCorrection(base_rate=rate).fit(inflated[kept], y[kept])
    assert aimed.odds_ratio_ == pytest.approx(0.2, rel=0.02)
    learned = PriorCorrection().fit(inflated, y)
    assert learned.transform(inflated).mean() == pytest.approx(rate, abs=1e-12)
    assert learned.odds_ratio_ == pytest.approx(0.2, rel=0.05)

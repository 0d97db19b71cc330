"""Omniprediction: one prediction for every loss, with a bound that holds; other populations."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import groups
from calibrant.errors import InvalidForecastsError, InvalidOptionError

LOSSES = {
    "squared": groups.squared_loss,
    "absolute": groups.absolute_loss,
    "low quantile": groups.quantile_loss(0.2),
    "high quantile": groups.quantile_loss(0.9),
    "asymmetric": groups.asymmetric_loss(3.0, 1.0),
    "exponential": lambda y, t: np.exp(t) * (1 - y) + np.exp(1 - t) * y,
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_response_is_the_best_of_all_actions(name):
    loss = LOSSES[name]
    actions = np.linspace(0, 1, 101)
    p = np.random.default_rng(0).random(300)
    chosen = groups.omnipredict(p, loss, actions)
    expected = p[:, None] * loss(np.ones(101), actions) + (1 - p[:, None]) * loss(
        np.zeros(101), actions
    )
    own = p * loss(np.ones(300), chosen) + (1 - p) * loss(np.zeros(300), chosen)
    assert np.allclose(own, expected.min(axis=1), atol=1e-12)


def sample(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    truth = np.clip(0.2 + 0.6 * x**2, 0, 1)
    return x, truth, (rng.random(n) < truth).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_certificate_bounds_the_gap_for_any_predictor(seed):
    x, truth, y = sample(500, seed)
    rng = np.random.default_rng(seed)
    comparators = {"slope": x, "wild": rng.random(500), "level": np.full(500, 0.37123)}
    for p in (truth, rng.random(500), np.round(x, 1)):
        weight = rng.random(500)
        for actions in (None, [0.0, 0.5, 1.0]):
            certificate = groups.omniprediction_certificate(
                y, p, LOSSES, comparators, actions=actions, sample_weight=weight
            )
            for gap in certificate.gaps:
                assert gap.gap <= gap.bound + 1e-12
            assert certificate.gap <= certificate.bound + 1e-12
            assert certificate.worst.loss in str(certificate)


def test_a_multicalibrated_predictor_is_near_the_best_comparator_of_every_loss():
    """Comparators chosen in hindsight among thresholds of the feature, for each loss."""
    x, _, y = sample(20_000)
    by = {"x": np.minimum((x * 10).astype(int), 9)}
    base = np.full(x.size, 0.5)
    patched = groups.Multicalibrator(tolerance=0.005).fit(base, y, by).transform(base, by)
    comparators = {
        f"{low} below {cut}, {high} above": np.where(x < cut, low, high)
        for cut in (0.3, 0.5, 0.7)
        for low in (0.0, 0.2, 0.4)
        for high in (0.4, 0.6, 0.8, 1.0)
    }
    after = groups.omniprediction_certificate(y, patched, LOSSES, comparators)
    before = groups.omniprediction_certificate(y, base, LOSSES, comparators)
    assert after.gap < 0.006
    assert after.bound < before.bound
    assert before.gap > 0.05


def test_transfer_bias_is_the_bias_in_the_other_population():
    """Identity under covariate shift, exactly, on a finite population."""
    rng = np.random.default_rng(0)
    kinds = 6
    chance, forecast = rng.random(kinds), rng.random(kinds)
    here, there = rng.dirichlet(np.ones(kinds)), rng.dirichlet(np.ones(kinds))
    # Mean outcomes stand in for infinitely many rows of each kind, repeated as often as here.
    rows = np.repeat(np.arange(kinds), 50)
    share = here[rows] / 50
    weights = there[rows] / here[rows] * share
    bias = groups.transfer_bias(chance[rows], forecast[rows], weights)
    assert float(bias) == pytest.approx(there @ (chance - forecast))
    assert bias.mean_prediction == pytest.approx(there @ forecast)
    assert bias.mean_outcome == pytest.approx(there @ chance)


def test_multicalibration_lowers_the_bias_of_every_reweighting():
    rng = np.random.default_rng(1)
    n = 40_000
    by = {"a": rng.integers(0, 4, n), "b": rng.random(n) < 0.4}
    truth = np.clip(0.3 + 0.1 * by["a"] - 0.15 * by["b"], 0, 1)
    y = rng.random(n) < truth
    base = np.full(n, truth.mean())
    patched = groups.Multicalibrator("low_degree", tolerance=0.002).fit(base, y, by)
    corrected = patched.transform(base, by)
    weights = [1 + 0.99 * np.where(by["a"] == level, 1, -1) for level in range(4)]
    worst = [
        max(abs(float(groups.transfer_bias(y, p, w))) for w in weights) for p in (base, corrected)
    ]
    assert worst[1] < worst[0] / 3


def test_standard_error_of_a_transfer_covers():
    rng = np.random.default_rng(2)
    scores = []
    for _ in range(400):
        x = rng.random(300)
        y = rng.random(300) < x
        bias = groups.transfer_bias(y, x, 0.5 + x)
        scores.append(bias.value / bias.standard_error)
    assert np.mean(np.abs(scores) < 1.96) > 0.92


def test_nonsense_is_refused():
    with pytest.raises(InvalidOptionError, match="between 0 and 1"):
        groups.quantile_loss(1.5)
    with pytest.raises(InvalidOptionError, match="finite number per action"):
        groups.omnipredict([0.5], lambda y, t: np.full(t.shape, np.inf))
    with pytest.raises(InvalidOptionError, match="finite numbers"):
        groups.omnipredict([0.5], groups.squared_loss, [])
    with pytest.raises(InvalidForecastsError, match="at least one loss"):
        groups.omniprediction_certificate([0, 1], [0.5, 0.5], {}, {"a": [0, 1]})

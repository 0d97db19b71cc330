"""Structured vector and matrix scaling, shifts and mixtures, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax

from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.recalibration import (
    EnsembleTemperatureScaling,
    MulticlassPriorCorrection,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    load,
)
from calibrant.regression.structured import MATRIX, SHIFT, VECTOR, _ScoreProblem, blend_shares


def sample(n=600, count=4, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(count, 0.7), n)
    label = (true.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    mix = 0.85 * np.eye(count) + 0.15 * np.roll(np.eye(count), 1, axis=0)
    table = np.exp(1.6 * np.log(true + 1e-9) @ mix + rng.normal(0, 0.5, count))
    table /= table.sum(axis=1, keepdims=True)
    return table, label, rng.integers(1, 4, n).astype(float)


def objective(table, label, w, slope, parts, strength=1.0):
    """Return the paper's objective as a plain function of a flat vector."""
    n, count = len(table), table.shape[1]
    score = slope * np.log(np.maximum(table, 2.0**-53))

    def moved(x):
        shift, rest = x[:count], x[count:]
        if parts is MATRIX:
            return score @ (np.eye(count) + rest.reshape(count, count)) + shift
        return score * (1 + rest if parts is VECTOR else 1) + shift

    def loss(x):
        shift, rest = x[:count], x[count:]
        if parts is MATRIX:
            square = rest.reshape(count, count) ** 2
            diagonal = np.trace(square)
            ridge = count * diagonal + count * (count - 1) * (square.sum() - diagonal)
        else:
            ridge = count * np.sum(rest**2)
        ridge += count * np.sum(shift**2)
        hit = log_softmax(moved(x), axis=1)[np.arange(label.size), label]
        return -np.average(hit, weights=w) + strength * ridge / n

    return loss, moved


KINDS = {
    MulticlassPriorCorrection: (SHIFT, 4),
    StructuredVectorScaling: (VECTOR, 8),
    StructuredMatrixScaling: (MATRIX, 20),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [1.0, 0.1])
def test_fits_have_the_least_penalised_log_loss(kind, strength):
    parts, size = KINDS[kind]
    table, label, w = sample()
    fitted = kind(strength=strength).fit(table, label, w)
    slope = 1.0
    if kind is not MulticlassPriorCorrection:
        slope = 1 / TemperatureScaling().fit(table, label, w).temperature_
        assert fitted.temperature_ == pytest.approx(1 / slope)
    loss, moved = objective(table, label, w, slope, parts, strength)
    best = minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-8})
    expected = np.exp(log_softmax(moved(best.x), axis=1))
    np.testing.assert_allclose(fitted.transform(table), expected, atol=2e-5)


@pytest.mark.parametrize("parts", [SHIFT, VECTOR, MATRIX])
def test_gradients_are_derivatives(parts):
    table, label, w = sample(n=80, count=3)
    problem = _ScoreProblem(np.log(table), label, w / w.sum(), w.sum(), parts, 1.0)
    at = np.random.default_rng(0).normal(0, 0.3, problem.ridge.size)
    value, gradient = problem.loss(at)
    assert np.isfinite(value)
    numeric = approx_fprime(at, lambda x: problem.loss(x)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


def test_second_derivatives_at_the_start():
    table, label, w = sample(n=80, count=3)
    for parts in (SHIFT, VECTOR, MATRIX):
        problem = _ScoreProblem(np.log(table), label, w / w.sum(), w.sum(), parts, 1.0)
        zero, step = np.zeros(problem.ridge.size), 1e-4
        for i, bend in enumerate(problem.bends()):
            move = step * np.eye(zero.size)[i]
            around = problem.loss(move)[0] + problem.loss(-move)[0] - 2 * problem.loss(zero)[0]
            assert bend == pytest.approx(around / step**2, rel=1e-3, abs=1e-6)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    table, label, w = sample()
    whole = {kind: kind().fit(table, label, w).transform(table) for kind in KINDS}
    monkeypatch.setattr("calibrant.regression.structured.BLOCK", 28)
    for kind, expected in whole.items():
        np.testing.assert_allclose(
            kind().fit(table, label, w).transform(table), expected, atol=1e-6
        )


@pytest.mark.parametrize("kind", [*KINDS, EnsembleTemperatureScaling])
def test_unit_of_weights_order_and_a_class_without_rows(kind):
    table, label, w = sample(n=200)
    label = np.where(label == 3, 0, label)
    one = kind().fit(table, label, w, classes=list("abcd"))
    again = kind().fit(table, label, 1e-9 * w, classes=list("abcd"))
    np.testing.assert_allclose(one.transform(table), again.transform(table), atol=2e-6)
    order = np.random.default_rng(1).permutation(200)
    other = kind().fit(table[order], label[order], w[order], classes=list("abcd"))
    np.testing.assert_allclose(one.transform(table), other.transform(table), atol=2e-6)
    assert (one.transform(np.eye(4)) >= 0).all()
    np.testing.assert_allclose(one.transform(np.eye(4)).sum(axis=1), 1)


@pytest.mark.parametrize("kind", [StructuredVectorScaling, StructuredMatrixScaling])
def test_with_few_rows_it_is_nearly_the_temperature(kind):
    table, label, _ = sample(n=40, count=10)
    at = TemperatureScaling().fit(table, label).transform(table)
    assert np.abs(kind().fit(table, label).transform(table) - at).mean() < 0.05
    fitted = kind(strength=1e4).fit(table, label).transform(table)
    np.testing.assert_allclose(fitted, at, atol=2e-4)


def test_with_many_rows_the_matrix_undoes_a_mixing():
    table, label, _ = sample(n=40000)

    def loss(fitted):
        return -np.log(fitted.transform(table)[np.arange(label.size), label]).mean()

    svs = StructuredVectorScaling().fit(table, label)
    sms = StructuredMatrixScaling().fit(table, label)
    assert loss(sms) < loss(svs) - 0.005 < loss(TemperatureScaling().fit(table, label)) - 0.01


def test_shifts_bring_the_mean_forecast_to_the_shares():
    table, label, w = sample(n=5000)
    fitted = MulticlassPriorCorrection().fit(table, label, w)
    shares = np.bincount(label, w) / w.sum()
    np.testing.assert_allclose(
        np.average(fitted.transform(table), axis=0, weights=w), shares, atol=5e-3
    )


def test_the_shares_of_the_mixture_have_the_least_log_loss():
    table, label, w = sample(n=900)
    table = 0.9 * table + 0.1 * np.roll(table, 1, axis=1)
    fitted = EnsembleTemperatureScaling().fit(table, label, w)
    slope = 1 / TemperatureScaling().fit(table, label, w).temperature_
    hot = np.exp(log_softmax(slope * np.log(table), axis=1))
    rows = np.arange(label.size)
    best = np.inf
    for a in np.linspace(0, 1, 51):
        for b in np.linspace(0, 1 - a, 51):
            mixed = a * hot[rows, label] + b * table[rows, label] + (1 - a - b) / 4
            best = min(best, -np.average(np.log(mixed), weights=w))
    ours = -np.average(np.log(fitted.transform(table)[rows, label]), weights=w)
    assert best - 1e-4 < ours <= best + 1e-9
    assert fitted.shares_.sum() == pytest.approx(1)


def test_a_broken_mixture_is_refused():
    table, label, _ = sample(n=50)
    stored = EnsembleTemperatureScaling().fit(table, label).to_dict()
    for broken in ({"share": [0.5, 0.5, 0.5]}, {"share": [1.0]}, {"slope": -1.0}):
        with pytest.raises(InvalidStateError):
            load(stored | {"form": stored["form"] | broken})


def test_odd_rows():
    rows = np.eye(3)[[0, 0, 1, 2, 2]]
    for kind in (*KINDS, EnsembleTemperatureScaling):
        values = kind().fit(rows, [0, 1, 1, 2, 2]).transform(rows)
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values.sum(axis=1), 1)
    with pytest.raises(InvalidOptionError, match="strength"):
        StructuredVectorScaling(strength=0).fit(rows, [0, 1, 1, 2, 2])


def test_a_mixture_keeps_what_a_single_row_lives_by():
    """One certain forecast that failed among a thousand that came true."""
    table = np.array([[1.0, 0, 0]] + [[0.1, 0.8, 0.1]] * 1000)
    fitted = EnsembleTemperatureScaling().fit(table, np.ones(1001, dtype=int))
    assert -np.log(fitted.transform(table)[:, 1]).mean() == pytest.approx(0.0264, abs=1e-4)


def test_no_other_shares_are_better():
    """At the optimum no forecast gains by more than it has (the conditions of Kuhn and Tucker)."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        chance = rng.random((rng.integers(2, 40), 3)) ** rng.choice([1, 5, 30])
        chance[0] = [1e-16, 1e-12, 1 / 3]
        mass = 10.0 ** rng.choice([0, 0, 3, 6], len(chance))
        mass /= mass.sum()
        share = blend_shares(chance, mass)
        assert share.sum() == pytest.approx(1)
        assert ((mass / (chance @ share)) @ chance).max() <= 1 + 1e-3


@pytest.mark.parametrize("kind", [StructuredVectorScaling, StructuredMatrixScaling])
def test_fits_end_however_unlike_the_weights(kind):
    rng = np.random.default_rng(7)
    for _ in range(40):
        table = rng.dirichlet(np.full(4, rng.choice([0.05, 0.3, 1, 5])), 20)
        weight = 10.0 ** rng.choice([-3, 0, 0, 3, 6], 20)
        values = kind().fit(table, rng.integers(0, 4, 20), weight).transform(table)
        assert values.sum(axis=1) == pytest.approx(1)

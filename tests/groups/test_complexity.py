"""Hardcore measures and dense models against their definitions."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups import dense_model, distinguisher_advantage, hardcore_measure
from oracles.strategies import universal


def data(seed, size=200):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 11, size) / 10
    y = rng.random(size) < rng.random(size)
    y[0], y[1] = True, False
    p[:2] = 0.5
    c = rng.uniform(-1, 1, size)
    return y.astype(int), p, c


@universal
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_hardcore_measure_by_definition(seed, weighted):
    y, p, c = data(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, y.size) if weighted else None
    found = hardcore_measure(y, p, {"c": c}, sample_weight=weight)
    mu = [
        (min(1, (1 - q) / q) if q else 1.0) if z else (min(1, q / (1 - q)) if q < 1 else 1.0)
        for z, q in zip(y, p, strict=True)
    ]
    share = np.full(y.size, 1 / y.size) if weight is None else weight / weight.sum()
    assert found.measure == pytest.approx(mu)
    assert found.density == pytest.approx(float(share @ mu))
    assert found.promised == pytest.approx(float(2 * share @ np.minimum(p, 1 - p)))
    correlation = float(share @ (np.array(mu) * c * (2 * y - 1))) / found.density
    assert found.correlations["c"] == pytest.approx(correlation, abs=1e-12)


@universal
@given(seed=st.integers(0, 10**6))
def test_the_correlation_on_the_measure_is_an_advantage(seed):
    y, p, c = data(seed)

    def distinguisher(x, outcome, predicted):
        one = np.where(predicted <= 0.5, 1, (1 - predicted) / np.maximum(predicted, 0.5))
        zero = np.where(predicted >= 0.5, 1, predicted / np.maximum(1 - predicted, 0.5))
        return x * np.where(outcome == 1, one, -zero)

    found = hardcore_measure(y, p, {"c": c})
    advantage = distinguisher_advantage(distinguisher, y, p, c).value
    assert abs(found.correlations["c"]) * found.density == pytest.approx(advantage, abs=1e-12)


def test_true_chances_give_a_hardcore_measure_and_a_constant_does_not():
    rng = np.random.default_rng(1)
    x = rng.random(100_000)
    chance = 0.1 + 0.8 * x
    y = rng.random(x.size) < chance
    tests = {"line": 2 * x - 1, "half": np.sign(x - 0.5), "wave": np.sin(9 * x)}
    right = hardcore_measure(y, chance, tests)
    assert right.density == pytest.approx(right.promised, abs=0.01)
    assert right.worst < 0.015
    assert hardcore_measure(y, np.full(x.size, 0.5), tests).worst > 0.3


def test_dense_model_by_definition():
    y, p, c = data(3)
    model = dense_model(y, p, {"c": c})
    expected = (c * y).mean() / y.mean() - (c * p).mean() / p.mean()
    assert model.errors["c"] == pytest.approx(expected, abs=1e-12)
    assert model.weights.mean() == pytest.approx(1)
    assert model.weights.max() <= 1 / model.density + 1e-12
    assert model.density == pytest.approx(p.mean())


def test_a_dense_model_of_true_chances_fools_the_tests():
    rng = np.random.default_rng(2)
    x = rng.random(100_000)
    member = rng.random(x.size) < 0.2 * x
    tests = {"line": x, "half": (x > 0.5) * 1.0}
    assert dense_model(member, 0.2 * x, tests).worst < 0.02
    assert dense_model(member, np.full(x.size, 0.1), tests).worst > 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hardcore_measure([0, 1], [0, 1], {}), "not certain"),
        (lambda: hardcore_measure([0, 0.5], [0.1, 0.2], {}), "0 or 1"),
        (lambda: hardcore_measure([0, 1], [0.1, 0.2], {"a": [0, 2]}), "-1, 1"),
        (lambda: dense_model([0, 0], [0.1, 0.2], {}), "members"),
        (lambda: dense_model([0, 1], [0.0, 0.0], {}), "members"),
    ],
    ids=range(5),
)
def test_what_has_no_measure_is_refused(call, words):
    with pytest.raises((InvalidForecastsError, InvalidOptionError), match=words):
        call()


def test_a_measure_without_tests_has_no_correlation():
    assert hardcore_measure([0, 1], [0.4, 0.6], {}).worst == 0
    assert dense_model([0, 1], [0.4, 0.6], {}).worst == 0

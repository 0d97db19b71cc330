"""Online forecasters against slow and clear versions of themselves."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant.online as on
from calibrant.online.laplace_tree import LaplaceTree
from oracles import online as by_definition
from oracles.strategies import predictions, rows, universal

outcomes = st.lists(st.integers(0, 1), max_size=60)
seeds = st.integers(0, 2**32 - 1)


@universal
@given(outcomes, st.integers(1, 7), seeds)
def test_foster(ys, grid, seed):
    coin = np.random.default_rng(seed)
    by_definition.follow(on.FosterForecaster(grid=grid), by_definition.foster(grid), ys, coin)


@universal
@given(outcomes, st.integers(1, 7), st.booleans())
def test_almost_one_step_ahead(ys, grid, midpoint):
    by_definition.follow(
        on.AlmostOneStepAhead(grid=grid, midpoint=midpoint),
        by_definition.almost_one_step_ahead(grid, midpoint=midpoint),
        ys,
        np.random.default_rng(0),
    )


@pytest.mark.parametrize("nature", [on.Bernoulli(0.3), on.DeterministicBreaker()], ids=repr)
def test_forecasters_with_whole_numbers_over_many_rounds(nature):
    for forecaster, oracle in (
        (on.FosterForecaster(grid=5), by_definition.foster(5)),
        (on.AlmostOneStepAhead(grid=9), by_definition.almost_one_step_ahead(9)),
    ):
        ys = on.play(type(forecaster)(grid=forecaster._grid), nature, 300, rng=5).outcomes
        by_definition.follow(forecaster, oracle, ys.tolist(), np.random.default_rng(5))


@universal
@given(outcomes, st.integers(1, 7))
def test_kakade_foster_says_a_zero_of_the_interpolated_sums(ys, grid):
    forecaster = on.KakadeFosterForecaster(grid=grid)
    past = []
    for y in ys:
        sums = by_definition.hat_sums(grid, past)
        p = forecaster.predict()
        bias = float(np.interp(p, np.arange(grid + 1) / grid, sums))
        assert abs(bias) <= 1e-9 or (p == 0 and bias < 0) or (p == 1 and bias > 0)
        past.append((p, y))
        forecaster.update(y)
    assert forecaster._sums == pytest.approx(by_definition.hat_sums(grid, past), abs=1e-12)


@universal
@given(outcomes)
def test_defensive_says_a_zero_of_the_laplace_sum(ys):
    forecaster = on.DefensiveForecaster()
    past = []
    for y in ys:
        p = forecaster.predict()
        bias = by_definition.laplace_sum(past, p)
        assert abs(bias) <= 1e-12 * (1 + len(past)) or p == (0 if bias < 0 else 1)
        past.append((p, y))
        forecaster.update(y)


@universal
@given(rows(), seeds)
def test_laplace_tree_keeps_the_sum_and_its_shape_does_not_depend_on_order(sample, seed):
    y, p = sample
    terms = list(zip(p.tolist(), (y - p).tolist(), strict=True))
    tree = LaplaceTree(*map(list, zip(*terms, strict=True)))
    for at in (0.0, 0.25, 0.5, 1.0, float(p[0])):
        expected = by_definition.laplace_sum(list(zip(p, y, strict=True)), at)
        assert tree.value(at) == pytest.approx(expected, abs=1e-12)
    points, coefficients = tree.terms()
    assert points == sorted(set(p.tolist()))
    order = np.random.default_rng(seed).permutation(len(points))
    again = LaplaceTree([points[i] for i in order], [coefficients[i] for i in order])
    assert again._root == tree._root


@universal
@given(st.dictionaries(predictions, st.floats(-1, 1), min_size=1, max_size=40))
def test_laplace_tree_finds_a_zero(terms):
    tree = LaplaceTree(list(terms), list(terms.values()))
    at = tree.zero()
    assert 0 <= at <= 1
    value = math.fsum(c * math.exp(-abs(at - p)) for p, c in terms.items())
    assert abs(value) <= 1e-13 * len(terms) or at == (0 if value < 0 else 1)


@universal
@given(st.lists(st.tuples(st.integers(0, 1), predictions), min_size=1, max_size=7))
def test_distance_of_a_sequence_is_the_best_grouping(pairs):
    y, p = zip(*pairs, strict=True)
    expected = by_definition.distance_of_sequence(y, p)
    assert on.distance_of_sequence(y, p) == pytest.approx(expected, abs=1e-12)

"""Online forecasters against slow and clear versions of themselves."""

from __future__ import annotations

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from calibrant.errors import InvalidOptionError
from calibrant.online.decision import _largest_harm, scales_for
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


@universal
@given(outcomes, st.integers(5, 9), seeds)
def test_decision(ys, grid, seed):
    coin = np.random.default_rng(seed)
    forecaster = on.DecisionForecaster(60, grid=grid)
    oracle = by_definition.decision(grid, (0.5, 0.25, 0.125))
    by_definition.follow(forecaster, oracle, ys, coin)


@universal
@given(outcomes, st.integers(5, 9), seeds)
def test_decision_potential_is_a_supermartingale(ys, grid, seed):
    """Whatever the outcome, the mean over the announced predictions does not grow."""
    coin = np.random.default_rng(seed)
    forecaster = on.DecisionForecaster(60, grid=grid)
    past: list[tuple[float, int]] = []
    for y in ys[:25]:
        before = by_definition.decision_potential(grid, (0.5, 0.25, 0.125), past)
        for outcome in (0, 1):
            after = sum(
                chance
                * by_definition.decision_potential(
                    grid, (0.5, 0.25, 0.125), [*past, (point, outcome)]
                )
                for point, chance in forecaster.forecast().atoms
            )
            assert after <= before * (1 + 1e-12)
        past.append((forecaster.predict(coin), y))
        forecaster.update(y)


@universal
@given(outcomes, st.integers(1, 9), seeds)
def test_foster_squares_grow_by_at_most_one_in_expectation(ys, grid, seed):
    coin = np.random.default_rng(seed)
    forecaster = on.FosterForecaster(grid=grid)
    past: list[tuple[float, int]] = []
    for y in ys[:25]:
        before = by_definition.foster_squares(grid, past)
        for outcome in (0, 1):
            after = sum(
                chance * by_definition.foster_squares(grid, [*past, (point, outcome)])
                for point, chance in forecaster.forecast().atoms
            )
            assert after <= before + 1 + 1e-12
        past.append((forecaster.predict(coin), y))
        forecaster.update(y)


@universal
@given(outcomes, st.integers(1, 9), seeds)
def test_cutoff(ys, grid, seed):
    coin = np.random.default_rng(seed)
    rate = min(1.0, math.sqrt(math.log(2 * grid + 2) / 60))
    forecaster = on.CutoffForecaster(60, grid=grid)
    by_definition.follow(forecaster, by_definition.cutoff(grid, rate), ys, coin)


@universal
@given(outcomes, st.integers(1, 9), seeds)
def test_cutoff_tests_gain_little_in_expectation(ys, grid, seed):
    """Whatever the outcome, the weighted test gains at most 1/(4K)."""
    coin = np.random.default_rng(seed)
    rate = min(1.0, math.sqrt(math.log(2 * grid + 2) / 60))
    forecaster = on.CutoffForecaster(60, grid=grid)
    past: list[tuple[float, int]] = []
    for y in ys[:25]:
        tests = by_definition.cutoff_tests(grid, rate, past)
        for outcome in (0, 1):
            gain = sum(
                chance * tests[round(point * grid)] * (outcome - point)
                for point, chance in forecaster.forecast().atoms
            )
            assert gain <= 1 / (4 * grid) + 1e-12
        past.append((forecaster.predict(coin), y))
        forecaster.update(y)


@universal
@given(st.lists(st.integers(0, 2), max_size=40), st.integers(2, 4), seeds)
def test_tree(ys, branching, seed):
    coin = np.random.default_rng(seed)
    depth = math.ceil(math.log(40) / math.log(branching))
    for classes in (2, 3):
        forecaster = on.TreeForecaster(40, classes=classes, branching=branching)
        oracle = by_definition.tree(branching, depth, classes)
        by_definition.follow(forecaster, oracle, [y % classes for y in ys], coin)


@pytest.mark.parametrize("counts", [(0, 0), (30, 10), (5, 0, 2), (1,) * 40], ids=repr)
@pytest.mark.parametrize("stop", [1.0, 0.3, 0.02])
def test_perturbed_counts_have_the_mean_of_their_draws(counts, stop):
    coin = np.random.default_rng(0)
    announced = on.PerturbedCounts(counts, stop)
    draws = np.array([announced.draw(coin) for _ in range(4000)])
    error = draws.std(axis=0) / math.sqrt(4000)
    assert (np.abs(draws.mean(axis=0) - announced.mean) <= 5 * error + 1e-12).all()
    if len(counts) > 2:
        assert math.fsum(announced.mean) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("nature", [on.Bernoulli(0.3), on.DeterministicBreaker()], ids=repr)
def test_forecasters_with_whole_numbers_over_many_rounds(nature):
    for forecaster, oracle in (
        (on.FosterForecaster(grid=5), by_definition.foster(5)),
        (on.AlmostOneStepAhead(grid=9), by_definition.almost_one_step_ahead(9)),
    ):
        ys = on.simulate(type(forecaster)(grid=forecaster._grid), nature, 300, rng=5).outcomes
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


@pytest.mark.parametrize(("grid", "visits"), [(5, 40), (6, 1000), (9, 300), (12, 20_000)])
@pytest.mark.parametrize("rho", [0.9, 2.7, 40.0])
def test_the_largest_harm_is_the_solution_of_a_linear_program(grid, visits, rho):
    """Harm of each point below every line of its bias; visits of all points add up."""
    from scipy.optimize import linprog

    scales = scales_for(visits)
    lines = [(1.0, 0.0)]
    lines += [(1 / (2 * grid) + s, (math.log(rho / s) - 1) / s) for s in scales]
    lines = [(slope, height) for slope, height in lines if height >= 0]
    points = grid + 1
    distance = sorted(abs(k - grid // 2) / grid for k in range(points))
    rows, right = [], []
    for k in range(points):
        for slope, height in lines:
            row = np.zeros(2 * points)
            row[k], row[points + k] = distance[k] - slope, 1
            rows.append(row)
            right.append(height)
    rows.append(np.repeat([1.0, 0.0], points))
    found = linprog(-np.repeat([0.0, 1.0], points), np.array(rows), [*right, visits])
    assert _largest_harm(grid, scales, rho, visits) == pytest.approx(-found.fun, rel=1e-9)


@universal
@given(outcomes, st.integers(5, 9), st.floats(0.5, 50), seeds)
def test_the_harm_of_a_decision_forecaster_is_bounded_by_its_potential(ys, grid, rho, seed):
    """On every run, before any expectation is taken: for every threshold and every rho."""
    scales, coin = (0.5, 0.25, 0.125), np.random.default_rng(seed)
    visits, bias = np.zeros(grid + 1), np.zeros(grid + 1)
    past = []
    for y in ys:
        point = int(coin.integers(grid + 1))  # wherever it stands, not only where it plays
        visits[point] += 1
        bias[point] += y - point / grid
        past.append((point / grid, y))
    potential = len(scales) * by_definition.decision_potential(grid, scales, past)
    bound = _largest_harm(grid, scales, rho, len(ys)) + potential / rho
    points = np.arange(grid + 1) / grid
    for threshold in np.linspace(0, 1, 4 * grid + 1):
        toward = np.where(points <= threshold, bias, -bias)
        away = np.where(points < threshold, bias, -bias)
        for gain in (toward, away):
            harm = np.maximum(gain - visits * np.abs(points - threshold), 0).sum()
            assert harm <= bound + 1e-9


def test_the_bound_of_the_decision_forecaster_says_something_from_a_few_hundred_rounds():
    bounds = {T: on.DecisionForecaster(T).bound(T) / T for T in (312, 313, 1000, 6000, 10**5)}
    assert bounds[312] == 1 > bounds[313]
    assert bounds[1000] < 0.62
    assert bounds[6000] < 0.32
    assert bounds[10**5] < 0.1
    anew = on.DecisionForecaster()
    assert anew.bound(800) == 800
    assert anew.bound(810) < 810


@pytest.mark.parametrize("midpoint", [False, True])
@pytest.mark.parametrize("rounds", range(1, 13))
def test_the_bound_of_almost_one_step_ahead_is_the_worst_of_all_sequences(rounds, midpoint):
    worst, sequences = 0.0, itertools.product((0, 1), repeat=rounds)
    said = {
        tuple(sorted(zip(forecaster.run(ys).tolist(), ys, strict=True)))
        for ys in sequences
        for forecaster in [on.AlmostOneStepAhead(rounds, midpoint=midpoint)]
    }
    for pairs in said:  # sequences with the same pairs have the same error
        p, y = zip(*pairs, strict=True)
        worst = max(worst, rounds * float(cal.smooth_calibration_error(y, p)))
    bound = on.AlmostOneStepAhead(rounds, midpoint=midpoint).bound(rounds)
    assert worst == pytest.approx(bound, abs=1e-12)


@pytest.mark.parametrize("midpoint", [False, True])
@pytest.mark.parametrize("rounds", [13, 100, 10_001])
def test_a_sequence_of_ones_attains_the_bound_of_almost_one_step_ahead(rounds, midpoint):
    forecaster = on.AlmostOneStepAhead(rounds, midpoint=midpoint)
    ones = np.ones(rounds, dtype=int)
    error = rounds * float(cal.smooth_calibration_error(ones, forecaster.run(ones)))
    assert error == pytest.approx(forecaster.bound(rounds), rel=1e-12)


@universal
@given(outcomes, st.integers(1, 9), st.booleans())
def test_almost_one_step_ahead_keeps_its_bounds_on_any_grid(ys, grid, midpoint):
    forecaster = on.AlmostOneStepAhead(grid=grid, midpoint=midpoint)
    said = forecaster.run(ys)
    if ys:
        error = len(ys) * float(cal.smooth_calibration_error(ys, said))
        assert error <= forecaster.bound(len(ys)) + 1e-9
    step = 1 / (2 * grid) if midpoint else 1 / grid
    assert forecaster.certificate <= len(ys) * step + 3 * grid / 4


@universal
@given(st.data(), st.integers(2, 12), st.booleans())
def test_the_excess_at_each_shadow_is_that_of_the_proof(data, grid, midpoint):
    """The lemma in the docstring of `AlmostOneStepAhead`, for any counts and values of a test."""
    i = data.draw(st.integers(1, grid - 1))
    x, h = i / grid, 1 / grid
    s = h / 2 if midpoint else h
    ones = data.draw(st.integers(0, 50))
    zeros = data.draw(st.integers(0, 50))
    u = data.draw(st.floats(-1, 1))
    v = min(1.0, max(-1.0, u + data.draw(st.floats(-h, h))))
    e = ones * (1 - x) - zeros * x
    before = 1 - x + s if midpoint else 1 - x + h
    after = x + s if midpoint else x
    excess = ones * before * u - zeros * after * v - s * (ones + zeros)
    assert excess <= max(0.0, e * (u if e >= 0 else v)) + 1e-9


@universal
@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.integers(2, 4), st.integers(2, 3))
def test_the_squared_biases_of_a_tree_are_those_of_its_proof(ys, branching, classes):
    """On every sequence, before any draw: parts of all levels, windows that end early included."""
    ys = [y % classes for y in ys]
    forecaster = on.TreeForecaster(60, classes=classes, branching=branching)
    corners = np.eye(classes)[ys]
    total = 0.0
    for part in forecaster._parts:
        loss = least = 0.0
        for start in range(0, len(ys), part):
            window = start - start % (part * branching)
            before, here = corners[window:start], corners[start : start + part]
            p = before.mean(axis=0) if len(before) else np.full(classes, 1 / classes)
            total += len(here) * ((here.mean(axis=0) - p) ** 2).sum()
            loss += ((here - p) ** 2).sum()
        for start in range(0, len(ys), part * branching):
            here = corners[start : start + part * branching]
            least += ((here - here.mean(axis=0)) ** 2).sum()
        assert loss <= least + forecaster._excess(part, len(ys)) + 1e-9
    excesses = sum(forecaster._excess(part, len(ys)) for part in forecaster._parts)
    assert total <= len(ys) * (1 - 1 / classes) + excesses + 1e-9


def test_the_excess_of_a_tree_is_that_of_its_parts_one_by_one():
    forecaster = on.TreeForecaster(1000, classes=3, branching=4)
    for part in forecaster._parts:
        for rounds in (1, 5, 63, 64, 65, 700, 1000):
            total = 0.0
            for start in range(0, rounds, part):
                window = start - start % (part * 4)
                width = min(part, rounds - start)
                share = 1 - 1 / 3 if start == window else 2 * width / (start + width - window)
                total += width * share
            assert forecaster._excess(part, rounds) == pytest.approx(total)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("nature", [on.DeterministicBreaker(), "cycle", "contrary"], ids=repr)
def test_a_tree_keeps_its_canonical_bound(classes, nature):
    rounds = 729

    def cycle(history, forecast):
        return history.rounds % classes

    def contrary(history, forecast):  # the outcome least expected, by all that was drawn so far
        counts = np.bincount(history.outcomes, minlength=classes)
        return int(np.argmin(counts + np.resize(forecast.mean, classes)))

    chosen = {"cycle": cycle, "contrary": contrary}.get(nature, nature)
    errors, bound = [], on.TreeForecaster(rounds, classes=classes, branching=9).canonical_bound
    for seed in range(4):
        forecaster = on.TreeForecaster(rounds, classes=classes, branching=9)
        game = on.simulate(forecaster, chosen, rounds, rng=seed)
        errors.append(game.canonical_error(norm="l2"))
        assert game.canonical_error() <= math.sqrt(classes) * errors[-1] + 1e-9
    assert np.mean(errors) <= bound(rounds) <= math.sqrt(2) * rounds


def test_the_canonical_bound_of_a_tree_says_little_and_more_with_rounds():
    bounds = {
        depth: on.TreeForecaster(30**depth, classes=10, branching=30).canonical_bound(30**depth)
        / 30**depth
        for depth in (1, 3, 6)
    }
    assert bounds[1] > bounds[3] > math.sqrt(0.9) * 0.8 > bounds[6]
    with pytest.raises(InvalidOptionError, match="rounds"):
        on.TreeForecaster(10).canonical_bound(11)

"""Tests of groups against their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from calibrant import groups
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.weight_functions import LearnedFamily
from oracles import definitions_of_groups as by_definition


def sample(seed, n=200):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 21, n) / 20
    y = (rng.random(n) < np.clip(p + rng.normal(0, 0.2), 0, 1)).astype(float)
    columns = {
        "site": rng.choice(["a", "b", "c"], n),
        "night": rng.random(n) < 0.3,
        "hour": rng.integers(0, 5, n),
    }
    return y, p, columns


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pairs", [False, True])
def test_errors_of_groups_are_the_maxima_they_claim_to_be(seed, pairs):
    y, p, columns = sample(seed)
    members = by_definition.groups_of(columns, pairs=pairs)
    found = groups.multiaccuracy_error(y, p, columns, pairs=pairs)
    assert found == pytest.approx(by_definition.multiaccuracy(y, p, members), abs=1e-14)
    for degree in (0, 1, 3):
        found = groups.low_degree_multicalibration_error(y, p, columns, degree=degree, pairs=pairs)
        expected = by_definition.low_degree(y, p, members, degree)
        assert found == pytest.approx(expected, abs=1e-14)
    for norm in ("l1", "sup"):
        found = groups.multicalibration_error(y, p, columns, n_bins=7, norm=norm, pairs=pairs)
        expected = by_definition.multicalibration(y, p, members, 7, norm)
        assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_witness_attains_the_value_on_its_group(seed):
    y, p, columns = sample(seed)
    for found in (
        groups.multiaccuracy_error(y, p, columns),
        groups.low_degree_multicalibration_error(y, p, columns, degree=2),
        groups.multicalibration_error(y, p, columns),
        groups.multicalibration_error(y, p, columns, norm="sup", n_bins=None),
    ):
        witness = found.witness
        assert witness.group in found.witness.sentence
        column, _, level = witness.group.partition(" ")
        values = columns.get(column)
        if values is None:
            inside = np.ones(y.size, bool)
        else:
            texts = np.where(values, "yes", "no") if values.dtype == bool else values.astype(str)
            inside = texts == level
        gain = np.mean(inside * witness(p) * (y - p))
        assert gain == pytest.approx(float(found), abs=1e-14)


def test_hierarchy_from_accuracy_to_calibration():
    for seed in range(20):
        y, p, columns = sample(seed)
        accuracy = groups.multiaccuracy_error(y, p, columns)
        powers = [
            groups.low_degree_multicalibration_error(y, p, columns, degree=d) for d in range(4)
        ]
        full = groups.multicalibration_error(y, p, columns, n_bins=None)
        assert accuracy == pytest.approx(float(powers[0]), abs=1e-15)
        assert all(a <= b + 1e-15 for a, b in pairwise(powers))
        assert powers[-1] <= full + 1e-14


def test_functions_of_features_count_as_tests():
    y, p, columns = sample(0)
    slope = columns["hour"] / 4 - 0.5
    error = groups.multiaccuracy_error(y, p, functions={"slope": slope})
    assert error == pytest.approx(max(abs(np.mean(slope * (y - p))), abs(np.mean(y - p))))
    with pytest.raises(InvalidOptionError, match=r"\[-1, 1\]"):
        groups.multiaccuracy_error(y, p, functions={"hour": columns["hour"]})


def test_weights_are_repeats():
    y, p, columns = sample(1)
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    repeated = {name: np.repeat(values, weight) for name, values in columns.items()}
    for measure in (
        groups.multiaccuracy_error,
        groups.low_degree_multicalibration_error,
        groups.multicalibration_error,
    ):
        once = measure(y, p, columns, sample_weight=weight)
        again = measure(np.repeat(y, weight), np.repeat(p, weight), repeated)
        assert once == pytest.approx(float(again), abs=1e-13)


def test_advantage_is_exact_over_the_simulated_outcome():
    y, p, columns = sample(3)
    night = columns["night"]

    def one_row(x, outcome, forecast):
        return np.cos(3 * forecast + x) * outcome + x * forecast

    def all_rows(x, outcome, forecast):
        return np.cos(3 * forecast + x) * outcome + x * forecast

    weight = np.random.default_rng(0).random(y.size)
    found = groups.distinguisher_advantage(all_rows, y, p, night, sample_weight=weight)
    assert float(found) == pytest.approx(by_definition.advantage(one_row, y, p, night, weight))
    # Many coins come close to what needs no coin.
    rng = np.random.default_rng(1)
    simulated = [np.average(all_rows(night, rng.random(y.size) < p, p), weights=weight)]
    simulated += [
        np.average(all_rows(night, rng.random(y.size) < p, p), weights=weight) for _ in "a" * 2000
    ]
    assert np.mean(simulated) == pytest.approx(
        found.simulated, abs=5 * np.std(simulated) / 2000**0.5
    )


def test_advantage_of_a_group_is_its_bias():
    y, p, columns = sample(4)
    group = columns["site"] == "a"
    found = groups.distinguisher_advantage(lambda x, o, _: x * o, y, p, group)
    assert found.value == pytest.approx(abs(np.mean(group * (y - p))))


@pytest.mark.parametrize("nonsense", [[1.0, 2.0], np.nan])
def test_a_distinguisher_must_answer_for_every_row(nonsense):
    with pytest.raises(InvalidOptionError, match="one finite number per row"):
        groups.distinguisher_advantage(lambda *_: nonsense, [0, 1, 1], [0.5] * 3)


def test_learned_test_finds_a_broken_corner_and_spares_a_sound_forecaster():
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = rng.random((6000, 3))
    p = rng.random(6000)
    corner = (x[:, 0] < 0.3) & (x[:, 1] > 0.6)
    broken = rng.random(6000) < np.clip(p + 0.3 * corner, 0, 1)
    sound = rng.random(6000) < p
    for estimator in (LinearRegression(), DecisionTreeClassifier(max_depth=4, random_state=0)):
        family = LearnedFamily(estimator, draws=199)
        found = groups.learned_advantage(broken, p, x, family)
        assert found.pvalue == 1 / 200
        assert groups.learned_advantage(sound, p, x, family).pvalue > 0.01
        named = groups.learned_advantage(broken, p, dict(zip("abc", x.T, strict=True)), family)
        assert float(named) == float(found)


def test_columns_need_one_value_per_row():
    with pytest.raises(InvalidForecastsError, match="one entry per row"):
        groups.multiaccuracy_error([0, 1], [0.5, 0.5], {"site": ["a"]})


def test_values_that_look_alike_are_groups_of_their_own():
    y, p = np.array([1.0, 1, 0, 0]), np.full(4, 0.5)
    found = groups.multiaccuracy_error(y, p, {"k": np.array(["1", "1", 1, 1], dtype=object)})
    assert found == pytest.approx(0.25)
    assert found.settings["groups"] == 3


@pytest.mark.parametrize(
    "features", [["a", "b", "c", "d"], np.zeros((3, 2)), np.array([["a"]] * 4)]
)
def test_features_that_cannot_be_learned_from_are_refused(features):
    from sklearn.tree import DecisionTreeRegressor

    family = LearnedFamily(DecisionTreeRegressor())
    with pytest.raises(InvalidForecastsError):
        groups.learned_advantage([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], features, family)

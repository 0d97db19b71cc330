"""What holds for every online forecaster, on every sequence."""

from __future__ import annotations

import copy
import json
import math
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from oracles.players import (
    DETERMINISTIC,
    FORECASTERS,
    NATURES,
    SURE,
    answer,
    measure_of,
    sequences,
)
from oracles.strategies import universal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

each_forecaster = pytest.mark.parametrize("name", FORECASTERS)
horizons = st.sampled_from([None, 80, 200])


@each_forecaster
@universal
@given(ys=sequences(), horizon=horizons)
def test_announcements_are_distributions_and_predictions_come_from_them(name, ys, horizon):
    forecaster = FORECASTERS[name](horizon)
    for y in ys:
        announced = forecaster.forecast()
        assert forecaster.forecast() is announced
        values, chances = zip(*announced.atoms, strict=True)
        assert math.fsum(chances) == pytest.approx(1, abs=1e-12)
        assert all(chance >= 0 for chance in chances)
        assert all(0 <= value <= 1 for value in np.ravel(values))
        assert (len(values) == 1) or forecaster.randomised
        prediction = forecaster.predict()
        assert forecaster.predict() == prediction
        assert prediction in values or not isinstance(announced, on.Distribution)
        forecaster.update(y)
    assert forecaster.rounds == len(ys)


@each_forecaster
@universal
@given(ys=sequences(), horizon=horizons, cut=st.integers(0, 80), waits=st.booleans())
def test_stored_and_resumed_equals_never_stopped(name, ys, horizon, cut, waits):
    """JSON and pickle, between rounds and in the middle of one, bit for bit."""
    cut = min(cut, len(ys))
    forecaster = FORECASTERS[name](horizon)
    answer(forecaster, ys[:cut])
    if waits and cut < len(ys):
        forecaster.predict()
    stored = forecaster.to_json()
    copies = [
        on.Forecaster.from_json(stored),
        type(forecaster).from_json(json.dumps(json.loads(stored))),
        pickle.loads(pickle.dumps(forecaster)),  # noqa: S301  # our own
        copy.deepcopy(forecaster),
    ]
    rest = answer(forecaster, ys[cut:])
    for resumed in copies:
        assert np.array_equal(answer(resumed, ys[cut:]), rest)
        assert resumed.to_json() == forecaster.to_json()
        assert repr(resumed) == repr(forecaster)


@pytest.mark.parametrize("name", SURE)
@universal
@given(ys=sequences(), horizon=horizons)
def test_sure_bounds_hold_on_every_sequence_at_every_time(name, ys, horizon):
    forecaster = SURE[name](horizon)
    said = answer(forecaster, ys)
    for t in range(1, len(ys) + 1, 7):
        joint = cal.Joint.from_samples(ys[:t], said[:t])
        error = t * measure_of(forecaster)(joint)
        assert error <= forecaster.bound(t) + 1e-9


@universal
@given(ys=sequences(40), midpoint=st.booleans(), horizon=st.sampled_from([None, 60]))
def test_almost_one_step_ahead_is_close_to_calibrated(ys, midpoint, horizon):
    """The true distance is below the certificate, and the certificate below the promise."""
    forecaster = on.AlmostOneStepAhead(horizon, midpoint=midpoint)
    said = answer(forecaster, ys)
    if not ys:
        assert forecaster.certificate == 0
        return
    assert len(ys) * cal.distance_to_calibration(ys, said) <= forecaster.certificate + 1e-9
    if horizon:
        m = forecaster._grid
        assert all(-(m - i) <= tally <= i for i, tally in enumerate(forecaster._tallies))
        step = 1 / (2 * m) if midpoint else 1 / m
        assert forecaster.certificate <= len(ys) * step + 3 * m / 4
        promise = 60 / (2 * m) + 3 * m / 4 if midpoint else 1.75 * math.sqrt(60)
        assert forecaster.certificate <= promise + 1e-9


@universal
@given(ys=sequences())
def test_defensive_kernel_error_is_below_the_root_of_squared_residuals(ys):
    said = answer(on.DefensiveForecaster(), ys)
    for t in range(1, len(ys) + 1, 5):
        joint = cal.Joint.from_samples(ys[:t], said[:t])
        proven = math.sqrt(((np.array(ys[:t]) - said[:t]) ** 2).sum())
        assert t * cal.kernel_calibration_error(joint) <= proven + 1e-9
        assert t * cal.smooth_calibration_error(joint) <= math.sqrt(2) * proven + 1e-9


@universal
@given(ys=sequences(), grid=st.integers(1, 9))
def test_kakade_foster_sums_of_squares_stay_below_the_number_of_rounds(ys, grid):
    forecaster = on.KakadeFosterForecaster(grid=grid)
    answer(forecaster, ys)
    assert sum(s * s for s in forecaster._sums) <= len(ys) + 1e-9


@pytest.mark.parametrize("nature", NATURES)
def test_decision_forecaster_keeps_every_grid_point_within_its_bias_bound(nature):
    """At a failure chance of 1e-9 the bound may be asserted on every run, at the end and before."""
    game = on.simulate(on.DecisionForecaster(3000), NATURES[nature](), 3000, rng=4)
    for rounds in (100, 1000, 3000):
        joint = game.joint(rounds)
        bias = np.abs(joint.positives - joint.weight * joint.prediction)
        for visits, size in zip(joint.weight, bias, strict=True):
            assert size <= game.forecaster.bias_bound(int(visits), failure=1e-9)


@universal
@given(ys=sequences())
def test_running_mean_is_close_to_the_best_constant(ys):
    """Regret in squared error of at most 1 + ln T, as its docstring says."""
    y, said = np.array(ys), answer(on.RunningMeanForecaster(), ys)
    if ys:
        regret = ((y - said) ** 2).sum() - ((y - y.mean()) ** 2).sum()
        assert regret <= 1 + math.log(len(ys))


@pytest.mark.parametrize("nature", NATURES)
@each_forecaster
def test_games_are_reproducible_and_errors_are_rounds_times_the_measure(name, nature):
    games = [on.simulate(FORECASTERS[name](150), NATURES[nature](), 150, rng=7) for _ in range(2)]
    assert np.array_equal(games[0].predictions, games[1].predictions)
    assert np.array_equal(games[0].outcomes, games[1].outcomes)
    game = games[0]
    for measure, error in game.errors(rounds=100).items():
        joint = cal.Joint.from_samples(game.outcomes[:100], game.predictions[:100])
        assert error == pytest.approx(100 * cal.CATALOGUE[measure].function(joint), abs=1e-9)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_deterministic_forecasters_ignore_the_coin(name):
    first = on.simulate(DETERMINISTIC[name](200), on.DeterministicBreaker(), 200, rng=1)
    second = on.simulate(DETERMINISTIC[name](200), on.DeterministicBreaker(), 200, rng=2)
    assert np.array_equal(first.predictions, second.predictions)


@each_forecaster
@universal
@given(ys=sequences(300), horizon=st.sampled_from([None, 300]), cut=st.integers(0, 300))
def test_a_recorded_sequence_gives_the_same_as_round_by_round(name, ys, horizon, cut):
    """Also in two parts, and after a prediction that still waits for its outcome."""
    slow, fast = FORECASTERS[name](horizon), FORECASTERS[name](horizon)
    coins = np.random.default_rng(3), np.random.default_rng(3)
    said = answer(slow, ys, coins[0])
    first = fast.run(ys[:cut], coins[1])
    if cut < len(ys):
        fast.predict(coins[1])
    second = fast.run(np.array(ys[cut:]), coins[1])
    assert np.array_equal(np.concatenate([first, second]), said)
    ours, theirs = json.loads(fast.to_json()), json.loads(slow.to_json())
    assert {**ours, "coin": None} == {**theirs, "coin": None}


def test_errors_over_time_and_the_distance_agree_with_the_whole_game():
    game = on.simulate(on.AlmostOneStepAhead(300), on.Markov(0.7), 300, rng=3)
    course = game.over_time(points=8)
    assert course.rounds[-1] == 300
    assert sorted(set(course.rounds)) == course.rounds.tolist()
    assert {name: series[-1] for name, series in course.errors.items()} == game.errors()
    assert course.bound[-1] == game.forecaster.bound(300)
    assert set(course.frame()) == {"rounds", "bound", *game.errors()}
    low, high = game.distance()
    smooth = game.errors(["smooth_calibration_error"])["smooth_calibration_error"]
    assert smooth / 2 <= high <= game.forecaster.certificate
    assert low <= high
    exact_low, exact_high = game.distance(60)
    assert exact_low == exact_high


def test_a_game_goes_on_where_the_forecaster_stands():
    whole = on.simulate(on.DefensiveForecaster(), on.Replay([0, 1, 1, 0, 1, 0]), 6)
    forecaster = on.DefensiveForecaster()
    first = on.simulate(forecaster, on.Replay([0, 1, 1]), 3)
    second = on.simulate(forecaster, on.Replay([0, 1, 0]), 3)
    said = np.concatenate([first.predictions, second.predictions])
    assert np.array_equal(said, whole.predictions)

"""What online forecasters and games refuse, and that a refusal leaves them unharmed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
import calibrant._kernels as kernels
import calibrant.online as on
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from oracles.players import FORECASTERS, NATURES, answer

NONSENSE = [2, -1, 0.5, float("nan"), None, "1", [1], np.array([0, 1]), pd.NA, 1j]


@pytest.mark.parametrize("name", FORECASTERS)
def test_refused_outcomes_leave_the_forecaster_unharmed(name):
    forecaster, twin = FORECASTERS[name](50), FORECASTERS[name](50)
    for each in (forecaster, twin):
        answer(each, [1, 0, 0, 1], np.random.default_rng(0))
        each.predict(np.random.default_rng(1))
    before = forecaster.to_json()
    for nonsense in NONSENSE:
        with pytest.raises(InvalidForecastsError, match="an outcome must be"):
            forecaster.update(nonsense)
    assert forecaster.to_json() == before
    assert np.array_equal(
        answer(forecaster, [1, 1, 0], np.random.default_rng(2)),
        answer(twin, [1, 1, 0], np.random.default_rng(2)),
    )


@pytest.mark.parametrize("outcome", [True, np.True_, 1.0, np.float32(1), np.int8(1), np.uint64(1)])
def test_outcomes_of_any_number_type(outcome):
    first, second = on.RunningMeanForecaster(), on.RunningMeanForecaster()
    for forecaster, y in ((first, outcome), (second, 1)):
        answer(forecaster, [y])
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize("name", FORECASTERS)
def test_update_before_predict(name):
    forecaster = FORECASTERS[name](50)
    with pytest.raises(InvalidForecastsError, match="update before predict"):
        forecaster.update(1)
    forecaster.forecast()
    with pytest.raises(InvalidForecastsError, match="must follow a prediction"):
        forecaster.update(1)
    answer(forecaster, [1])
    with pytest.raises(InvalidForecastsError):
        forecaster.update(1)
    assert forecaster.rounds == 1


@pytest.mark.parametrize("make", [on.FosterForecaster, on.AlmostOneStepAhead])
def test_more_rounds_than_the_horizon(make):
    forecaster = make(3)
    answer(forecaster, [1, 0, 1])
    before = forecaster.to_json()
    for call in (forecaster.forecast, forecaster.predict):
        with pytest.raises(InvalidForecastsError, match="made for 3 rounds"):
            call()
    assert forecaster.to_json() == before
    with pytest.raises(InvalidOptionError, match="horizon of 3"):
        on.simulate(make(3), on.Bernoulli(), 4)


@pytest.mark.parametrize("make", [on.FosterForecaster, on.AlmostOneStepAhead])
@pytest.mark.parametrize("options", [{"horizon": 0}, {"horizon": 2.5}, {"grid": 0}, {"grid": True}])
def test_options_that_make_no_sense(make, options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        make(**options)


def test_other_options_that_make_no_sense():
    for call in (
        lambda: on.ConstantForecaster(1.2),
        lambda: on.Bernoulli(-0.1),
        lambda: on.Drift(0.1, float("nan")),
        lambda: on.Markov(2),
        lambda: on.EarlyStopping(0),
        lambda: on.Categorical([0.5, 0.6]),
        lambda: on.simulate(on.ConstantForecaster(), on.Bernoulli(), 0),
        lambda: on.simulate(on.ConstantForecaster(), 0.5, 10),
        lambda: on.simulate(0.5, on.Bernoulli(), 10),
        lambda: on.simulate(on.ConstantForecaster(), on.Replay([0, 1]), 3),
        lambda: on.simulate(on.ConstantForecaster(), on.Bernoulli(), 9).errors(rounds=10),
        lambda: on.simulate(on.ConstantForecaster(), on.Bernoulli(), 9).errors(["nonsense"]),
        lambda: on.ConstantForecaster().bound(10),
    ):
        with pytest.raises(InvalidOptionError):
            call()


@pytest.mark.parametrize("outcomes", [[0.5, 1], [-1, 0], ["a"], [[0, 1]]])
def test_records_that_are_no_outcomes(outcomes):
    with pytest.raises(InvalidForecastsError, match="recorded outcomes"):
        on.Replay(outcomes)


@pytest.mark.parametrize(
    "outcomes",
    [[1.0, float("nan")], np.ma.array([1, 0], mask=[0, 1]), np.ma.array([1.0, 0], mask=[0, 1])],
)
def test_a_missing_outcome_on_record_is_not_a_zero(outcomes):
    with pytest.raises(InvalidForecastsError, match="got a missing value in row 2"):
        on.Replay(outcomes)


@pytest.mark.parametrize("nonsense", NONSENSE, ids=repr)
def test_a_nature_that_answers_nonsense_is_named_with_its_round(nonsense):
    def trickster(history, forecast):
        return 1 if history.rounds < 2 else nonsense

    forecaster = on.RunningMeanForecaster()
    with pytest.raises(InvalidForecastsError, match=r"trickster must answer.*round 2"):
        on.simulate(forecaster, trickster, 5)
    assert forecaster.rounds == 2
    assert forecaster.predict() == 1.0


def test_nature_cannot_change_the_past():
    def cheat(history, forecast):
        history.outcomes[:] = 1
        return 0

    with pytest.raises(ValueError, match="read-only"):
        on.simulate(on.ConstantForecaster(), cheat, 5)


def test_stored_texts_that_are_none():
    text = on.FosterForecaster(10).to_json()
    stored = json.loads(text)
    for broken in (
        "nonsense",
        "[]",
        json.dumps({**stored, "schema": 99}),
        json.dumps({**stored, "forecaster": "Forecaster"}),
        json.dumps({**stored, "forecaster": "Unheard"}),
        json.dumps({**stored, "state": {}}),
    ):
        with pytest.raises(InvalidOptionError):
            on.Forecaster.from_json(broken)
    with pytest.raises(InvalidOptionError, match="must be a DefensiveForecaster"):
        on.DefensiveForecaster.from_json(text)


@pytest.mark.parametrize("name", FORECASTERS)
def test_a_recorded_sequence_with_nonsense_leaves_the_forecaster_unharmed(name):
    forecaster = FORECASTERS[name](50)
    forecaster.run([1, 0, 1])
    before = forecaster.to_json()
    for outcomes in ([0, 1, 2], [0, 0.5], [0, float("nan")], [[0, 1]], ["a"], [0, None]):
        with pytest.raises(InvalidForecastsError, match="recorded outcomes"):
            forecaster.run(outcomes)
    if forecaster.horizon == 50:
        with pytest.raises(InvalidForecastsError, match="made for 50 rounds"):
            forecaster.run([0] * 48)
    assert forecaster.to_json() == before
    assert forecaster.run([]).shape == (0,)


def test_the_kernel_refuses_a_place_that_is_not_on_the_grid():
    outcomes = np.zeros(3, dtype=np.uint8)
    for tallies, at in (([0], 0), ([0, 0], 1), ([0, 0, 0], 5), ([0, 0, 0], 2**64 - 1)):
        with pytest.raises(ValueError, match="a grid has a step"):
            kernels.almost_one_step_ahead(tallies, at, outcomes, False)
    hostile = kernels.almost_one_step_ahead([5, -3, 7, -1], 0, outcomes, True)
    assert hostile[2] < 3


def test_progress_is_told():
    reported = []
    for nature in (on.Bernoulli(), lambda history, forecast: 1):
        reported.clear()
        on.simulate(on.ConstantForecaster(), nature, 40_000, progress=reported.append)
        assert len(reported) > 1
        assert sum(reported) == 40_000


@pytest.mark.parametrize("name", NATURES)
def test_natures_introduce_themselves(name):
    game = on.simulate(on.ConstantForecaster(), NATURES[name](), 20, rng=0)
    assert game.nature
    assert "20 rounds" in str(game)


def test_a_forecaster_says_what_it_is():
    assert repr(on.FosterForecaster(100)) == "FosterForecaster(horizon=100, grid=None)"
    assert "Promise: T x smooth error" in str(
        on.simulate(on.DefensiveForecaster(), on.Bernoulli(), 5, rng=0)
    )


def test_classes():
    rng = np.random.default_rng(0)
    for forecaster in (
        on.UCalibratedForecaster(300, classes=3, rng=0),
        on.UCalibratedForecaster(classes=3, rng=0),
        on.TreeForecaster(300, classes=3, rng=0),
    ):
        game = on.simulate(forecaster, on.Categorical([0.2, 0.3, 0.5]), 300, rng)
        assert game.predictions.shape == (300, 3)
        assert game.predictions.sum(axis=1) == pytest.approx(np.ones(300))
        assert 0 < game.canonical_error() <= 600
        smooth = game.errors(["smooth_calibration_error"], label=2)["smooth_calibration_error"]
        expected = cal.smooth_calibration_error(game.outcomes == 2, game.predictions[:, 2])
        assert smooth == pytest.approx(300 * expected)
        with pytest.raises(InvalidOptionError, match="two classes"):
            game.distance()
        resumed = on.Forecaster.from_json(forecaster.to_json())
        assert resumed.to_json() == forecaster.to_json()
    for nature in (on.BiasReinforcer(), on.EarlyStopping()):
        with pytest.raises(InvalidOptionError, match="outcomes 0 and 1"):
            on.simulate(on.TreeForecaster(10, classes=3), nature, 10)
    with pytest.raises(InvalidForecastsError, match="class from 0 to 2"):
        on.simulate(on.TreeForecaster(10, classes=3), on.Replay([0, 1, 3]), 3)
    broken = on.simulate(on.TreeForecaster(10, classes=3, rng=1), on.DeterministicBreaker(), 10)
    assert set(broken.outcomes) <= {0, 1, 2}


def test_canonical_error_of_two_classes_counts_both_outcomes():
    game = on.simulate(on.FosterForecaster(200), on.Bernoulli(0.3), 200, rng=0)
    expected = game.errors(["exact_calibration_error"])["exact_calibration_error"]
    assert game.canonical_error() == pytest.approx(2 * expected)


def test_classes_and_trees_that_make_no_sense():
    for call in (
        lambda: on.UCalibratedForecaster(10, classes=1),
        lambda: on.TreeForecaster(10, branching=1),
        lambda: on.TreeForecaster(None),
        lambda: on.DecisionForecaster(10, grid=4),
    ):
        with pytest.raises(InvalidOptionError):
            call()


def test_rates_that_make_no_sense():
    for call in (
        lambda: on.rates(["foster"], ["coins"], horizons=[10, 20]),
        lambda: on.rates(["foster"], ["coins"], horizons=[10, 20, 0]),
        lambda: on.rates(["foster"], ["coins"], repeats=0),
        lambda: on.rates(["unheard"], ["coins"]),
        lambda: on.rates(["foster"], ["unheard"]),
        lambda: on.rates(["constant"], ["coins"], horizons=[8, 16, 32]),
        lambda: on.rates(["foster"], ["coins"], horizons=[8, 16, 32], measure="unheard"),
        lambda: on.rates(
            {"right": lambda horizon: on.ConstantForecaster(0.0)},
            {"never": lambda: on.Bernoulli(0.0)},
            horizons=[8, 16, 32],
            measure="smooth_calibration_error",
        ),
    ):
        with pytest.raises(InvalidOptionError):
            call()


def test_a_game_is_drawn():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    game = on.simulate(on.FosterForecaster(300), on.Bernoulli(0.3), 300, rng=0)
    display = game.plot(points=5)
    axes = display.ax_
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "exact calibration error" in labels
    assert "promise: exact calibration error, in expectation" in labels
    assert "after 300 rounds" in display.sentence
    assert display.to_svg().startswith("<svg")
    assert set(display.frame()) > {"rounds", "bound", "calibration_decision_loss"}
    _, own = plt.subplots()
    baseline = on.simulate(on.ConstantForecaster(), on.Bernoulli(0.3), 50, rng=0)
    drawn = baseline.plot(own, measures=["cutoff_calibration_error"], points=3)
    assert drawn.ax_ is own
    assert "bound" not in drawn.frame()
    plt.close("all")


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_any_generator_can_be_stored(bits):
    forecaster = on.FosterForecaster(grid=2, rng=np.random.Generator(bits(5)))
    answer(forecaster, [1, 1, 0] * 10)
    resumed = on.Forecaster.from_json(forecaster.to_json())
    assert np.array_equal(answer(resumed, [1, 0] * 30), answer(forecaster, [1, 0] * 30))

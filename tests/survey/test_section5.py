"""Section 5 of the survey: online calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from calibrant.catalogue import JOINT_MEASURES
from oracles.players import (
    DETERMINISTIC,
    FORECASTERS,
    NATURES,
    PROMISING,
    measure_of,
    sequences,
)
from oracles.strategies import universal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

SMOOTH, EXPECTED = "smooth_calibration_error", "expected_calibration_error"


@pytest.mark.parametrize("name", JOINT_MEASURES)
def test_section_5_error_of_a_sequence_is_t_times_the_measure_of_the_uniform_law(name):
    game = on.simulate(on.FosterForecaster(64), on.Bernoulli(0.3), 64, rng=0)
    uniform = cal.Joint.from_samples(
        game.outcomes, game.predictions, sample_weight=np.full(64, 1 / 64)
    )
    expected = 64 * JOINT_MEASURES[name].function(uniform)
    assert game.errors([name])[name] == pytest.approx(expected, rel=1e-9)


def test_section_5_predictions_and_outcomes_depend_on_the_history_alone():
    """Nature sees all past rounds and the distribution to come, never the coin of this round."""
    seen = []

    def nature(history, forecast):
        seen.append((history.predictions.copy(), history.outcomes.copy(), forecast))
        return int(forecast.mean < 0.5)

    game = on.simulate(on.FosterForecaster(grid=3), nature, 50, rng=0)
    for t, (predictions, outcomes, forecast) in enumerate(seen):
        assert np.array_equal(predictions, game.predictions[:t])
        assert np.array_equal(outcomes, game.outcomes[:t])
        assert game.predictions[t] in forecast.support
    assert max(len(forecast.support) for _, _, forecast in seen) == 2


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_section_5_a_deterministic_forecaster_can_be_forced_to_an_ece_of_one_half(name):
    """Nature answers 1 iff p < 1/2: T x ECE >= T/2, at every time: exponent one."""
    game = on.simulate(DETERMINISTIC[name](500), on.DeterministicBreaker(), 500)
    assert np.array_equal(game.outcomes, game.predictions < 0.5)
    for t in (1, 10, 100, 500):
        assert game.errors([EXPECTED], t)[EXPECTED] >= t / 2 - 1e-9


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_section_5_a_deterministic_forecaster_can_be_forced_to_a_decision_loss_of_one(name):
    """Who guesses the bit that the forecast makes likelier is wrong every time; its opposite is
    right every time: calibration decision loss T, the largest there is."""
    game = on.simulate(DETERMINISTIC[name](500), on.DeterministicBreaker(), 500)
    guesses = game.predictions >= 0.5
    trusting = int((guesses == game.outcomes).sum())
    recalibrated = int((~guesses == game.outcomes).sum())
    assert recalibrated - trusting == 500
    loss = game.errors(["calibration_decision_loss"])["calibration_decision_loss"]
    assert loss == pytest.approx(500)


def test_section_5_randomisation_defeats_the_breaker():
    """Foster's forecaster stays near its rate where every deterministic one has T/2."""
    errors = [
        on.simulate(on.FosterForecaster(8000), on.DeterministicBreaker(), 8000, rng=seed).errors(
            [EXPECTED]
        )[EXPECTED]
        for seed in range(5)
    ]
    assert np.mean(errors) <= on.FosterForecaster(8000).bound(8000) == pytest.approx(610, abs=1)


def test_section_5_the_base_rate_is_calibrated_offline_and_breaks_online():
    """Why online is the interesting question: the constant E[y] needs to know the future."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.3).astype(int)
    hindsight = on.simulate(on.ConstantForecaster(float(y.mean())), on.Replay(y), 4000)
    assert hindsight.errors([SMOOTH])[SMOOTH] <= 1e-9
    broken = on.simulate(on.RunningMeanForecaster(), on.DeterministicBreaker(), 4000)
    assert broken.errors([EXPECTED])[EXPECTED] >= 2000


@universal
@given(ys=sequences())
def test_section_5_errors_of_a_sequence_are_at_most_the_sum_over_its_parts(ys):
    """What doubling rests on, for the measures that promises are made of."""
    said = np.random.default_rng(len(ys)).integers(0, 5, len(ys)) / 4
    y = np.array(ys)
    for cut in range(1, len(ys), 9):
        for measure in (
            cal.expected_calibration_error,
            cal.smooth_calibration_error,
            cal.kernel_calibration_error,
            cal.cutoff_calibration_error,
        ):
            whole = len(ys) * measure(y, said)
            parts = cut * measure(y[:cut], said[:cut])
            parts += (len(ys) - cut) * measure(y[cut:], said[cut:])
            assert whole <= parts + 1e-9


@pytest.mark.parametrize("nature", NATURES)
@pytest.mark.parametrize("name", PROMISING)
def test_table_1_upper_bounds(name, nature):
    """Every promise on every nature; those in expectation as a mean over runs.

    At this length the means stay below the bounds by far more than their standard errors.
    """
    rounds, runs = 1000, 6
    errors = []
    for seed in range(runs):
        forecaster = PROMISING[name](rounds)
        game = on.simulate(forecaster, NATURES[nature](), rounds, rng=seed)
        error = rounds * measure_of(forecaster)(game.joint())
        if forecaster.guarantee.surely:
            assert error <= forecaster.bound(rounds) + 1e-9
        errors.append(error)
    assert np.mean(errors) <= forecaster.bound(rounds)


@pytest.mark.parametrize("name", PROMISING)
def test_table_1_promises_grow_with_the_stated_exponent(name):
    """Up to logarithms; also without a horizon, where doubling costs a constant factor."""
    exponent = PROMISING[name](10).guarantee.exponent
    for make in (PROMISING[name], lambda horizon: PROMISING[name](None)):
        sizes = [10**6, 10**9]
        low, high = (make(size).bound(size) for size in sizes)
        slope = math.log(high / low) / math.log(sizes[1] / sizes[0])
        assert exponent - 0.01 <= slope <= exponent + 0.15


def test_table_1_promises_are_about_measures_of_the_catalogue():
    for make in PROMISING.values():
        assert make(100).guarantee.measure in JOINT_MEASURES
    assert all(hasattr(cal, name) for name in on.TABLE_1)


def test_table_1_distance_and_smooth_error_are_within_a_factor_of_two():
    """Why both have the same rates."""
    for name, make in FORECASTERS.items():
        game = on.simulate(make(50), on.Markov(0.8), 50, rng=1)
        distance, _ = game.distance()
        smooth = game.errors([SMOOTH])[SMOOTH]
        assert smooth / 2 <= distance + 1e-9, name


def test_table_1_lower_bound_early_stopping_leaves_an_error_of_order_cube_root():
    """The stopping adversary keeps fair coins' luck: every forecaster ends above the mark."""
    rounds = 4000
    mark = 0.5 * rounds ** (1 / 3)
    for make in (on.FosterForecaster, on.AlmostOneStepAhead, lambda h: on.DefensiveForecaster()):
        errors = []
        for seed in range(4):
            game = on.simulate(make(rounds), on.EarlyStopping(0.5), rounds, rng=seed)
            errors.append(game.errors([SMOOTH])[SMOOTH])
        assert np.mean(errors) >= mark / 2


def test_table_1_early_stopping_repeats_one_outcome_from_some_round_on():
    game = on.simulate(on.AlmostOneStepAhead(2000), on.EarlyStopping(0.5), 2000, rng=0)
    last_change = int(np.flatnonzero(np.diff(game.outcomes))[-1])
    assert last_change < 1900
    assert {len(set(part)) for part in (game.outcomes[: last_change + 1],)} == {2}


def test_table_1_is_printed_beside_what_was_measured():
    found = on.rates(
        ["foster", "defensive", "cutoff"],
        ["breaker", "coins"],
        horizons=[64, 128, 256, 512],
        repeats=3,
        rng=0,
    )
    assert [(row.forecaster, row.nature) for row in found.rows] == [
        (forecaster, nature)
        for forecaster in ("foster", "defensive", "cutoff")
        for nature in ("breaker", "coins")
    ]
    for row in found.rows:
        assert row.errors.shape == (4, 3)
        assert row.low < row.exponent < row.high
    text = str(found)
    assert "T^(2/3) FV98" in text
    assert "T^(1/3) QZ24" in text
    assert {len(column) for column in found.frame().values()} == {6}
    exponents = {row.forecaster: row.proven for row in found.rows}
    assert exponents["foster"] == pytest.approx(2 / 3)
    assert exponents["defensive"] == pytest.approx(1 / 2)
    assert 1 / 2 < exponents["cutoff"] < 0.62  # the root of a logarithm still shows


def test_table_1_a_deterministic_forecaster_against_the_breaker_has_exponent_one_in_ece():
    found = on.rates(
        ["defensive", "almost-one-step", "running-mean"],
        ["breaker"],
        horizons=[512, 2048, 8192],
        repeats=1,
        measure="expected_calibration_error",
    )
    for row in found.rows:
        assert row.exponent == pytest.approx(1, abs=0.02)
        assert row.proven is None

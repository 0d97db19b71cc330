"""Calibeating, plain and proper: promises in play, against natures that know the past."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.online.calibeating import RIVAL_SCALE, RivalledForecaster
from oracles import online as by_definition
from oracles.strategies import universal

ROUNDS, CELLS, GAMES = 300, 4, 12


def by_threshold(cut):
    """What a task with one threshold loses: whoever acts from the threshold on, in [0, 1]."""
    worst = max(cut, 1 - cut)
    return lambda p, y: np.where(p >= cut, cut * (y == 0), (1 - cut) * (y == 1)) / worst


LOSSES = {
    "brier": lambda p, y: (p - y) ** 2,
    "spherical": lambda p, y: 1 - np.where(y == 1, p, 1 - p) / np.sqrt(p**2 + (1 - p) ** 2),
    "threshold 0.2": by_threshold(0.2),
    "threshold 0.5": by_threshold(0.5),
    "threshold 0.9": by_threshold(0.9),
}


def independent(rng, x, _):
    return rng.random() < x**2


def contrary(_rng, _x, mean):
    """Against what is announced; the coin stays hidden."""
    return mean < 0.5


def switching(_rng, x, mean):
    """Close to the threshold, so that a best response is worth little less than the other."""
    return mean < 0.2 + 0.6 * (x > 0.5)


def played(nature, seed):
    rng = np.random.default_rng(seed)
    beater = on.ProperCalibeater(cells=CELLS, rng=seed)
    x, predictions, y = rng.random(ROUNDS), np.empty(ROUNDS), np.empty(ROUNDS)
    for t in range(ROUNDS):
        y[t] = nature(rng, x[t], beater.forecast(x[t]).mean)
        predictions[t] = beater.predict_one(x[t])
        beater.learn_one(x[t], int(y[t]))
    return x, predictions, y, beater


@pytest.mark.parametrize("nature", [independent, contrary, switching])
def test_no_loss_exceeds_that_of_recalibration_in_hindsight_by_more_than_promised(nature):
    regrets = {name: [] for name in LOSSES}
    for seed in range(GAMES):
        x, predictions, y, beater = played(nature, seed)
        cell = np.minimum((x * CELLS).astype(int), CELLS - 1)
        best = (np.bincount(cell, y) / np.bincount(cell))[cell]
        for name, loss in LOSSES.items():
            regrets[name].append(float(np.sum(loss(predictions, y) - loss(best, y))))
        assert beater.rounds == ROUNDS
        assert beater.regret_bound <= 3 * np.sqrt(2 * CELLS * ROUNDS) + 1e-9
    for name, found in regrets.items():
        assert np.mean(found) <= beater.regret_bound, name
    assert max(np.mean(found) for found in regrets.values()) > 0


def test_a_cell_is_a_u_calibrated_forecaster_of_its_own():
    y = np.random.default_rng(1).integers(0, 2, 50)
    alone = on.UCalibratedForecaster(rng=7)
    predictions = []
    for outcome in y:
        predictions.append(alone.predict())
        alone.update(int(outcome))
    assert on.ProperCalibeater(cells=1, rng=7).run(y, np.full(50, 0.3)).tolist() == predictions


def test_it_beats_a_model_that_is_too_sure():
    rng = np.random.default_rng(2)
    x = rng.choice([0.05, 0.95], 4000)
    y = rng.random(4000) < 0.5 + 0.1 * np.sign(x - 0.5)
    predictions = on.ProperCalibeater(rng=0).run(y, x)
    assert np.mean((predictions - y) ** 2) < 0.26
    assert np.mean((x - y) ** 2) > 0.36


def test_outcomes_that_come_late_are_refused_and_wrong_numbers_too():
    beater = on.ProperCalibeater(cells=2, rng=0)
    first = beater.predict_one(0.1)
    assert beater.predict_one(0.2) == first
    with pytest.raises(InvalidForecastsError, match="before the next prediction"):
        beater.predict_one(0.9)
    beater.learn_one(0.1, 1)
    beater.predict_one(0.9)
    with pytest.raises(InvalidForecastsError, match="0 or 1"):
        beater.learn_one(0.9, 2)
    beater.learn_one(0.9, 0)
    assert beater.rounds == 2
    with pytest.raises(InvalidOptionError, match="x must be in"):
        beater.predict_one(1.5)
    with pytest.raises(InvalidOptionError, match="cells"):
        on.ProperCalibeater(cells=0)
    assert repr(beater) == "ProperCalibeater(cells=2, rounds=2)"


def rival_potential(grid, past):
    """2 (K + 1) e^Z of past triples of rival, prediction and outcome."""
    z = sum(
        RIVAL_SCALE * ((m - p) * (y - p) - abs(m - p) / (2 * grid)) - (RIVAL_SCALE * (m - p)) ** 2
        for m, p, y in past
    )
    return 2 * (grid + 1) * math.exp(z)


def test_the_inequality_behind_the_potentials():
    """e^(x - s^2) <= 1 + x for |x| <= s (1 + 1/(2K)), s <= 1/2, K >= 5: its ends, by concavity."""
    s = np.linspace(0, 0.5, 5001)
    for x in (1.1 * s, -1.1 * s):
        assert (x - s**2 <= np.log1p(x) + 1e-15).all()


@universal
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), max_size=25),
    st.integers(5, 9),
    st.integers(0, 2**32 - 1),
)
def test_all_potentials_together_are_a_supermartingale(rounds, grid, seed):
    """Whatever the rival says and whatever the outcome; at first they sum to 4 (K + 1)."""
    coin = np.random.default_rng(seed)
    forecaster = RivalledForecaster(60, grid=grid)

    def potential(triples):
        pairs = [(p, y) for _, p, y in triples]
        points = by_definition.decision_potential(grid, (0.5, 0.25, 0.125), pairs)
        return points + rival_potential(grid, triples)

    past = []
    assert potential(past) == pytest.approx(4 * (grid + 1))
    for eighth, y in rounds:
        rival, before = eighth / 8, potential(past)
        announced = forecaster.against(rival)
        for outcome in (0, 1):
            after = sum(c * potential([*past, (rival, p, outcome)]) for p, c in announced.atoms)
            assert after <= before * (1 + 1e-12)
        past.append((rival, forecaster.predict(coin), y))
        forecaster.update(y)
    z = math.log(rival_potential(grid, past) / (2 * (grid + 1)))
    regret = sum((p - y) ** 2 - (m - y) ** 2 for m, p, y in past)
    slack = len(past) / (4 * grid**2 * (1 - 2 * RIVAL_SCALE))
    assert regret <= 2 * z / RIVAL_SCALE + slack + 1e-9  # on every run, before any expectation


def beaten(nature, seed, horizon, rounds=ROUNDS):
    rng = np.random.default_rng(seed)
    beater = on.Calibeater(cells=CELLS, horizon=horizon, rng=seed)
    x, predictions, y = rng.random(rounds), np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        y[t] = nature(rng, x[t], beater.forecast(x[t]).mean)
        predictions[t] = beater.predict_one(x[t])
        beater.learn_one(x[t], int(y[t]))
    return x, predictions, y, beater


@pytest.mark.parametrize("horizon", [1000, None])
@pytest.mark.parametrize("nature", [independent, contrary, switching])
def test_a_calibeater_keeps_both_promises_at_once(nature, horizon):
    regrets, losses = [], []
    for seed in range(6):
        x, predictions, y, beater = beaten(nature, seed, horizon, 1000)
        cell = np.minimum((x * CELLS).astype(int), CELLS - 1)
        best = (np.bincount(cell, y) / np.bincount(cell))[cell]
        regrets.append(float(np.sum((predictions - y) ** 2 - (best - y) ** 2)))
        losses.append(1000 * float(cal.calibration_decision_loss(y, predictions)))
        square = float(cal.exact_calibration_error(y, predictions, order=2)) ** 2
        assert 1000 * square <= losses[-1] + 1e-9
    assert np.mean(regrets) <= beater.regret_bound
    assert np.mean(losses) <= beater.calibration_bound <= 1000
    harmonic = CELLS * (1 + math.log(1000))
    assert beater.regret_bound <= harmonic + 5 * (6 * math.log(2) + 3)


@universal
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=60))
def test_the_rival_is_close_to_recalibration_in_hindsight(rows):
    """On every sequence, and the bound of the regret is made of it."""
    beater, rival = on.Calibeater(cells=3, rng=0), []
    for eighth, y in rows:
        beater.forecast(eighth / 8)
        rival.append(beater._forecaster.rival)
        beater.learn_one(eighth / 8, y)
    cell = np.array([min(int(eighth / 8 * 3), 2) for eighth, _ in rows])
    y = np.array([y for _, y in rows])
    best = (np.bincount(cell, y) / np.maximum(np.bincount(cell), 1))[cell]
    regret = float(np.sum((np.array(rival) - y) ** 2 - (best - y) ** 2))
    assert regret <= beater.regret_bound - beater._forecaster.rival_bound(len(rows)) + 1e-9


def test_a_calibeater_grows_with_the_logarithm_of_the_rounds():
    bounds = []
    for rounds in (10**4, 10**8):
        beater = on.Calibeater(cells=1, horizon=rounds)
        bounds.append(beater._forecaster.rival_bound(rounds))
    assert bounds[0] < 6.1
    assert bounds[1] < 8
    anew = on.Calibeater()._forecaster
    assert anew.rival_bound(10**8) < 12 * math.log(10**8)


def test_a_calibeater_refuses_what_makes_no_sense():
    beater = on.Calibeater(cells=2, horizon=4, rng=0)
    assert beater.regret_bound == beater.calibration_bound == beater.rounds == 0
    first = beater.predict_one(0.1)
    assert beater.predict_one(0.2) == first
    for call in (beater.predict_one, beater.forecast):
        with pytest.raises(InvalidForecastsError, match="before the next prediction"):
            call(0.9)
    with pytest.raises(InvalidForecastsError, match="0 or 1"):
        beater.learn_one(0.1, 2)
    beater.learn_one(0.1, 1)
    assert beater.run([1, 0, 1], [0.1, 0.9, 0.4]).shape == (3,)
    assert repr(beater) == "Calibeater(cells=2, rounds=4)"
    with pytest.raises(InvalidForecastsError, match="made for 4 rounds"):
        beater.predict_one(0.9)
    for call in (lambda: on.Calibeater(cells=0), lambda: on.Calibeater(horizon=0)):
        with pytest.raises(InvalidOptionError, match=r"cells|horizon"):
            call()
    with pytest.raises(InvalidOptionError, match="x must be in"):
        on.Calibeater().predict_one(1.5)

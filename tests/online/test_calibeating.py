"""Proper calibeating: the promise in play, for every loss, against natures that know the past."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant.online as on
from calibrant.errors import InvalidForecastsError, InvalidOptionError

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
    x, said, y = rng.random(ROUNDS), np.empty(ROUNDS), np.empty(ROUNDS)
    for t in range(ROUNDS):
        y[t] = nature(rng, x[t], beater.forecast(x[t]).mean)
        said[t] = beater.predict_one(x[t])
        beater.learn_one(x[t], int(y[t]))
    return x, said, y, beater


@pytest.mark.parametrize("nature", [independent, contrary, switching])
def test_no_loss_exceeds_that_of_recalibration_in_hindsight_by_more_than_promised(nature):
    regrets = {name: [] for name in LOSSES}
    for seed in range(GAMES):
        x, said, y, beater = played(nature, seed)
        cell = np.minimum((x * CELLS).astype(int), CELLS - 1)
        best = (np.bincount(cell, y) / np.bincount(cell))[cell]
        for name, loss in LOSSES.items():
            regrets[name].append(float(np.sum(loss(said, y) - loss(best, y))))
        assert beater.rounds == ROUNDS
        assert beater.regret_bound <= 3 * np.sqrt(2 * CELLS * ROUNDS) + 1e-9
    for name, found in regrets.items():
        assert np.mean(found) <= beater.regret_bound, name
    assert max(np.mean(found) for found in regrets.values()) > 0


def test_a_cell_is_a_u_calibrated_forecaster_of_its_own():
    y = np.random.default_rng(1).integers(0, 2, 50)
    alone = on.UCalibratedForecaster(rng=7)
    said = []
    for outcome in y:
        said.append(alone.predict())
        alone.update(int(outcome))
    assert on.ProperCalibeater(cells=1, rng=7).run(y, np.full(50, 0.3)).tolist() == said


def test_it_beats_a_model_that_is_too_sure():
    rng = np.random.default_rng(2)
    x = rng.choice([0.05, 0.95], 4000)
    y = rng.random(4000) < 0.5 + 0.1 * np.sign(x - 0.5)
    said = on.ProperCalibeater(rng=0).run(y, x)
    assert np.mean((said - y) ** 2) < 0.26
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

"""Forecasters of the user's own play like ours, and are refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant.online as on
from calibrant.errors import InvalidForecastsError, InvalidOptionError


class Laplace:
    """The rule of succession."""

    def __init__(self):
        self.ones, self.rounds = 0, 0

    def forecast(self):
        return (self.ones + 1) / (self.rounds + 2)

    def learn(self, prediction, outcome):
        assert prediction == self.forecast()
        self.ones += outcome
        self.rounds += 1


class Announces:
    """Says what it was told to say."""

    def __init__(self, announced, **more):
        self.announced = announced
        self.__dict__.update(more)

    def forecast(self):
        return self.announced

    def learn(self, prediction, outcome):
        pass


def test_ten_lines_play_against_every_nature():
    for make in on.NATURES.values():
        game = on.simulate(Laplace(), make(), 200, rng=0)
        ones = np.concatenate([[0], game.outcomes.cumsum()[:-1]])
        assert np.array_equal(game.predictions, (ones + 1) / (np.arange(200) + 2))
        assert game.forecaster.own.rounds == 200
        assert game.errors()
        assert game.distance(50)[0] >= 0
        assert game.over_time(points=3).bound is None
    assert str(game).startswith("Laplace() against")


def test_an_announced_distribution_is_drawn_from_and_seen_by_nature():
    seen = []

    def nature(history, forecast):
        seen.append(forecast)
        return 0

    game = on.simulate(Announces({0.75: 0.5, 0.25: 0.5, 0.1: 0.0}), nature, 400, rng=1)
    assert seen[0] == on.Distribution((0.25, 0.75), (0.5, 0.5))
    assert set(game.predictions) == {0.25, 0.75}
    assert 150 < (game.predictions == 0.25).sum() < 250
    same = on.simulate(Announces(on.Distribution((0.25, 0.75), (0.5, 0.5))), nature, 400, rng=1)
    assert np.array_equal(same.predictions, game.predictions)


def test_classes_horizon_and_guarantee_are_taken_over():
    game = on.simulate(
        Announces((0.2, 0.3, 0.5), classes=3), on.Categorical([0.2, 0.3, 0.5]), 50, rng=0
    )
    assert game.predictions.shape == (50, 3)
    with pytest.raises(InvalidOptionError, match="horizon"):
        on.simulate(Announces(0.5, horizon=5), on.Bernoulli(), 6)
    promise = on.DefensiveForecaster.guarantee
    promising = Announces(0.5, guarantee=promise, bound=lambda rounds: 7.0 + rounds)
    game = on.simulate(promising, on.Bernoulli(), 30, rng=0)
    assert game.over_time(points=2).bound[-1] == 37
    assert promise.statement in str(game)


def test_rates_take_a_forecaster_of_ones_own():
    found = on.rates(
        {"laplace": lambda horizon: Laplace()},
        ["coins"],
        horizons=[64, 128, 256],
        repeats=2,
        measure="exact_calibration_error",
        rng=0,
    )
    assert found.rows[0].proven is None
    assert found.rows[0].errors.shape == (3, 2)


@pytest.mark.parametrize(
    "announced",
    [1.5, -0.1, float("nan"), "high", None, {0.2: 0.4}, {2.0: 1.0}, {0.2: 1.5, 0.3: -0.5}, {}],
    ids=str,
)
def test_what_is_no_forecast_is_refused_and_the_round_is_named(announced):
    with pytest.raises(InvalidForecastsError, match="in round 0"):
        on.simulate(Announces(announced), on.Bernoulli(), 5)


@pytest.mark.parametrize("bad", [(0.5, 0.5), (0.2, 0.2, 0.2), 0.3], ids=str)
def test_chances_of_classes_are_checked(bad):
    with pytest.raises(InvalidForecastsError, match="3 chances that sum to one"):
        on.simulate(Announces(bad, classes=3), on.Categorical([0.2, 0.3, 0.5]), 5)


def test_who_cannot_play_is_told_what_is_missing():
    for nobody in (object(), 0.5, None):
        with pytest.raises(InvalidOptionError, match="forecast\\(\\) and learn"):
            on.simulate(nobody, on.Bernoulli(), 5)
    with pytest.raises(InvalidOptionError, match="a class must be called"):
        on.simulate(Laplace, on.Bernoulli(), 5)


def test_it_cannot_be_stored():
    game = on.simulate(Laplace(), on.Bernoulli(), 5, rng=0)
    with pytest.raises(InvalidOptionError, match="cannot be stored"):
        game.forecaster.to_json()
    with pytest.raises(InvalidOptionError, match="guarantee"):
        game.forecaster.bound(5)

"""Lower bounds with constants: exact by enumeration, and no forecaster below them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import calibrant as cal
import calibrant.online as on
from calibrant.online.least import mean_deviation
from oracles.players import FORECASTERS

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
MEASURES = ("u_calibration_error", "calibration_decision_loss", "exact_calibration_error")


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 0.73, 1.0])
@pytest.mark.parametrize("rounds", [1, 2, 7, 10])
def test_mean_deviation_by_enumeration(rounds, chance):
    expected = sum(
        math.comb(rounds, s) * chance**s * (1 - chance) ** (rounds - s) * abs(s - rounds * chance)
        for s in range(rounds + 1)
    )
    assert mean_deviation(rounds, chance) == pytest.approx(expected, abs=1e-12)


def test_golden_values_and_the_root_law():
    assert on.least_error("u_calibration_error", 1024) == pytest.approx(12.7624, abs=1e-3)
    assert on.least_error("exact_calibration_error", 1024) == pytest.approx(6.3812, abs=1e-3)
    ratio = on.least_error("calibration_decision_loss", 10**8) / math.sqrt(10**8 / (2 * math.pi))
    assert ratio == pytest.approx(1, abs=1e-6)
    assert on.Bernoulli(0.5).least(1024, "smooth_calibration_error") is None
    assert on.Markov().least(1024, "exact_calibration_error") is None


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.9])
def test_the_bound_is_the_regret_of_the_task_that_it_names(chance):
    """Enumerate six rounds: two actions, equally good at the chance, payoffs in [0, 1]."""
    rounds, top = 6, 1 / max(chance, 1 - chance)
    right_on_1, right_on_0 = top * (1 - chance), top * chance
    assert max(right_on_1, right_on_0) == pytest.approx(1)
    regret = 0.0
    for outcomes in product((0, 1), repeat=rounds):
        ones = sum(outcomes)
        weight = chance**ones * (1 - chance) ** (rounds - ones)
        best = max(right_on_1 * ones, right_on_0 * (rounds - ones))
        regret += weight * (best - rounds * right_on_1 * chance)
    assert on.least_error("u_calibration_error", rounds, chance) == pytest.approx(regret)


@pytest.mark.parametrize("chance", [0.5, 0.2])
@pytest.mark.parametrize("name", FORECASTERS)
def test_no_forecaster_gets_below_the_bound(name, chance):
    """The mean over 60 games, within four standard errors."""
    rounds, games = 256, 60
    nature = on.Bernoulli(chance)
    errors = {measure: [] for measure in MEASURES}
    for seed in range(games):
        game = on.simulate(FORECASTERS[name](rounds), nature, rounds, rng=seed)
        for measure, error in game.errors(MEASURES).items():
            errors[measure].append(error)
    for measure, found in errors.items():
        half_width = 4 * np.std(found, ddof=1) / math.sqrt(games)
        assert np.mean(found) + half_width >= nature.least(rounds, measure), measure


@pytest.mark.parametrize("chance", [0.3, 0.5])
def test_who_knows_the_chance_expects_little_more_than_the_bound(chance):
    """So the bound of U-calibration cannot be raised much."""
    rounds, games = 512, 400
    found = [
        on.simulate(on.ConstantForecaster(chance), on.Bernoulli(chance), rounds, rng=seed).errors(
            ["u_calibration_error"]
        )["u_calibration_error"]
        for seed in range(games)
    ]
    least = on.least_error("u_calibration_error", rounds, chance)
    half_width = 4 * np.std(found, ddof=1) / math.sqrt(games)
    assert least - half_width <= np.mean(found) <= 2.2 * least


def test_rates_print_the_bound_where_it_applies():
    found = on.rates(["foster"], ["coins", "breaker"], horizons=[64, 128, 256], repeats=4, rng=0)
    tossing, breaker = found.rows
    assert tossing.least == on.least_error("exact_calibration_error", 256)
    assert breaker.least is None
    assert tossing.errors[-1].mean() >= tossing.least
    assert f"{tossing.least:.1f}" in str(found)
    assert found.frame()["least"] == [tossing.least, None]
    assert cal.online.least_error is on.least_error

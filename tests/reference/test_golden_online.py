"""Golden traces of the online forecasters, worked out by hand."""

from __future__ import annotations

import pytest

import calibrant.online as on


def trace(forecaster: on.Forecaster, outcomes: list[int]) -> list[dict]:
    """Distributions announced when the coin always gives the first prediction."""

    class First:
        def random(self):
            return 0.0

    announced = []
    for y in outcomes:
        announced.append(dict(forecaster.forecast().atoms))
        forecaster.predict(First())
        forecaster.update(y)
    return announced


def said(forecaster: on.Forecaster, outcomes: list[int]) -> list[float]:
    return [next(iter(atoms)) for atoms in trace(forecaster, outcomes)]


def test_foster():
    assert trace(on.FosterForecaster(grid=2), [1, 1, 0, 1]) == [
        {0.0: 1},
        {0.5: 1},
        {1.0: 1},
        {0.5: 0.75, 1.0: 0.25},
    ]


def test_almost_one_step_ahead():
    forecaster = on.AlmostOneStepAhead(grid=2)
    assert said(forecaster, [1, 1, 0, 1, 0, 0]) == [0, 0.5, 0.5, 0, 0.5, 0]
    assert forecaster._tallies == [0, 0, 0]


def test_almost_one_step_ahead_midpoints():
    forecaster = on.AlmostOneStepAhead(grid=2, midpoint=True)
    assert said(forecaster, [1, 1, 0, 1, 0, 0]) == [0.25, 0.75, 0.75, 0.25, 0.75, 0.25]


def test_kakade_foster():
    forecaster = on.KakadeFosterForecaster(grid=2)
    assert said(forecaster, [1, 1, 0, 1]) == [0, 1, 1, 0.5]
    assert forecaster._sums == [1, 0.5, -1]


def test_defensive():
    assert said(on.DefensiveForecaster(), [1, 0, 0, 1]) == [0.5, 1, 0, 0]


def test_defensive_bound_is_almost_attained():
    """T = 400 against the deterministic breaker: close below the root of the squared residuals."""
    game = on.simulate(on.DefensiveForecaster(), on.DeterministicBreaker(), 400)
    measured = game.errors(["kernel_calibration_error"])["kernel_calibration_error"]
    proven = float(((game.outcomes - game.predictions) ** 2).sum() ** 0.5)
    assert proven == pytest.approx(10.28, abs=0.3)
    assert 0.9 * proven < measured <= proven


def test_grids_for_a_horizon():
    assert on.AlmostOneStepAhead(10_000)._grid == 100
    assert on.AlmostOneStepAhead(10_001)._grid == 101
    assert on.AlmostOneStepAhead(10_000, midpoint=True)._grid == 71
    assert on.FosterForecaster(8000)._grid == 20
    assert on.KakadeFosterForecaster(8000)._grid == 20


def test_tree():
    announced = trace(on.TreeForecaster(8, branching=2), [1, 0, 1, 1, 0, 1, 1, 0])
    third = pytest.approx(1 / 3)
    both = pytest.approx(2 / 3)
    assert announced == [
        {0.5: 1},
        {0.5: both, 1.0: third},
        {0.5: 1},
        {0.5: both, 1.0: third},
        {0.5: both, 0.75: third},
        {0.0: third, 0.5: third, 0.75: third},
        {0.5: both, 0.75: third},
        {0.5: third, 0.75: third, 1.0: third},
    ]


def test_u_calibrated_says_shares_of_noisy_counts():
    """With noise that is always 1 (as many classes as rounds) the counts are exact."""
    forecaster = on.UCalibratedForecaster(3, classes=3)
    for y in (2, 2, 0):
        assert sum(forecaster.predict()) == pytest.approx(1)
        forecaster.update(y)
    assert forecaster._counts == [1, 0, 2]

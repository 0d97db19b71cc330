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
    game = on.play(on.DefensiveForecaster(), on.DeterministicBreaker(), 400)
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

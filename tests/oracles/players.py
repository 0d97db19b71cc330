"""All forecasters and natures, for tests that hold for each of them."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np

import calibrant as cal
import calibrant.online as on

# Made for a horizon; None stands for none.
FORECASTERS: dict[str, Callable[[int | None], on.Forecaster]] = {
    "constant": lambda horizon: on.ConstantForecaster(0.4),
    "running mean": lambda horizon: on.RunningMeanForecaster(),
    "foster": on.FosterForecaster,
    "almost one step ahead": on.AlmostOneStepAhead,
    "midpoints": lambda horizon: on.AlmostOneStepAhead(horizon, midpoint=True),
    "kakade foster": on.KakadeFosterForecaster,
    "defensive": lambda horizon: on.DefensiveForecaster(),
    "decision": on.DecisionForecaster,
    "cutoff": on.CutoffForecaster,
    "perturbed leader": on.UCalibratedForecaster,
    "tree": lambda horizon: on.TreeForecaster(horizon or 4096),
}
PROMISING = {n: make for n, make in FORECASTERS.items() if make(100).guarantee is not None}
SURE = {n: make for n, make in PROMISING.items() if make(100).guarantee.surely}
DETERMINISTIC = {n: make for n, make in FORECASTERS.items() if not make(100).randomised}
NATURES: dict[str, Callable[[], object]] = {
    "fair coins": lambda: on.Bernoulli(0.5),
    "rare": lambda: on.Bernoulli(0.03),
    "drift": on.Drift,
    "markov": on.Markov,
    "alternating": lambda: lambda history, forecast: history.rounds % 2,
    "breaker": on.DeterministicBreaker,
    "reinforcer": on.BiasReinforcer,
    "early stopping": on.EarlyStopping,
    "signs": on.SignNature,
}


def measure_of(forecaster: on.Forecaster) -> Callable[[cal.Joint], float]:
    """The measure that a forecaster's promise is about, as a function of a Joint."""
    return cal.CATALOGUE[forecaster.guarantee.measure].function


@st.composite
def sequences(draw, max_size: int = 80) -> list[int]:
    """Outcomes in runs, so that long stretches of one outcome are as likely as quick changes."""
    runs = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), max_size=12))
    return [y for outcome, length in runs for y in [outcome] * length][:max_size]


def answer(forecaster: on.Forecaster, outcomes: list[int], coin=None) -> np.ndarray:
    """Predictions for given outcomes."""
    said = []
    for y in outcomes:
        said.append(forecaster.predict(coin))
        forecaster.update(y)
    return np.array(said)

"""Forecasters and natures by short names, for the command line and for tables of rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from calibrant.errors import InvalidOptionError, mention
from calibrant.online.almost_one_step import AlmostOneStepAhead
from calibrant.online.baselines import ConstantForecaster, RunningMeanForecaster
from calibrant.online.cutoff import CutoffForecaster
from calibrant.online.decision import DecisionForecaster
from calibrant.online.defensive import DefensiveForecaster
from calibrant.online.forecaster import Forecaster
from calibrant.online.foster import FosterForecaster
from calibrant.online.kakade_foster import KakadeFosterForecaster
from calibrant.online.natures import (
    Bernoulli,
    BiasReinforcer,
    DeterministicBreaker,
    Drift,
    EarlyStopping,
    Markov,
    Nature,
)
from calibrant.online.perturbed import UCalibratedForecaster
from calibrant.online.sign_nature import SignNature
from calibrant.online.tree import TreeForecaster

MakeForecaster = Callable[[int], Forecaster]
MakeNature = Callable[[], Nature]
Player = TypeVar("Player")


def _midpoints(horizon: int) -> Forecaster:
    return AlmostOneStepAhead(horizon, midpoint=True)


def _defensive(horizon: int) -> Forecaster:
    del horizon
    return DefensiveForecaster()


def _constant(horizon: int) -> Forecaster:
    del horizon
    return ConstantForecaster()


def _running_mean(horizon: int) -> Forecaster:
    del horizon
    return RunningMeanForecaster()


FORECASTERS: Mapping[str, MakeForecaster] = {
    "almost-one-step": AlmostOneStepAhead,
    "midpoints": _midpoints,
    "defensive": _defensive,
    "kakade-foster": KakadeFosterForecaster,
    "foster": FosterForecaster,
    "decision": DecisionForecaster,
    "cutoff": CutoffForecaster,
    "perturbed-leader": UCalibratedForecaster,
    "tree": TreeForecaster,
    "running-mean": _running_mean,
    "constant": _constant,
}
"""Forecasters of two outcomes, made for a horizon."""

NATURES: Mapping[str, MakeNature] = {
    "coins": Bernoulli,
    "rare": lambda: Bernoulli(0.05),
    "drift": Drift,
    "markov": Markov,
    "breaker": DeterministicBreaker,
    "reinforcer": BiasReinforcer,
    "early-stopping": EarlyStopping,
    "signs": SignNature,
}
"""Natures with their usual settings."""


def choose(name: str, options: Mapping[str, Player], what: str) -> Player:
    """Look a player up by its short name."""
    if name not in options:
        raise InvalidOptionError(
            f"{mention(what)} must be known", repr(name), f"one of {', '.join(options)}"
        )
    return options[name]

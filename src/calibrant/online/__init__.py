"""Forecasts that stay calibrated on any sequence: forecasters, natures, games."""

from calibrant.online.almost_one_step import AlmostOneStepAhead
from calibrant.online.baselines import ConstantForecaster, RunningMeanForecaster
from calibrant.online.defensive import DefensiveForecaster
from calibrant.online.distance import distance_of_sequence
from calibrant.online.distribution import Distribution
from calibrant.online.forecaster import Forecaster, Guarantee
from calibrant.online.foster import FosterForecaster
from calibrant.online.game import ErrorsOverTime, Game, play
from calibrant.online.kakade_foster import KakadeFosterForecaster
from calibrant.online.natures import (
    Bernoulli,
    BiasReinforcer,
    Categorical,
    DeterministicBreaker,
    Drift,
    EarlyStopping,
    History,
    Markov,
    Nature,
    ObliviousNature,
    Replay,
)

__all__ = [
    "AlmostOneStepAhead",
    "Bernoulli",
    "BiasReinforcer",
    "Categorical",
    "ConstantForecaster",
    "DefensiveForecaster",
    "DeterministicBreaker",
    "Distribution",
    "Drift",
    "EarlyStopping",
    "ErrorsOverTime",
    "Forecaster",
    "FosterForecaster",
    "Game",
    "Guarantee",
    "History",
    "KakadeFosterForecaster",
    "Markov",
    "Nature",
    "ObliviousNature",
    "Replay",
    "RunningMeanForecaster",
    "distance_of_sequence",
    "play",
]

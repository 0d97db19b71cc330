"""Forecasts that stay calibrated on any sequence: forecasters, natures, games."""

from calibrant.online.almost_one_step import AlmostOneStepAhead
from calibrant.online.baselines import ConstantForecaster, RunningMeanForecaster
from calibrant.online.calibeating import Calibeater, ProperCalibeater
from calibrant.online.conditional_mean import ConditionalMeanForecaster
from calibrant.online.cutoff import CutoffForecaster
from calibrant.online.decision import DecisionForecaster
from calibrant.online.defensive import DefensiveForecaster
from calibrant.online.distribution import Distribution
from calibrant.online.forecaster import Forecaster, Guarantee
from calibrant.online.foster import FosterForecaster
from calibrant.online.game import ErrorsOverTime, Game, simulate
from calibrant.online.kakade_foster import KakadeFosterForecaster
from calibrant.online.least import least_error
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
from calibrant.online.own import OwnForecaster
from calibrant.online.perturbed import PerturbedCounts, UCalibratedForecaster
from calibrant.online.players import FORECASTERS, NATURES, choose as choose
from calibrant.online.rates import TABLE_1, Rate, Rates, rates
from calibrant.online.sign_nature import SignNature
from calibrant.online.sign_players import MiddlePointer, RandomPointer, RecursiveLabeler
from calibrant.online.signs import SignGame, SignPreservation
from calibrant.online.stream import Key as Key, StreamRecalibrator
from calibrant.online.tree import TreeForecaster

__all__ = [
    "FORECASTERS",
    "NATURES",
    "TABLE_1",
    "AlmostOneStepAhead",
    "Bernoulli",
    "BiasReinforcer",
    "Calibeater",
    "Categorical",
    "ConditionalMeanForecaster",
    "ConstantForecaster",
    "CutoffForecaster",
    "DecisionForecaster",
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
    "MiddlePointer",
    "Nature",
    "ObliviousNature",
    "OwnForecaster",
    "PerturbedCounts",
    "ProperCalibeater",
    "RandomPointer",
    "Rate",
    "Rates",
    "RecursiveLabeler",
    "Replay",
    "RunningMeanForecaster",
    "SignGame",
    "SignNature",
    "SignPreservation",
    "StreamRecalibrator",
    "TreeForecaster",
    "UCalibratedForecaster",
    "least_error",
    "rates",
    "simulate",
]

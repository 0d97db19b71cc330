"""Forecasts of real outcomes: means, quantiles, intervals, whole distributions, survival."""

from calibrant.kinds import Expectile, Interval, Mean, Quantile
from calibrant.real.betting_test import BettingTest, betting_test
from calibrant.real.decomposition import LossDecomposition, loss_decomposition
from calibrant.real.distributions import PredictiveDistributions
from calibrant.real.maps import RealMap, load
from calibrant.real.monitor import RealMonitor
from calibrant.real.pit import PitHistogram, PitTest
from calibrant.real.repair import LossSaved, RealRepair, repair
from calibrant.real.risk_bins import ObservedRisk, RiskBin, observed_risk
from calibrant.real.survival import (
    Survival as Survival,
    SurvivalForecasts,
    read_survival as read_survival,
)

__all__ = [
    "BettingTest",
    "Expectile",
    "Interval",
    "LossDecomposition",
    "LossSaved",
    "Mean",
    "ObservedRisk",
    "PitHistogram",
    "PitTest",
    "PredictiveDistributions",
    "Quantile",
    "RealMap",
    "RealMonitor",
    "RealRepair",
    "RiskBin",
    "SurvivalForecasts",
    "betting_test",
    "load",
    "loss_decomposition",
    "observed_risk",
    "repair",
]

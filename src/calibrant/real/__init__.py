"""Forecasts of real outcomes: means, quantiles, intervals, whole distributions, survival."""

from calibrant.kinds import Expectile, Interval, Mean, Quantile
from calibrant.real.decomposition import LossDecomposition, loss_decomposition
from calibrant.real.distributions import PredictiveDistributions
from calibrant.real.maps import RealMap, load
from calibrant.real.pit import PitHistogram, PitTest
from calibrant.real.repair import LossSaved, RealRepair, repair
from calibrant.real.risk_bins import ObservedRisk, RiskBin, observed_risk
from calibrant.real.survival import (
    Survival as Survival,
    SurvivalForecasts,
    read_survival as read_survival,
)

__all__ = [
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
    "RealRepair",
    "RiskBin",
    "SurvivalForecasts",
    "load",
    "loss_decomposition",
    "observed_risk",
    "repair",
]

"""Forecasts of real outcomes: means, quantiles, intervals, whole distributions, survival."""

from calibrant.real.distributions import PredictiveDistributions
from calibrant.real.forecasts import RealForecasts
from calibrant.real.measures import MEASURES, calibration_error
from calibrant.real.pit import PitHistogram, PitTest
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.risk_bins import ObservedRisk, RiskBin, observed_risk
from calibrant.real.survival import SurvivalForecasts

__all__ = [
    "MEASURES",
    "Coverage",
    "Expectile",
    "Mean",
    "ObservedRisk",
    "PitHistogram",
    "PitTest",
    "PredictiveDistributions",
    "Quantile",
    "RealForecasts",
    "RiskBin",
    "SurvivalForecasts",
    "calibration_error",
    "observed_risk",
]

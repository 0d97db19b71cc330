"""Forecasts of real outcomes: means, quantiles, expectiles, prediction intervals."""

from calibrant.real.forecasts import RealForecasts
from calibrant.real.measures import MEASURES, calibration_error
from calibrant.real.observed_risk import ObservedRisk, RiskBin, observed_risk
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.survival import SurvivalForecasts

__all__ = [
    "MEASURES",
    "Coverage",
    "Expectile",
    "Mean",
    "ObservedRisk",
    "Quantile",
    "RealForecasts",
    "RiskBin",
    "SurvivalForecasts",
    "calibration_error",
    "observed_risk",
]

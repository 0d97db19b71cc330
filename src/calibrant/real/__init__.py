"""Forecasts of real outcomes: means, quantiles, expectiles, prediction intervals."""

from calibrant.real.comparison import RealComparison, compare
from calibrant.real.decomposition import LossDecomposition, loss_decomposition
from calibrant.real.forecasts import RealForecasts
from calibrant.real.maps import RealMap, load
from calibrant.real.measures import MEASURES, calibration_error
from calibrant.real.monitor import BettingTest, RealMonitor, betting_test
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.repair import LossSaved, RealRepair, repair

__all__ = [
    "MEASURES",
    "BettingTest",
    "Coverage",
    "Expectile",
    "LossDecomposition",
    "LossSaved",
    "Mean",
    "Quantile",
    "RealComparison",
    "RealForecasts",
    "RealMap",
    "RealMonitor",
    "RealRepair",
    "betting_test",
    "calibration_error",
    "compare",
    "load",
    "loss_decomposition",
    "repair",
]

"""Forecasts of real outcomes: means, quantiles, intervals, whole distributions, survival."""

from calibrant.real.betting_test import BettingTest, betting_test
from calibrant.real.comparison import RealComparison, compare
from calibrant.real.decomposition import LossDecomposition, loss_decomposition
from calibrant.real.diagram import Dot as Dot
from calibrant.real.distributions import PredictiveDistributions
from calibrant.real.forecasts import RealForecasts
from calibrant.real.groups import RealGroup, RealGroups
from calibrant.real.losses import loss_name as loss_name
from calibrant.real.maps import RealMap, load
from calibrant.real.measures import MEASURES, calibration_error
from calibrant.real.monitor import RealMonitor
from calibrant.real.pit import PitHistogram, PitTest
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.reading import (
    Ask as Ask,
    RealSource as RealSource,
    Survival as Survival,
    read_real as read_real,
    read_survival as read_survival,
    refuse_two_outcome_options as refuse_two_outcome_options,
)
from calibrant.real.regions import RealRegion, promised_and_observed as promised_and_observed
from calibrant.real.repair import LossSaved, RealRepair, repair
from calibrant.real.risk_bins import ObservedRisk, RiskBin, observed_risk
from calibrant.real.segments import RealSegment
from calibrant.real.summary import RealSummary, summarise_real as summarise_real
from calibrant.real.survival import SurvivalForecasts

__all__ = [
    "MEASURES",
    "BettingTest",
    "Coverage",
    "Expectile",
    "LossDecomposition",
    "LossSaved",
    "Mean",
    "ObservedRisk",
    "PitHistogram",
    "PitTest",
    "PredictiveDistributions",
    "Quantile",
    "RealComparison",
    "RealForecasts",
    "RealGroup",
    "RealGroups",
    "RealMap",
    "RealMonitor",
    "RealRegion",
    "RealRepair",
    "RealSegment",
    "RealSummary",
    "RiskBin",
    "SurvivalForecasts",
    "betting_test",
    "calibration_error",
    "compare",
    "load",
    "loss_decomposition",
    "observed_risk",
    "repair",
]

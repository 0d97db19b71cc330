"""Forecasts that are whole distributions: ensembles, quantiles, distribution functions."""

from calibrant.distributions.forecasts import PredictiveDistributions
from calibrant.distributions.pit import PitHistogram, PitTest

__all__ = ["PitHistogram", "PitTest", "PredictiveDistributions"]

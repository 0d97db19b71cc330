"""Pooling: a Joint to a coarser Joint, with the function of predictions that does it."""

from calibrant.binning.bins import (
    bins_between,
    pooling_at as pooling_at,
    quantile_bins,
    uniform_bins,
)
from calibrant.binning.gathering import cells_of_rows as cells_of_rows, gathered as gathered
from calibrant.binning.monotone import MonotonePools as MonotonePools, isotonic
from calibrant.binning.pools import Pooling

__all__ = ["Pooling", "bins_between", "isotonic", "quantile_bins", "uniform_bins"]

"""Pooling: a Joint to a coarser Joint, with the map of predictions that does it."""

from calibrant.pooling.bins import (
    bins_between,
    pooling_at as pooling_at,
    quantile_bins,
    uniform_bins,
)
from calibrant.pooling.gathering import cells_of_rows as cells_of_rows, gathered as gathered
from calibrant.pooling.monotone import MonotonePools as MonotonePools, isotonic
from calibrant.pooling.pools import Pooling

__all__ = ["Pooling", "bins_between", "isotonic", "quantile_bins", "uniform_bins"]

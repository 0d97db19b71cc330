"""Data on their way in: how rows are ordered and split."""

from calibrant.data.splits import (
    EARLIEST,
    canonical_order,
    deal_clusters,
    deal_folds,
    deal_in_time,
    dealt,
    hold_out,
)

__all__ = [
    "EARLIEST",
    "canonical_order",
    "deal_clusters",
    "deal_folds",
    "deal_in_time",
    "dealt",
    "hold_out",
]

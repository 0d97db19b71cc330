"""Intervals of weighted means, by row or by cluster."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.inference import widening


def mean_variance(share: Floats, influence: Floats, cluster: Indices | None) -> tuple[float, int]:
    """Variance of a weighted mean, and the independent parts that it was found from.

    `share` adds up to one; `influence` is what each row differs by from the mean. Infinite for a
    single part.
    """
    scores = share * influence
    if cluster is not None:
        scores = np.asarray(np.bincount(cluster, scores), dtype=np.float64)
    count = scores.size
    if count < 2:
        return np.inf, count
    return float(scores @ scores) * count / (count - 1), count


def mean_reach(
    share: Floats, influence: Floats, cluster: Indices | None, confidence: float
) -> float:
    """Half-width of Student's interval of a weighted mean.

    Parts of unequal weight count as many as equal ones with the same sum of squared shares.
    """
    from scipy.special import ndtri

    variance, count = mean_variance(share, influence, cluster)
    parts = share if cluster is None else np.asarray(np.bincount(cluster, share), np.float64)
    wide = widening(parts, 1 - confidence)
    if count < 2 or not np.isfinite(wide):
        return np.inf
    return float(wide * ndtri((1 + confidence) / 2) * np.sqrt(variance))

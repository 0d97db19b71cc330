"""Weighted means and their intervals, by row or by cluster."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.data.input import read_labels
from calibrant.data.rows import Rows
from calibrant.errors import InferenceRefusedError
from calibrant.inference.cases import cluster_codes, widening


def row_mean_and_half_width(
    rows: Rows, values: Floats, clusters: object, confidence: float
) -> tuple[float, float]:
    """Mean of one number a row, and how far it may lie from the population's."""
    cluster = None
    kept = rows.weights > 0
    if clusters is not None:
        code = cluster_codes(read_labels(clusters, "clusters", len(rows)))
        cluster = np.unique(code[kept], return_inverse=True)[1]
    part, used = rows.where(kept), values[kept]
    if len(part) < 2 or (cluster is not None and cluster.max() < 1):
        raise InferenceRefusedError(
            "an interval needs at least two rows or clusters with weight", "one"
        )
    mean = part.mean_of(used)
    share = part.weights / part.weights.sum()
    return mean, half_width_of_mean(share, used - mean, cluster, confidence)


def half_width_of_mean(
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
    # BLAS would start threads for so short a product.
    return float((scores * scores).sum()) * count / (count - 1), count

"""What was promised beside what was observed, range by range of the forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.binning import quantile_bins
from calibrant.data.input import read_labels
from calibrant.data.rows import Rows
from calibrant.inference.bands import clopper_pearson
from calibrant.inference.evidence import Evidence
from calibrant.inference.means import half_width_of_mean, mean_variance
from calibrant.measures.regions import Region, region_of_part

# Ranges of about equal weight, with at least so many rows each.
RANGES, ROWS_IN_A_RANGE = 12, 20
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ObservedRange:
    """A range of forecasts, and what was observed in it with its interval."""

    region: Region
    coordinate: float
    """Mean forecast, or mean width of the intervals."""
    low: float
    high: float
    """Interval of what was observed, for this range alone."""


def observed_ranges(
    forecasts: Rows, evidence: Evidence, confidence: float, clusters: object = None
) -> tuple[ObservedRange, ...]:
    """Cut the forecasts into ranges of about equal weight."""
    # A rounding error of the weights' sums must not cost a range.
    full = (1 + ROUNDING) / (evidence.unit * ROWS_IN_A_RANGE)
    count = int(np.clip(full, 1, RANGES))
    pools = quantile_bins(evidence.full_joint, count).pool_of(forecasts.position)
    labels = None if clusters is None else read_labels(clusters, "clusters", len(forecasts))
    weighing = forecasts.weights > 0
    found = []
    for pool in np.unique(pools[weighing]):
        rows = np.flatnonzero((pools == pool) & weighing)
        part = forecasts.where(rows)
        region = region_of_part(part)
        code = None if labels is None else np.unique(labels[rows], return_inverse=True)[1]
        low, high = observed_interval(part, region.outcome, confidence, code)
        found.append(ObservedRange(region, part.mean_of(part.coordinate), low, high))
    return tuple(found)


def observed_interval(
    part: Rows, observed: float, confidence: float, cluster: Indices | None
) -> tuple[float, float]:
    """Interval of what was observed: Clopper and Pearson's for shares, Student's for the others.

    Shares of rows that depend on each other count as so many rows as would vary alike.
    """
    share = part.weights / part.weights.sum()
    influence = _influence(part, observed)
    if part.kind.chance is not None:
        rows = 1 / float(share @ share)
        if cluster is not None:
            variance, _ = mean_variance(share, influence, cluster)
            whole = 1 / float(np.square(np.bincount(cluster, share)).sum())
            alike = observed * (1 - observed) / variance if variance > 0 else whole
            rows = float(np.clip(alike, min(whole, 1.0), rows))
        ends = clopper_pearson(np.array([observed * rows]), np.array([rows]), (1 - confidence) / 2)
        return float(ends[0][0]), float(ends[1][0])
    half_width = half_width_of_mean(share, influence, cluster, confidence)
    return observed - half_width, observed + half_width


def _influence(part: Rows, observed: float) -> Floats:
    """Return what each row adds to the error of what was observed."""
    kind = part.kind
    if kind.chance is not None:
        return kind.bets(part)[1] - observed
    residual = kind.residuals(np.full(len(part), observed), part.outcome)
    asymmetry = np.where(part.outcome <= observed, 1 - kind.side, kind.side)
    return np.asarray(residual / part.mean_of(2 * asymmetry))


def find_bias(evidence: Evidence, confidence: float) -> tuple[float, float, float]:
    """Mean residual with its interval, by row or by cluster: positive where forecasts are low."""
    kept = evidence.rows
    assert kept is not None  # noqa: S101  # the caller has rows
    share = kept.weights / kept.weights.sum()
    mean = float(share @ kept.residual)
    code = None if evidence.clusters is None else evidence.clusters.code
    level = kept.kind.chance
    if level is not None:  # a share, which may be 0 or 1
        low, high = observed_interval(kept, level - mean, confidence, code)
        return mean, level - high, level - low
    half_width = half_width_of_mean(share, kept.residual - mean, code, confidence)
    return mean, mean - half_width, mean + half_width

"""Interval calibration error: the bias of intervals of predictions plus their width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_tolerance
from calibrant._base.words import count_text
from calibrant.binning import Pooling, bins_between
from calibrant.joint import Joint
from calibrant.joint.sums import AnyRows
from calibrant.measures.binned import across_edges
from calibrant.measures.measurement import (
    Measurement,
    cell_bounds,
    largest_mean_error,
    read_source,
    rounding_settings,
)
from calibrant.measures.regions import region_sentence
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.witness import PartitionWitness

# Up to this many levels the search goes on until the minimum is exact.
FEW = 256
# Halvings of the width before the search; they only have to come near the best one.
MOST_HALVINGS = 20


def interval_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    edges: npt.ArrayLike | None = None,
    tolerance: float = 1e-4,
) -> Measurement:
    r"""Bias over intervals of predictions plus the width of the widest, for the best intervals.

    Smaller is better; 0 if and only if calibrated. What "binned ECE" should have been: bins may be
    chosen freely because wide ones have their price, and predicting the mean outcome of each
    interval is calibrated and at most this far away. An upper bound of the upper distance.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    edges : array-like, optional
        Edges that increase from 0 to 1 of intervals [a, b), the last one closed; by default the
        best of all partitions is looked for.
    tolerance : float, default=1e-4
        Largest distance between the two ends of `.bounds`. With up to 256 levels the minimum is
        exact. Not used with `edges`.

    Returns
    -------
    Measurement
        In [0, 1] for the best partition, in [0, 2] with `edges`. The witness holds the partition;
        as a function it predicts the mean outcome of each interval.

    Notes
    -----
    :math:`\inf_B \sum_{I \in B} |E[(y - p) 1(p \in I)]| + width(B)` over partitions B of [0, 1]
    into intervals. Gaps between predictions may be cut as fine as one likes, so an interval counts
    from its first to its last prediction; with intervals of one prediction each (width 0) the
    value is the expected calibration error, approached but not attained. For one width the best
    partition is found by dynamic programming in O(m log m); the search over widths keeps a lower
    bound. Known flaw: not continuous, like every error of intervals with fixed ends.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC.
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, Definition 6.10.

    Examples
    --------
    >>> y, p = [0, 1, 0, 1], [0.45, 0.55, 0.2, 0.8]
    >>> error = interval_calibration_error(y, p)
    >>> error, error.witness.width, error.witness([0.2, 0.5, 0.8])
    (0.2, 0.1, array([0. , 0.5, 1. ]))
    >>> interval_calibration_error(y, p, edges=[0, 0.4, 0.6, 1])
    0.5
    """
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    if edges is not None:
        return _for_edges(source, edges)
    check_tolerance(tolerance)
    joint = source if isinstance(source, Joint) else Joint.from_rows(source)
    return measured(joint, best_partition(joint, tolerance))


def measured(joint: Joint, found: LevelPartition) -> Measurement:
    """Return the interval calibration error for the best partition that was found."""
    return Measurement(
        found.value,
        "interval_calibration_error",
        {"width": round(found.width, 12), **rounding_settings(joint)},
        partial(_witness, joint, found),
        bounds=_cell_bounds(joint) if joint.is_rounded else (found.low, found.value),
    )


def _cell_bounds(joint: Joint) -> tuple[float, float]:
    """Where the value of rows in cells lies.

    At least half of the smooth error, and at most the expected error or that of one interval.
    """
    low = float(smooth_calibration_error(joint).bounds[0]) / 2
    whole = abs(joint.base_rate - joint.mean_prediction) + float(joint.high[-1] - joint.low[0])
    if joint.inherited_rounding > 0:
        whole = 1.0
    return low, max(low, min(1.0, largest_mean_error(joint), whole))


@dataclass(frozen=True, slots=True)
class LevelPartition:
    """Runs of levels, their error and what is proven."""

    start: Indices
    """First level of each run."""
    bias: float
    width: float
    low: float = 0.0
    """Lower bound for all partitions."""

    @property
    def value(self) -> float:
        """Interval calibration error of the partition."""
        return self.bias + self.width

    def run_of(self, levels: int) -> Indices:
        """Return the number of each level's run."""
        return np.repeat(np.arange(self.start.size), np.diff(np.append(self.start, levels)))


@dataclass(frozen=True, slots=True)
class LevelRuns:
    """The levels of a Joint, ready for cheapest partitions into runs of bounded span."""

    level: Floats
    residual_mass: Floats
    sums: Floats
    rank: npt.NDArray[np.int64]

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Add up the residual mass and rank the sums."""
        residual_mass = joint.mass * joint.residual
        sums = np.append(0.0, np.cumsum(residual_mass))
        rank = np.empty(sums.size, dtype=np.int64)
        rank[np.argsort(sums, kind="stable")] = np.arange(sums.size)
        return cls(joint.prediction, residual_mass, sums, rank)

    def cheapest(self, width: float) -> LevelPartition:
        """Find the partition of least bias among those no wider than `width`."""
        start = kernels.cheapest_runs(self.level, self.sums, self.rank, float(width))
        last = np.append(start[1:], self.level.size) - 1
        bias = float(np.abs(np.add.reduceat(self.residual_mass, start)).sum())
        return LevelPartition(start, bias, float(np.max(self.level[last] - self.level[start])))


def best_partition(joint: Joint, tolerance: float) -> LevelPartition:
    """Find the partition of least bias plus width, and a lower bound for all of them.

    The least bias falls as the width grows. Knowing it at a width b, no partition wider than
    value - tolerance - bias and not wider than b can be better than value - tolerance; so the
    search goes on from there, down to where the bias alone is too large.
    """
    runs = LevelRuns.of(joint)
    allowed = 0.0 if len(joint) <= FEW else tolerance
    best = runs.cheapest(0.0)
    width = float(joint.prediction[-1] - joint.prediction[0])
    for _ in range(MOST_HALVINGS):
        found = runs.cheapest(width)
        best = min(best, found, key=lambda partition: partition.value)
        if found.width == 0 or found.bias >= best.value:
            break
        width = found.width / 2
    width, low = best.value, best.value
    while width > 0:
        found = runs.cheapest(width)
        best = min(best, found, key=lambda partition: partition.value)
        further = best.value - allowed - found.bias
        low = min(low, found.bias + min(max(further, 0.0), found.width))
        # Not as wide as the one just found: it is the best of its width.
        width = min(further, float(np.nextafter(found.width, 0.0)))
    return LevelPartition(best.start, best.bias, best.width, max(0.0, min(low, best.value)))


def _witness(joint: Joint, found: LevelPartition) -> PartitionWitness:
    ones = np.add.reduceat(joint.positives, found.start)
    return PartitionWitness(
        joint.prediction[found.start],
        np.minimum(ones / np.add.reduceat(joint.weight, found.start), 1.0),
        found.width,
        found.width > 0,
        _sentence(joint, found.run_of(len(joint)), found.width),
    )


def _sentence(joint: Joint, of_level: Indices, width: float) -> str:
    """Say how fine the partition is and where its intervals are off."""
    bias = np.bincount(of_level, joint.mass * joint.residual)
    where = region_sentence(joint, np.sign(bias)[of_level])
    return f"{count_text(bias.size, 'interval')}, none wider than {width:.2g}; {where}"


def _for_edges(source: Joint | AnyRows, edges: npt.ArrayLike) -> Measurement:
    pooling = bins_between(source, edges)
    width = float(np.max(pooling.high - pooling.low))
    bias = float(np.abs(pooling.joint.mass * pooling.joint.residual).sum())
    settings = rounding_settings(source) if isinstance(source, Joint) else {}
    slack = across_edges(source, pooling) if isinstance(source, Joint) else 0.0
    value = bias + width
    return Measurement(
        value,
        "interval_calibration_error",
        {"width": round(width, 12), "edges": len(pooling) + 1, **settings},
        partial(_pooling_witness, pooling, width),
        bounds=cell_bounds(source, value, width + max(0.0, bias - slack), width + bias + slack)
        if isinstance(source, Joint)
        else None,
        table=pooling.table,
    )


def _pooling_witness(pooling: Pooling, width: float) -> PartitionWitness:
    value = (pooling.low + pooling.high) / 2
    value[pooling.occupied] = pooling.joint.outcome
    sentence = _sentence(pooling.joint, np.arange(len(pooling.joint)), width)
    return PartitionWitness(pooling.start, value, width, attained=True, sentence=sentence)

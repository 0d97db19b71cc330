"""Rows as cases: totals of functions of prediction and outcome, and how much those vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant.errors import InferenceRefusedError
from calibrant.joint.sums import AnyRows, cells

# Fewer degrees of freedom than this are none at all.
LEAST_FREEDOM = 0.1
# Weights that differ by less than this share are the same.
SAME_WEIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class Cases:
    """Rows, or rows of one prediction and outcome added up, for means of any function of both."""

    prediction: Floats
    outcome: Floats
    weight: Floats
    """Sum of the weights."""
    square: Floats
    """Sum of the squared weights."""
    cluster: Indices | None

    def where(self, keep: Flags) -> Cases:
        """Keep some of the cases."""
        cluster = None if self.cluster is None else self.cluster[keep]
        return Cases(
            self.prediction[keep],
            self.outcome[keep],
            self.weight[keep],
            self.square[keep],
            cluster,
        )

    @property
    def clusters(self) -> int:
        """How many clusters have a case left; as many as cases where there are none."""
        if self.cluster is None:
            return self.weight.size
        return int(np.count_nonzero(np.bincount(self.cluster)))

    def total(self, scores: Floats) -> Floats:
        """Add up weight times score; scores have one row per case."""
        if scores.ndim == 1:  # BLAS would start threads for so short a product
            return np.asarray((self.weight * scores).sum())
        return np.asarray(self.weight @ scores)

    def covariance(self, scores: Floats) -> Floats:
        """Covariance of the totals of centred scores (one column each), robust to clusters."""
        if self.cluster is None:
            columns = np.ascontiguousarray(scores.T)
            return np.asarray((columns * self.square) @ columns.T)
        sums = np.stack([np.bincount(self.cluster, self.weight * column) for column in scores.T])
        count = self.clusters
        squares = np.array([[(one * other).sum() for one in sums] for other in sums])
        return squares * (count / (count - 1))

    def widening(self, level: float) -> float:
        """Factor by which few clusters, or rows that weigh more than others, make it too narrow.

        1 for rows of one weight. A row that has nearly all of the weight says nothing of its own
        spread, as a lone cluster does not.
        """
        if self.cluster is None:
            each = self.square / self.weight
            if each.max(initial=0.0) <= (1 + SAME_WEIGHT) * each.min(initial=np.inf):
                return 1.0
            return _student(float(self.weight.sum() ** 2 / self.square.sum()), level)
        sizes = np.bincount(self.cluster, self.weight)
        return widening(np.asarray(sizes / sizes.sum()), level)

    def design_effect(self, scores: Floats) -> float:
        """Factor by which clusters make the total of one centred score vary more, at least 1.

        At most what rows of a cluster that are all alike would make of it.
        """
        if self.cluster is None:
            return 1.0
        sizes = np.bincount(self.cluster, self.weight)
        most = float(sizes @ sizes / self.square.sum())
        alone = float(self.square @ scores**2)
        if alone <= 0 or self.clusters < 2:
            return max(1.0, most)
        found = float(self.covariance(scores[:, np.newaxis])[0, 0]) / alone
        return max(1.0, min(found, most))


def plain_cases(source: AnyRows) -> Cases | None:
    """Check rows without weights and return each as a case; None for mean outcomes."""
    total, rows = cells(source, 1)  # one cell: the pass checks the rows
    if not total.binary:
        return None
    one = np.ones(rows.prediction.size)
    return Cases(rows.prediction, np.asarray(rows.outcome, dtype=np.float64), one, one, None)


def cluster_codes(labels: npt.NDArray[Any]) -> Indices:
    """Give clusters, of which there must be two, a number."""
    names, code = np.unique(labels, return_inverse=True)
    if names.size < 2:
        raise one_cluster()
    return code


def one_cluster() -> InferenceRefusedError:
    """Return the refusal of rows that are all one cluster, which says nothing about chance."""
    return InferenceRefusedError(
        "@clusters must be at least two", "one cluster", "leave clusters out"
    )


def widening(share: Floats, level: float) -> float:
    """Factor by which normal noise of clusters with these shares of the weight is too narrow.

    Student's quantile over the normal one, two-sided. The clusters count as many as equal ones
    with the same sum of squared shares; a single one says nothing about its own spread.
    """
    return _student(1 / float((share * share).sum()), level)


def _student(count: float, level: float) -> float:
    """Student's quantile over the normal one, for so many independent parts."""
    from scipy.special import ndtri, stdtrit

    freedom = count - 1
    if freedom < LEAST_FREEDOM:
        return np.inf
    return float(stdtrit(freedom, 1 - level / 2) / ndtri(1 - level / 2))

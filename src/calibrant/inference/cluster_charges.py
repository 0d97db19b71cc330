"""Residuals of rows that depend on each other, added up by cluster and level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, Indices
from calibrant.data.rows import Rows
from calibrant.joint import Joint

# Normal numbers of more clusters than this are drawn as their sums, if there are few levels.
MANY_CLUSTERS, FEW_LEVELS = 2**14, 2**9
# Beyond so many rows in more clusters and levels than that, clusters are drawn in so many bundles,
# or in fewer, as many as there are rows to a level, but never so few that noise were ill known.
MANY_ROWS, BUNDLES, FEWEST_BUNDLES = 2**21, 2**12, 2**9
# Whole numbers are looked up in a table of at most so many entries per row.
SPREAD = 4


@dataclass(frozen=True, slots=True)
class Clusters:
    """Residuals added up by cluster and level.

    Very many clusters are put together in bundles, by number: clusters are independent, so bundles
    are, and sums over them have the same variance. It is only known a little less well, as from
    512 to 4096 clusters. Bundles are without their part of the mean, which would grow with their
    size if forecasts are off.
    """

    charges: Any
    """Matrix, perhaps sparse, with a row per cluster or bundle and a column per level."""
    bundled: bool
    """Whether rows of that matrix are bundles, without their part of the mean."""
    share: Floats
    """Share of the weight that each cluster has."""
    code: Indices
    """Number of the cluster of each row."""

    @classmethod
    def of_rows(cls, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residuals times weight, divided by the total weight."""
        code, count = numbered(labels)
        share = _shares(code, rows, count)
        return cls._of_codes(rows, joint, level, code, share)

    def on_levels(self, rows: Rows, joint: Joint, level: Indices) -> Clusters:
        """Add up residuals of the same rows on other levels."""
        return self._of_codes(rows, joint, level, self.code, self.share)

    @classmethod
    def of_charges(
        cls, charge: Floats, share: Floats, level: Indices, labels: Any, levels: int
    ) -> Clusters:
        """Add up charges of rows, and the shares of the weight that rows have."""
        code, count = numbered(labels)
        shares = np.bincount(code, share, count).astype(np.float64)
        return cls._added_up(charge, 1.0, level, levels, code, shares)

    @classmethod
    def _of_codes(
        cls, rows: Rows, joint: Joint, level: Indices, code: Indices, share: Floats
    ) -> Clusters:
        residual = rows.outcome - joint.prediction[level]
        if rows.weight is not None:
            residual *= rows.weight
        return cls._added_up(residual, joint.total, level, len(joint), code, share)

    @classmethod
    def _added_up(
        cls,
        residual: Floats,
        total: float,
        level: Indices,
        levels: int,
        code: Indices,
        share: Floats,
    ) -> Clusters:
        many = level.size > MANY_ROWS and share.size > MANY_CLUSTERS
        bundled = many and levels >= FEW_LEVELS
        size = share.size
        if bundled:
            size = min(BUNDLES, max(FEWEST_BUNDLES, level.size // levels))
        row = code % size if bundled else code
        charges = _table(residual, row, level, (size, levels), dense=bundled)
        charges /= total
        if bundled:
            charges -= _of_bundles(share, size)[:, np.newaxis] * charges.sum(axis=0)
        return cls(charges, bundled, share, code)

    @property
    def drawn(self) -> int:
        """How many random numbers a draw takes: one per cluster, or per bundle."""
        return int(self.charges.shape[0])

    @property
    def drawn_share(self) -> Floats:
        """Share of the weight of each cluster or bundle: what a draw says about chance."""
        return _of_bundles(self.share, self.drawn) if self.bundled else self.share

    @property
    def left_out(self) -> float:
        """Variance of a sum over clusters that their part of a mean of one would add to bundles."""
        return float(self.share @ self.share) if self.bundled else 0.0

    def __len__(self) -> int:
        return self.share.size


def numbered(labels: npt.NDArray[Any]) -> tuple[Indices, int]:
    """Give labels numbers in their order: that of each row, and how many there are."""
    if labels.dtype.kind in "iu" and labels.size:
        low = int(labels.min())
        span = int(labels.max()) - low + 1
        if span <= SPREAD * labels.size:
            place = (labels - labels.dtype.type(low)).astype(np.intp)
            seen = np.zeros(span, dtype=bool)
            seen[place] = True
            number = np.cumsum(seen) - 1
            return number[place], int(number[-1]) + 1
    names, code = np.unique(labels, return_inverse=True)
    return code.reshape(-1), names.size


def _shares(code: Indices, rows: Rows, count: int) -> Floats:
    weight = np.bincount(code, rows.weight, count).astype(np.float64)
    return np.asarray(weight / weight.sum())


def _of_bundles(share: Floats, bundles: int) -> Floats:
    return np.bincount(np.arange(share.size) % bundles, share, bundles).astype(np.float64)


def _table(
    residual: Floats, row: Indices, level: Indices, shape: tuple[int, int], *, dense: bool
) -> Any:
    """Add up residuals in a table; one that most rows would be alone in is sparse."""
    if dense:
        return np.bincount(row * shape[1] + level, residual, shape[0] * shape[1]).reshape(shape)
    from scipy.sparse import coo_array

    return coo_array((residual, (row, level)), shape=shape).tocsr()

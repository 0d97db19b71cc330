"""Pools of neighbouring predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.joint import Joint
from calibrant.joint.sums import CellSums


@dataclass(frozen=True, slots=True)
class Pooling:
    """Intervals of predictions and what falls into them.

    Calling it takes predictions to the mean prediction of their pool (the middle of a pool
    that holds no rows), so `source.apply(pooling) == pooling.joint` for the Joint it was made from.
    """

    joint: Joint
    """The coarser Joint: one level per pool that holds weight."""
    low: Floats
    """Lower end of each pool."""
    high: Floats
    """Upper end of each pool."""
    start: Floats
    """Smallest prediction of each pool; the pool reaches up to the next start."""
    occupied: npt.NDArray[np.intp]
    """Index of the pool of each level of `joint`."""

    def __len__(self) -> int:
        return self.low.size

    def __call__(self, prediction: object) -> Floats:
        """Replace predictions by the mean prediction of their pool."""
        pooled = (self.low + self.high) / 2
        pooled[self.occupied] = self.joint.prediction
        return pooled[self.pool_of(prediction)]

    def pool_of(self, prediction: object) -> npt.NDArray[np.intp]:
        """Index of the pool of each prediction."""
        found = np.searchsorted(self.start, np.asarray(prediction, dtype=np.float64), side="right")
        return np.maximum(found - 1, 0)

    @property
    def table(self) -> dict[str, Floats]:
        """One entry per pool: ends, rows, weight, mean prediction, mean outcome (NaN if empty)."""
        return self.tabled()

    def tabled(self) -> dict[str, Floats]:
        """Make the table."""
        joint = self.joint
        columns = {
            "rows": joint.rows,
            "weight": joint.weight,
            "prediction": joint.prediction,
            "outcome": joint.outcome,
        }
        table = {"low": self.low, "high": self.high}
        for name, values in columns.items():
            empty = 0.0 if name in {"rows", "weight"} else np.nan
            table[name] = np.full(len(self), empty)
            table[name][self.occupied] = values
        return table


def pooling_of(sums: CellSums, low: Floats, high: Floats, start: Floats) -> Pooling:
    """Make a Pooling from sums over the pools."""
    occupied = np.flatnonzero(sums.weight > 0)
    kept = sums if occupied.size == sums.weight.size else sums.where(occupied)
    ends = np.append(start[1:], 1.0)
    mean = kept.mean_within(start[occupied], ends[occupied])
    joint = Joint(kept.at(mean))
    return Pooling(joint, low, high, start, occupied)

"""Sums by group and cell, as an engine returns them, made into levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.joint.sums import CellSums, LevelSums, cell_index


class Apart(IntEnum):
    """Keys of rows that are in no cell; cells have keys from zero on."""

    NO_OUTCOME = -1
    NO_PREDICTION = -2
    NO_WEIGHT = -3
    BAD_WEIGHT = -4
    BAD_OUTCOME = -5
    OUTSIDE = -6
    WEIGHTLESS = -7
    BELOW = -8
    """Negative by a rounding error: a prediction of 0."""
    ABOVE = -9
    """Beyond 1 by a rounding error: a prediction of 1."""


REFUSED = tuple(key for key in Apart if key > Apart.WEIGHTLESS)


@dataclass(frozen=True, slots=True)
class Tally:
    """One entry per group and key; a key is the number of a cell, a prediction, or `Apart`."""

    group: npt.NDArray[np.intp]
    key: Floats
    sums: CellSums
    """Measured from the start of each cell as the engine adds them up, from zero once placed."""
    entries: Floats
    """Number of rows of the frame: not of forecasts, where a row counts several."""
    between: Floats
    """Positive where a row had an outcome between 0 and 1."""
    clipped: Floats
    """Forecasts that were moved to the end of [0, 1]."""
    resolution: int | None
    """Number of cells; None where keys are predictions."""

    @classmethod
    def of_levels(cls, levels: LevelSums, resolution: int | None) -> Tally:
        """Place exact levels in their cells, as one group."""
        key = levels.prediction
        if resolution is not None:
            key = cell_index(key, resolution).astype(np.float64)
        nothing = np.zeros(key.size)
        mixed = nothing if levels.binary else np.ones(key.size)
        clipped = nothing.copy()
        clipped[:1] = levels.clipped
        sums = levels.with_ends().weighted()
        group = np.zeros(key.size, dtype=np.intp)
        return cls(group, key, sums, levels.rows, mixed, clipped, resolution).added_up()

    def ends(self) -> tuple[Floats, Floats]:
        """Smallest and largest prediction of each entry, which every tally knows."""
        low, high = self.sums.low, self.sums.high
        if low is None or high is None:
            raise TypeError("a tally must know the ends of its entries")
        return low, high

    def apart(self, key: Apart) -> int:
        """Count the rows of the frame with a key of their own."""
        return int(self.entries[self.key == key].sum())

    def where(self, keep: npt.NDArray[Any]) -> Tally:
        """Keep or reorder entries."""
        return replace(
            self,
            group=self.group[keep],
            key=self.key[keep],
            sums=self.sums.where(keep),
            entries=self.entries[keep],
            between=self.between[keep],
            clipped=self.clipped[keep],
        )

    def with_all_of(self, other: Tally) -> Tally:
        """Append the entries of another tally with the same cells."""
        return replace(
            self,
            group=np.append(self.group, other.group),
            key=np.append(self.key, other.key),
            sums=self.sums.with_all_of(other.sums),
            entries=np.append(self.entries, other.entries),
            between=np.append(self.between, other.between),
            clipped=np.append(self.clipped, other.clipped),
        )

    def added_up(self) -> Tally:
        """Add up entries with the same group and key, and put them in order."""
        ordered = self.where(np.lexsort((self.key, self.group)))
        starts = np.diff(ordered.key, prepend=np.nan) != 0
        starts |= np.diff(ordered.group, prepend=-1) > 0
        first, number = np.flatnonzero(starts), np.cumsum(starts) - 1
        return replace(
            ordered,
            group=ordered.group[first],
            key=ordered.key[first],
            sums=ordered.sums.added_up(number, first.size),
            entries=np.add.reduceat(ordered.entries, first),
            between=np.add.reduceat(ordered.between, first),
            clipped=np.add.reduceat(ordered.clipped, first),
        )

    def normalized(self) -> Tally:
        """Move predictions outside [0, 1] by a rounding error to its ends, and 1 to its cell.

        Sums of predictions become whole ones, from zero on; rows without weight are left out.
        """
        kept = self.where(self.key != Apart.WEIGHTLESS)
        below, above = kept.key == Apart.BELOW, kept.key == Apart.ABOVE
        outside = below | above
        cells = kept.resolution or 1
        key = np.where(below, 0.0, np.where(above, cells, kept.key)) + 0.0
        low, high = (np.where(outside, key / cells, end) + 0.0 for end in kept.ends())
        distance = np.where(outside, 0.0, kept.sums.moment)
        sums = replace(kept.sums, moment=distance, origin=key / cells).from_zero()
        clipped = np.where(outside, kept.sums.rows, kept.clipped)
        if kept.resolution is not None:
            key = np.minimum(key, cells - 1)
        return replace(kept, key=key, sums=sums.between(low, high), clipped=clipped).added_up()

    def by_group(self) -> Iterator[tuple[int, Tally]]:
        """Split into groups, in the order of their numbers."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        for start, stop in zip(first, np.append(first[1:], self.group.size), strict=True):
            yield int(self.group[start]), self.where(np.arange(start, stop))

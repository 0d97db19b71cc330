"""The law J* of (prediction, outcome) as a table of levels, and what can be read off it."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.errors import InvalidForecastsError
from calibrant.joint.sums import LAW, Sums

# Beyond this a count of rows is no exact double.
MOST_ROWS = 2**53


class Law:
    """Levels in ascending order, and how far predictions moved when they were rounded."""

    prediction: Floats
    """Distinct predictions, ascending; on a rounded Joint the mean prediction of each cell."""
    weight: Floats
    """Total weight of each level; the number of rows when there are no weights."""
    positives: Floats
    """The part of the weight with outcome 1."""
    rows: Floats
    """Number of rows of each level."""
    weight_squares: Floats
    """Sum of squared weights of each level."""
    low: Floats
    """No row of a level had a smaller prediction; equal to `prediction` for exact levels."""
    high: Floats
    """No row of a level had a larger prediction."""
    binary: bool
    """Whether every row had outcome 0 or 1 (rather than a mean outcome)."""
    resolution: int | None
    """Number of cells the predictions were rounded to; None for exact levels."""
    clipped: int
    """Predictions that lay outside [0, 1] by a rounding error and were moved to its end."""

    def __init__(
        self,
        levels: Sums,
        *,
        resolution: int | None = None,
        inherited_rounding: float = 0.0,
    ) -> None:
        with np.errstate(over="ignore"):
            total = float(levels.weight.sum())
            squares = float(levels.weight_squares.sum())
        if not 0 < total < np.inf:
            raise InvalidForecastsError(
                "the weights must have a positive, finite sum", f"a sum of {total:g}"
            )
        if squares == np.inf or not levels.weight_squares.all():
            raise InvalidForecastsError(
                "the squares of the weights must be representable",
                f"weights from {levels.weight.min():g} to {levels.weight.max():g}",
                "divide the weights by their mean",
            )
        if levels.rows.sum() > MOST_ROWS:
            raise InvalidForecastsError(
                "there must be at most 2**53 rows", f"counts that add up to {levels.rows.sum():g}"
            )
        for name, column in levels.with_ends().columns().items():
            column.setflags(write=False)
            setattr(self, name, column)
        self.binary = levels.binary
        self.clipped = levels.clipped
        self.resolution = resolution
        self._inherited_rounding = inherited_rounding
        self._total = total

    @classmethod
    def of_cells(
        cls,
        cell_sums: Sums,
        index: npt.NDArray[np.intp],
        resolution: int,
        inherited_rounding: float = 0.0,
    ) -> Self:
        """Give each cell its mean prediction, from the sums of cells that hold weight."""
        start, end = index / resolution, (index + 1) / resolution
        mean = mean_within(cell_sums, start, end)
        if cell_sums.low is None or cell_sums.high is None:
            single = cell_sums.rows == 1
            ends = np.where(single, mean, start), np.where(single, mean, end)
        else:
            ends = cell_sums.low, cell_sums.high
            mean = np.clip(mean, *ends)
        return cls(
            cell_sums.with_prediction(mean).between(*ends),
            resolution=resolution,
            inherited_rounding=inherited_rounding,
        )

    @property
    def outcome(self) -> Floats:
        """Mean outcome of each level."""
        return self.positives / self.weight

    @property
    def mass(self) -> Floats:
        """Share of the weight that each level has."""
        return self.weight / self._total

    @property
    def residual(self) -> Floats:
        """Mean outcome minus prediction of each level."""
        return (self.positives - self.weight * self.prediction) / self.weight

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return self._total

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @property
    def base_rate(self) -> float:
        """Mean outcome."""
        return float(self.positives.sum()) / self._total

    @property
    def mean_prediction(self) -> float:
        """Mean prediction."""
        return float(self.weight @ self.prediction) / self._total

    @property
    def rounding(self) -> float:
        """Bound on the mean distance that rounding to cells moved predictions; 0 when exact.

        Among rows between a and a + h with mean prediction a + s the mean absolute deviation
        from the mean is largest for mass at both ends: 2 s (h - s) / h, at most h / 2.
        """
        if self.low is self.prediction:
            return self._inherited_rounding
        spread = self.high - self.low
        moved = np.zeros_like(spread)
        reach = 2 * (self.prediction - self.low) * (self.high - self.prediction)
        np.divide(reach, spread, out=moved, where=spread > 0)
        return self._inherited_rounding + float(moved @ self.mass)

    def __len__(self) -> int:
        return self.prediction.size

    def __repr__(self) -> str:
        cells = "" if self.resolution is None else f", {self.resolution} cells"
        return (
            f"Joint({self.row_count} rows, {len(self)} levels{cells}, "
            f"mean prediction {self.mean_prediction:.3g}, base rate {self.base_rate:.3g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Law):
            return NotImplemented
        return self.resolution == other.resolution and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in LAW
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def sums(self) -> Sums:
        """Return the table of levels."""
        exact = self.low is self.prediction
        return Sums(
            self.prediction,
            self.weight,
            self.positives,
            self.rows,
            self.weight_squares,
            None if exact else self.low,
            None if exact else self.high,
            self.binary,
            self.clipped,
        )

    def summed_by(self, group: npt.NDArray[np.intp], count: int) -> Sums:
        """Add up levels by the number of their group; predictions become weighted sums."""
        return _weighted(self.sums().without_ends()).added_up(group, count)


def mean_within(group_sums: Sums, low: Floats, high: Floats) -> Floats:
    """Mean prediction of intervals [low, high), kept inside against rounding of the sums."""
    below = np.where(high < 1, np.nextafter(high, 0), 1.0)
    return np.clip(group_sums.prediction / group_sums.weight, low, below)


def cell_index(prediction: Floats, resolution: int) -> npt.NDArray[np.intp]:
    """Find the cells of predictions; 1 is in the last one."""
    return np.minimum((prediction * resolution).astype(np.intp), resolution - 1)


def in_cells(levels: Sums, resolution: int) -> tuple[Sums, npt.NDArray[np.intp]]:
    """Add up levels in ascending order by cell: sums of the cells that hold some, their numbers."""
    of_level = cell_index(levels.prediction, resolution)
    first = np.diff(of_level, prepend=-1) > 0
    sums = _weighted(levels.with_ends()).added_up(np.cumsum(first) - 1, int(first.sum()))
    return sums, of_level[first]


def _weighted(levels: Sums) -> Sums:
    return levels.with_prediction(levels.prediction * levels.weight)

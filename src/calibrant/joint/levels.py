"""Predictions with the sums of their rows, checked and frozen, and what can be read off them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.arrays import Floats, Indices, sum_of_products
from calibrant.data.rows import refuse_sums_of_weights
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.sums import COUNTED, CellSums, LevelSums

# Beyond this a count of rows is no exact double.
MOST_ROWS = 2**53
# Weights that differ by less than this share are the same.
SAME_WEIGHT = 1e-9


class JointLevels:
    """What a Joint holds: each prediction with the weight and the outcomes of its rows."""

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
        levels: LevelSums,
        *,
        resolution: int | None = None,
        inherited_rounding: float = 0.0,
    ) -> None:
        plain = levels.weight_squares is levels.weight and levels.rows is levels.weight
        if plain:
            total = squares = float(levels.weight.sum())
        else:
            with np.errstate(over="ignore"):
                total = float(levels.weight.sum())
                squares = float(levels.weight_squares.sum())
        vanishing = not levels.weight_squares.all()
        refuse_sums_of_weights(total, squares, levels.weight, vanishing=vanishing)
        rows = total if plain else float(levels.rows.sum())
        if rows > MOST_ROWS:
            raise InvalidForecastsError(
                "there must be at most 2**53 rows", f"counts that add up to {rows:g}"
            )
        for name, column in levels.with_ends().columns().items():
            column.setflags(write=False)
            setattr(self, name, column)
        self.binary = levels.binary
        self.clipped = levels.clipped
        self.resolution = resolution
        self._inherited_rounding = inherited_rounding
        self._total = total

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
    def unweighted(self) -> bool:
        """Whether every row weighs one."""
        return self.weight is self.rows or np.array_equal(self.weight, self.rows)

    @property
    def equally_weighted(self) -> bool:
        """Whether all rows weigh the same, whatever that is."""
        if self.unweighted:
            return True
        each = self._total / self.row_count
        squares = self.rows * each**2
        return bool(np.allclose(self.weight_squares, squares, rtol=SAME_WEIGHT, atol=0))

    @property
    def base_rate(self) -> float:
        """Mean outcome."""
        return float(self.positives.sum()) / self._total

    @property
    def mean_prediction(self) -> float:
        """Mean prediction."""
        return sum_of_products(self.weight, self.prediction) / self._total

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

    @property
    def is_rounded(self) -> bool:
        """Whether predictions that differed may have been put together, however close they were."""
        if self._inherited_rounding > 0:
            return True
        return self.low is not self.prediction and bool((self.low < self.high).any())

    @property
    def inherited_rounding(self) -> float:
        """The part of `rounding` that lies outside `low` and `high`: `width` of aggregates."""
        return self._inherited_rounding

    def __len__(self) -> int:
        return self.prediction.size

    def __repr__(self) -> str:
        cells = "" if self.resolution is None else f", {self.resolution} cells"
        return (
            f"{type(self).__name__}({self.row_count} rows, {len(self)} levels{cells}, "
            f"mean prediction {self.mean_prediction:.3g}, base rate {self.base_rate:.3g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointLevels):
            return NotImplemented
        return self.resolution == other.resolution and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("prediction", *COUNTED)
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def sums(self) -> LevelSums:
        """Return the table of levels."""
        exact = self.low is self.prediction
        return LevelSums(
            prediction=self.prediction,
            weight=self.weight,
            positives=self.positives,
            rows=self.rows,
            weight_squares=self.weight_squares,
            low=None if exact else self.low,
            high=None if exact else self.high,
            binary=self.binary,
            clipped=self.clipped,
        )

    def summed_by(self, group: Indices, count: int) -> CellSums:
        """Add up levels by the number of their group."""
        return self.sums().without_ends().weighted().added_up(group, count)

    def point_masses(self) -> Floats:
        """Return the probability of each level with outcome 0 and with outcome 1.

        One row per level, two columns; all add up to one. Half the sum of absolute differences
        between this table and that of `model_world` is the expected calibration error.

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8]).point_masses()
        array([[0.25, 0.  ],
               [0.25, 0.5 ]])
        """
        ones = self.positives / self._total
        return np.column_stack([self.mass - ones, ones])

    def expectation(self, test: Callable[[Floats, Floats], Any]) -> float:
        """Return the expected value of a test of prediction and outcome, E f(v, y).

        A test tells outcomes from forecasts if its value differs between a Joint and its
        `model_world`; the difference is E[(f(v, 1) - f(v, 0)) (y - v)].

        Parameters
        ----------
        test : callable
            f(v, y) for arrays of predictions and outcomes; one number per level, or one for all.

        Returns
        -------
        float

        Examples
        --------
        >>> from calibrant import Joint
        >>> joint = Joint.from_samples([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8])
        >>> joint.expectation(lambda v, y: (v - y) ** 2)
        0.19
        >>> joint.model_world().expectation(lambda v, y: (v - y) ** 2)
        0.16
        """
        values = []
        for outcome in (0.0, 1.0):
            value = np.asarray(test(self.prediction, np.full(len(self), outcome)), np.float64)
            if value.shape not in {(), (len(self),)} or np.isnan(value).any():
                raise InvalidOptionError(
                    "a test must return one number for each prediction",
                    "nan" if np.isnan(value).any() else f"shape {value.shape}",
                )
            values.append(np.broadcast_to(value, (len(self),)))
        masses, scores = self.point_masses(), np.column_stack(values)
        # What has no mass adds nothing, however large the test is there.
        return float((masses * np.where(masses == 0, 0.0, scores)).sum())

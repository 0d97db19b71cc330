"""Where a Joint can come from."""

from __future__ import annotations

from typing import Self

import numpy as np

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import sums
from calibrant.joint.checks import check_counts, power_of_two
from calibrant.joint.gate import Rows
from calibrant.joint.law import Law
from calibrant.joint.sums import Sums


class Sources(Law):
    """The makers of a Joint."""

    @classmethod
    def from_samples(
        cls,
        y_true: object,
        y_proba: object,
        *,
        sample_weight: object = None,
        pos_label: object = None,
        resolution: int | None = None,
    ) -> Self:
        """Group rows by their prediction.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes: bool, 0/1, mean outcomes in [0, 1], or any labels together with `pos_label`.
        y_proba : array-like of shape (n,) or (n, 2)
            Predicted probabilities of outcome 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the law; they do not add evidence.
        pos_label : object, optional
            The label that counts as outcome 1.
        resolution : int, optional
            Round predictions to this many cells, a power of two. Each cell keeps its mean
            prediction, and `rounding` bounds how far predictions moved.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples(["no", "yes"], [0.1, 0.7], pos_label="yes").base_rate
        0.5
        """
        return cls.from_rows(Rows.read(y_true, y_proba, sample_weight, pos_label), resolution)

    @classmethod
    def from_rows(cls, rows: Rows, resolution: int | None = None) -> Self:
        """Group rows that came through the gate."""
        if resolution is None:
            return cls(sums.levels(rows))
        cells = sums.cells(rows, power_of_two(resolution))
        index = np.flatnonzero(cells.weight > 0)
        return cls.of_cells(cells.where(index), index, resolution)

    @classmethod
    def from_counts(
        cls, prediction: object, count: object, positives: object, *, width: float = 0.0
    ) -> Self:
        """Make a Joint from aggregates: how many rows each prediction had, and how many positives.

        Parameters
        ----------
        prediction : array-like of shape (m,)
            Predictions, or mean predictions of cells; repeated ones are added up.
        count : array-like of shape (m,)
            Number of rows, whole numbers. A count of k is k rows of evidence.
        positives : array-like of shape (m,)
            Number of rows with outcome 1.
        width : float, default=0.0
            Width of the cells the mean predictions come from; 0 for exact predictions.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_counts([0.1, 0.5], [100, 50], [12, 20])
        Joint(150 rows, 2 levels, mean prediction 0.233, base rate 0.213)
        """
        level, counts, ones = (
            np.array(column, dtype=np.float64, ndmin=1) for column in (prediction, count, positives)
        )
        check_counts(level, counts, ones)
        if not 0 <= width <= 1:
            raise InvalidOptionError("width must be between 0 and 1", f"{width}")
        kept = Sums(level + 0.0, counts, ones, counts, counts).where(counts > 0)
        if kept.weight.size == 0:
            raise InvalidForecastsError("there must be at least one row", "counts of zero")
        return cls(kept.in_order().levels(), inherited_rounding=width / 2)

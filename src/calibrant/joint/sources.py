"""Where a Joint can come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import sums
from calibrant.joint.checks import check_counts, power_of_two
from calibrant.joint.gate import Rows
from calibrant.joint.law import Law
from calibrant.joint.sums import Sums

if TYPE_CHECKING:
    from calibrant.joint.aggregates import Tally
    from calibrant.joint.columns import ColumnNames
    from calibrant.joint.frames import Resolution


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

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        prediction: str,
        outcome: str,
        weight: str | None = None,
        resolution: Resolution = "auto",
        pos_label: object = None,
    ) -> Self:
        """Sum the rows of a dataframe on the engine it lives on; only sums by cell leave it.

        Parameters
        ----------
        frame : dataframe
            Of pandas, Polars (eager or lazy), Arrow, DuckDB, Dask, Spark or anything else that
            narwhals knows.
        prediction : str
            Column of predicted probabilities of outcome 1.
        outcome : str
            Column of outcomes: bool, 0/1, mean outcomes in [0, 1], or labels with `pos_label`.
        weight : str, optional
            Column of weights; they do not add evidence.
        resolution : int, None or "auto", default="auto"
            Number of cells that predictions are rounded to, a power of two; None keeps every
            different prediction. "auto" sums into 65 536 cells and gives exact levels if no two
            different predictions shared a cell; otherwise `rounding` certifies how far they moved.
        pos_label : object, optional
            The label that counts as outcome 1.

        Returns
        -------
        Joint

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import Joint
        >>> frame = pd.DataFrame({"p": [0.2, 0.8, 0.8], "y": [0, 1, 0]})
        >>> joint = Joint.from_frame(frame, prediction="p", outcome="y")
        >>> joint
        Joint(3 rows, 2 levels, mean prediction 0.6, base rate 0.333)
        >>> joint.rounding
        0.0
        """
        return cls._of_frame(
            frame,
            resolution,
            prediction=prediction,
            outcome=outcome,
            weight=weight,
            pos_label=pos_label,
        )

    @classmethod
    def _of_frame(cls, frame: object, resolution: Resolution, **names: Unpack[ColumnNames]) -> Self:
        from calibrant.joint.columns import Columns
        from calibrant.joint.frames import tally_frame

        columns = Columns(**names)
        tally, _ = tally_frame(frame, columns, resolution)
        return cls.of_tally(tally.placed(), columns.width, exact_if_possible=resolution == "auto")

    @classmethod
    def of_tally(cls, tally: Tally, width: float, *, exact_if_possible: bool) -> Self:
        """Give the placed entries of one group their mean predictions."""
        sums = replace(tally.sums, binary=not tally.between.any(), clipped=int(tally.clipped.sum()))
        low, high = sums.ends()
        exact = exact_if_possible and np.array_equal(low, high)
        if tally.resolution is None or exact:
            return cls(sums.without_ends().with_prediction(low), inherited_rounding=width / 2)
        index = tally.key.astype(np.intp)
        return cls.of_cells(sums, index, tally.resolution, width / 2)

"""Joint: the joint distribution J* of (prediction, outcome); every measure is a function of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from calibrant._base.arrays import Floats, Indices, sum_of_products
from calibrant._base.options import as_generator, check_within, power_of_two
from calibrant.data.input import read_numbers, refuse_other_labels
from calibrant.data.rows import RawRows, Rows, refuse_sums_of_weights
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention
from calibrant.joint import sums
from calibrant.joint.draws import draw_positives
from calibrant.joint.sums import COUNTED, FINEST, AnyRows, CellSums, LevelSums, in_cells

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.data.columns import ColumnNames, Columns
    from calibrant.data.paths import Paths
    from calibrant.joint.engine.passes import Resolution
    from calibrant.joint.engine.tally import Tally


# Beyond this a count of rows is no exact double.
MOST_ROWS = 2**53
# Weights that differ by less than this share are the same.
SAME_WEIGHT = 1e-9


def check_counts(prediction: Floats, counts: Floats, positives: Floats) -> None:
    """Refuse aggregates that no rows can have."""
    if not prediction.shape == counts.shape == positives.shape or prediction.ndim != 1:
        raise InvalidForecastsError(
            "prediction, count and positives must be columns of the same length",
            f"shapes {prediction.shape}, {counts.shape}, {positives.shape}",
        )
    if not ((prediction >= 0) & (prediction <= 1)).all():
        raise InvalidForecastsError(
            "predictions must be in [0, 1]", f"{prediction.min():g} to {prediction.max():g}"
        )
    for name, column in (("count", counts), ("positives", positives)):
        if not (np.isfinite(column) & (column >= 0) & (column == np.floor(column))).all():
            raise InvalidForecastsError(
                f"{mention(name)} must hold whole numbers of rows",
                f"{column[~(column == np.floor(column)) | ~(column >= 0)][:3].tolist()}",
                "for weights use Joint.from_samples(outcome, prediction, sample_weight=weight)",
            )
    if (positives > counts).any():
        raise InvalidForecastsError(
            "@positives must not exceed count", f"{int((positives > counts).sum())} rows that do"
        )


# Under this name rows keep the Joint that was made of them.
JOINT = "_joint"


def _three(batch: tuple[object, ...]) -> tuple[object, object, object]:
    if len(batch) not in {2, 3}:
        raise InvalidForecastsError(
            "a batch must be a dataframe, or (y_true, y_proba) or (y_true, y_proba, sample_weight)",
            f"a tuple of {len(batch)}",
        )
    return (*batch, None)[:3]  # type: ignore[return-value]


class Joint:
    """The joint distribution of predictions and outcomes: each prediction's weight and outcomes.

    Make one with `from_samples`, `from_frame`, `from_files` or another of the methods that start
    with `from_`; add two to merge them.

    Examples
    --------
    >>> joint = Joint.from_samples([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8])
    >>> joint
    Joint(4 rows, 2 levels, mean prediction 0.65, base rate 0.5)
    >>> joint.prediction
    array([0.2, 0.8])
    >>> joint.outcome
    array([0.        , 0.66666667])
    """

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
        distance = np.zeros_like(spread)
        largest = 2 * (self.prediction - self.low) * (self.high - self.prediction)
        np.divide(largest, spread, out=distance, where=spread > 0)
        return self._inherited_rounding + float(distance @ self.mass)

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
        if not isinstance(other, Joint):
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
            Weights of the rows; they do not add evidence.
        pos_label : object, optional
            The label that counts as outcome 1.
        resolution : int, optional
            Round predictions to this many cells, a power of two. Each cell keeps its mean
            prediction, and `rounding` bounds how far predictions moved. At most 2**20.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples(["no", "yes"], [0.1, 0.7], pos_label="yes").base_rate
        0.5
        """
        return cls.from_rows(RawRows.read(y_true, y_proba, sample_weight, pos_label), resolution)

    @classmethod
    def from_rows(cls, rows: AnyRows, resolution: int | None = None) -> Self:
        """Group rows that are arrays already, checked or not."""
        if resolution is None:
            return cls(sums.levels(rows)[0])
        cells, _ = sums.cells(rows, power_of_two(resolution))
        index = np.flatnonzero(cells.weight > 0)
        return cls.of_cells(cells.where(index), index, resolution)

    @classmethod
    def of_many_rows(cls, rows: AnyRows) -> tuple[Self, Rows]:
        """Sum rows that are arrays in the cells that engines sum very many rows in; check them.

        As on engines, rows of few different predictions keep them.
        """
        cells, sound = sums.cells(rows, FINEST)
        index = np.flatnonzero(cells.weight > 0)
        low, high = (end[index] for end in sums.ends_of_cells(sound, FINEST))
        occupied = cells.where(index)
        if np.array_equal(low, high):
            return cls(occupied.at(low)), sound
        return cls.of_cells(occupied.between(low, high), index, FINEST), sound

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Group rows of any kind that were checked; found once for the same rows."""
        weighing = rows.weighing
        found = weighing.__dict__.get(JOINT)
        if found is None:
            found = weighing.__dict__[JOINT] = cls(sums.levels(weighing)[0])
        return found

    @classmethod
    def checked(cls, rows: AnyRows) -> tuple[Self, Rows]:
        """Group rows, and return them checked: one pass does both."""
        levels, sound = sums.levels(rows)
        return cls(levels), sound

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
        refuse_other_labels(prediction=prediction, count=count, positives=positives)
        level, counts, ones = (
            read_numbers(column, name)
            for name, column in (
                ("prediction", prediction),
                ("count", count),
                ("positives", positives),
            )
        )
        check_counts(level, counts, ones)
        check_within("width", width)
        kept = LevelSums(
            prediction=level + 0.0,
            weight=counts,
            positives=ones,
            rows=counts,
            weight_squares=counts,
        ).where(counts > 0)
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
            At most 2**20.
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
        from calibrant.data.columns import Columns

        columns = Columns(prediction, outcome, weight, pos_label)
        return cls.of_columns(frame, columns, resolution)

    @classmethod
    def from_aggregates(
        cls,
        frame: object,
        *,
        count: str,
        positives: str,
        prediction: str | None = None,
        prediction_sum: str | None = None,
        width: float = 0.0,
        resolution: Resolution = "auto",
    ) -> Self:
        """Take a dataframe that holds counts per cell instead of rows.

        Parameters
        ----------
        frame : dataframe
            As for `from_frame`.
        count : str
            Column of the number of rows that each entry stands for; k rows have k outcomes.
        positives : str
            Column of the number of them with outcome 1.
        prediction : str, optional
            Column of the prediction, or mean prediction, of each entry.
        prediction_sum : str, optional
            Column of the sum of predictions instead.
        width : float, default=0.0
            Width of the cells that means come from: how far predictions that share an entry may
            lie apart; 0 where they are equal.
        resolution : int, None or "auto", default="auto"
            As for `from_frame`.

        Returns
        -------
        Joint

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import Joint
        >>> frame = pd.DataFrame({"n": [100, 50], "clicks": [12, 20], "said": [10.0, 25.0]})
        >>> Joint.from_aggregates(frame, prediction_sum="said", count="n", positives="clicks")
        Joint(150 rows, 2 levels, mean prediction 0.233, base rate 0.213)
        """
        from calibrant.data.columns import Columns

        columns = Columns(
            prediction,
            prediction_sum=prediction_sum,
            count=count,
            positives=positives,
            width=width,
        )
        return cls.of_columns(frame, columns, resolution)

    @classmethod
    def from_files(
        cls,
        paths: Paths,
        *,
        resolution: Resolution = "auto",
        memory_limit: str | None = None,
        progress: bool | None = None,
        **columns: Unpack[ColumnNames],
    ) -> Self:
        """Sum the rows of files, which may be larger than memory.

        Parameters
        ----------
        paths : str, Path or a sequence of them
            CSV, Parquet or JSON lines files, perhaps compressed; globs; folders of Parquet files,
            whose hive partitions become columns; "-" is standard input. A file that is named twice
            counts once.
        resolution : int, None or "auto", default="auto"
            As for `from_frame`.
        memory_limit : str, optional
            Most memory that DuckDB may use before it writes to disk, such as "1GB".
        progress : bool, optional
            Whether to draw a progress bar; by default on a terminal.
        **columns
            Names of columns as for `from_frame` or `from_aggregates`; "prediction" and "outcome"
            where none is given. With `pos_label` and more than two labels, `neg_label` names the
            one, or the list of those, that count as 0.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> from calibrant.datasets.flights import FLIGHTS_FILE
        >>> Joint.from_files(FLIGHTS_FILE)
        Joint(166668 rows, 14362 levels, 65536 cells, mean prediction 0.259, base rate 0.233)
        """
        from calibrant.data.columns import Columns
        from calibrant.data.files import opened

        names = Columns.of(**columns)
        with opened(
            paths, names.parts(), names.labels, memory_limit=memory_limit, progress=progress
        ) as (relation, _):
            return cls.of_columns(relation, names.with_known_outcomes(), resolution)

    @classmethod
    def from_query(
        cls,
        sql: str,
        *,
        database: str | Path | None = None,
        resolution: Resolution = "auto",
        memory_limit: str | None = None,
        progress: bool | None = None,
        **columns: Unpack[ColumnNames],
    ) -> Self:
        """Sum the rows that a query returns, in DuckDB or a database that it can attach.

        Parameters
        ----------
        sql : str
            A select statement.
        database : str or Path, optional
            A DuckDB file, or "sqlite:path", "postgres:host=... dbname=...",
            "postgresql://user@host/name", "mysql:host=... database=..."; it is opened for reading.
            DuckDB fetches the extension that it needs for the last three, unless a package such as
            duckdb-extension-postgres-scanner carries it. None for queries that name files.
        resolution, memory_limit, progress, **columns
            As for `from_files`.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_query("select 0.25 as prediction, i % 4 = 0 as outcome from range(8) t(i)")
        Joint(8 rows, 1 levels, mean prediction 0.25, base rate 0.25)
        """
        from calibrant.data.columns import Columns
        from calibrant.data.files import queried

        names = Columns.of(**columns)
        with queried(sql, database, memory_limit=memory_limit, progress=progress) as relation:
            return cls.of_columns(relation, names, resolution)

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[object],
        *,
        resolution: Resolution = "auto",
        **columns: Unpack[ColumnNames],
    ) -> Self:
        """Sum rows that come in batches, each of which is forgotten after its turn.

        Parameters
        ----------
        batches : iterable of dataframes, or of tuples of arrays
            Dataframes with the same columns, or tuples (y_true, y_proba) or (y_true, y_proba,
            sample_weight).
        resolution : int, None or "auto", default="auto"
            As for `from_frame`.
        **columns
            Names of columns as for `from_files`; for tuples only `pos_label` counts.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_batches([([0, 1], [0.2, 0.8]), ([1, 0], [0.8, 0.8])])
        Joint(4 rows, 2 levels, mean prediction 0.65, base rate 0.5)
        """
        from calibrant.data.columns import Columns
        from calibrant.joint.engine.passes import cells_of, tally_frame
        from calibrant.joint.engine.tally import Tally

        names, cells = Columns.of(**columns), cells_of(resolution)
        whole: Tally | None = None
        for batch in batches:
            if isinstance(batch, tuple):
                y_true, y_proba, weight = _three(batch)
                raw_rows = RawRows.read(y_true, y_proba, weight, names.pos_label)
                tally = Tally.of_levels(sums.levels(raw_rows)[0], cells)
            else:
                tally = tally_frame(batch, names, cells)[0].normalized()
            whole = tally if whole is None else whole.with_all_of(tally).added_up()
        if whole is None:
            raise InvalidForecastsError("there must be at least one batch", "none")
        return cls.of_tally(whole, names.width, exact_if_possible=resolution == "auto")

    @classmethod
    def of_columns(cls, frame: object, columns: Columns, resolution: Resolution) -> Self:
        """Sum the rows or the aggregates of a frame, by the parts that its columns play."""
        from calibrant.joint.engine.passes import tally_frame

        tally, _ = tally_frame(frame, columns, resolution)
        return cls.of_tally(
            tally.normalized(), columns.width, exact_if_possible=resolution == "auto"
        )

    @classmethod
    def of_tally(cls, tally: Tally, width: float, *, exact_if_possible: bool) -> Self:
        """Give the normalized entries of one group their mean predictions."""
        entries = replace(
            tally.sums, binary=not tally.between.any(), clipped=int(tally.clipped.sum())
        )
        low, high = tally.ends()
        exact = exact_if_possible and np.array_equal(low, high)
        if tally.resolution is None or exact:
            return cls(entries.without_ends().at(low), inherited_rounding=width / 2)
        index = tally.key.astype(np.intp)
        return cls.of_cells(entries, index, tally.resolution, width / 2)

    @classmethod
    def of_cells(
        cls,
        cell_sums: CellSums,
        index: Indices,
        resolution: int,
        inherited_rounding: float = 0.0,
    ) -> Self:
        """Give each cell its mean prediction, from the sums of cells that hold weight."""
        start, end = index / resolution, (index + 1) / resolution
        mean = cell_sums.mean_within(start, end)
        if cell_sums.low is None or cell_sums.high is None:
            single = cell_sums.rows == 1
            ends = np.where(single, mean, start), np.where(single, mean, end)
        else:
            ends = cell_sums.low, cell_sums.high
            mean = np.clip(mean, *ends)
        return cls(
            cell_sums.at(mean).between(*ends),
            resolution=resolution,
            inherited_rounding=inherited_rounding,
        )

    def __add__(self, other: Joint) -> Joint:
        """Merge two Joints; the coarser resolution wins."""
        if not isinstance(other, Joint):
            return NotImplemented
        inherited = (
            self._inherited_rounding * self.total + other._inherited_rounding * other.total
        ) / (self.total + other.total)
        both = self.sums().merged(other.sums())
        resolutions = [j.resolution for j in (self, other) if j.resolution is not None]
        if not resolutions:
            return Joint(both.levels(), inherited_rounding=inherited)
        coarser = min(resolutions)
        return Joint.of_cells(*in_cells(both, coarser), coarser, inherited)

    def rounded(self, resolution: int) -> Joint:
        """Round predictions to cells of width 1/resolution, each with its mean prediction.

        Parameters
        ----------
        resolution : int
            Number of cells, a power of two. At most 2**20.

        Returns
        -------
        Joint
            The Joint of the rounded predictor; `rounding` bounds how far predictions moved.

        Examples
        --------
        >>> joint = Joint.from_samples([0, 1, 1], [0.10, 0.11, 0.9])
        >>> joint.rounded(8).prediction
        array([0.105, 0.9  ])
        """
        power_of_two(resolution)
        if self.resolution is not None and self.resolution <= resolution:
            return self
        # Cells of powers of two are nested: the ends of the final cell alone bound the way from
        # the rows.
        return Joint.of_cells(
            *in_cells(self.sums(), resolution), resolution, self._inherited_rounding
        )

    def of_mean_weight_one(self) -> Joint:
        """Divide all weights by their mean, so that they sum to the number of rows.

        Weights have no unit: whatever compares them with a number of rows does so after this.
        Rows that all weigh the same have no weights then.

        Examples
        --------
        >>> joint = Joint.from_samples([0, 1], [0.2, 0.6], sample_weight=[100, 300])
        >>> joint.of_mean_weight_one().weight
        array([0.5, 1.5])
        """
        if self.unweighted:
            return self
        factor, sums = self.row_count / self.total, self.sums()
        positives = sums.positives * factor
        if self.equally_weighted:
            ones = np.rint(positives) if self.binary else positives
            sums = replace(sums, weight=sums.rows, weight_squares=sums.rows, positives=ones)
        else:
            squares = sums.weight_squares * factor * factor
            weight = sums.weight * factor
            sums = replace(sums, weight=weight, weight_squares=squares, positives=positives)
        return Joint(sums, resolution=self.resolution, inherited_rounding=self._inherited_rounding)

    def recalibrated(self) -> Joint:
        """Replace each prediction by the mean outcome of its level: perfectly calibrated.

        Examples
        --------
        >>> Joint.from_counts([0.1, 0.3], [10, 10], [4, 4]).recalibrated().prediction
        array([0.4])
        """
        return self._with_predictions(self.outcome)

    def apply(self, mapping: Callable[[Floats], Any]) -> Joint:
        """Map every prediction with a vectorised function of [0, 1] to [0, 1].

        Examples
        --------
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).apply(lambda p: p / 2).prediction
        array([0.1, 0.3])
        """
        mapped = np.asarray(mapping(self.prediction), dtype=np.float64)
        if mapped.shape != self.prediction.shape or not ((mapped >= 0) & (mapped <= 1)).all():
            raise InvalidOptionError(
                "a map of predictions must return one value in [0, 1] for each",
                f"shape {mapped.shape}"
                + (f", from {mapped.min():g} to {mapped.max():g}" if mapped.size else ""),
            )
        return self._with_predictions(mapped)

    def simulated(self, rng: np.random.Generator | int | None = None) -> Joint:
        """Draw the outcomes anew from the predictions: a sample of J^p on the same rows.

        See `draw_positives` for what is drawn when rows have weights.

        Examples
        --------
        >>> joint = Joint.from_counts([0.0, 1.0], [5, 5], [2, 2])
        >>> joint.simulated(rng=0).outcome
        array([0., 1.])
        """
        return self.with_positives(draw_positives(self, as_generator(rng), 1)[0])

    def model_world(self) -> Joint:
        """Return J^p itself: the same predictions, each outcome 1 with exactly that probability.

        The world in which the forecasts are right. Nothing is drawn: `positives` are expected
        numbers, so it has values and no p-values; `simulated` draws a sample of it.

        Examples
        --------
        >>> joint = Joint.from_counts([0.2, 0.7], [10, 10], [2, 9])
        >>> world = joint.model_world()
        >>> world.outcome
        array([0.2, 0.7])
        >>> round(float(np.abs(joint.point_masses() - world.point_masses()).sum() / 2), 12)
        0.1
        """
        expected = replace(self.sums(), positives=self.weight * self.prediction, binary=False)
        return Joint(
            expected, resolution=self.resolution, inherited_rounding=self._inherited_rounding
        )

    def with_positives(self, positives: Floats) -> Joint:
        """Keep predictions and weights, with other outcomes."""
        return Joint(
            replace(self.sums(), positives=positives),
            resolution=self.resolution,
            inherited_rounding=self._inherited_rounding,
        )

    def _with_predictions(self, prediction: Floats) -> Joint:
        levels = self.sums().without_ends().at(prediction + 0.0)
        return Joint(levels.in_order().levels())

    # To Arrow and back.

    def to_arrow(self) -> pa.Table:
        """Return the Joint as an Arrow table, one row per level; `from_arrow` takes it back.

        Its metadata says what the levels cannot: `calibrant.schema`, `calibrant.rows`,
        `calibrant.resolution` (0 for exact levels), `calibrant.rounding` (the certificate) and
        more.

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).to_arrow().column_names
        ['prediction', 'weight', 'positives', 'rows', 'weight_squares', 'low', 'high']
        """
        from calibrant.joint.storage import table_of

        return table_of(self, self._inherited_rounding)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Make a Joint from a table written by `to_arrow`."""
        from calibrant.joint.storage import levels_of

        levels, resolution, inherited = levels_of(table)
        return cls(levels, resolution=resolution, inherited_rounding=inherited)

    def to_parquet(self, path: str | Path) -> None:
        """Store the Joint in a Parquet file; `from_parquet` reads it back.

        The file appears when it is complete, or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant import Joint
        >>> joint = Joint.from_samples([0, 1], [0.2, 0.6])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     joint.to_parquet(f"{folder}/monday.parquet")
        ...     Joint.from_parquet(f"{folder}/monday.parquet") == joint
        True
        """
        from calibrant.joint.storage import write_parquet

        write_parquet(self.to_arrow(), path)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read a Joint that `to_parquet` stored."""
        from calibrant.joint.storage import read_parquet

        return cls.from_arrow(read_parquet(path))

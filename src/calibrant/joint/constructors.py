"""Where a Joint comes from: samples, counts, dataframes, files, queries and batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from calibrant.arrays import Indices
from calibrant.data.input import read_numbers, refuse_other_labels
from calibrant.data.rows import Given, Rows
from calibrant.errors import InvalidForecastsError
from calibrant.joint import sums
from calibrant.joint.invariants import check_counts
from calibrant.joint.levels import JointLevels
from calibrant.joint.sums import FINEST, AnyRows, CellSums, LevelSums
from calibrant.options import check_within, power_of_two

if TYPE_CHECKING:
    from calibrant.data.columns import ColumnNames, Columns
    from calibrant.data.paths import Paths
    from calibrant.joint.engine.passes import Resolution
    from calibrant.joint.engine.tally import Tally

# Under this name rows keep the Joint that was made of them.
JOINT = "_joint"


class Constructed(JointLevels):
    """Every way to sum rows, or sums of rows, into the levels of a Joint."""

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
        return cls.from_rows(Given.read(y_true, y_proba, sample_weight, pos_label), resolution)

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
        held = cells.where(index)
        if np.array_equal(low, high):
            return cls(held.at(low)), sound
        return cls.of_cells(held.between(low, high), index, FINEST), sound

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
                given = Given.read(y_true, y_proba, weight, names.pos_label)
                tally = Tally.of_levels(sums.levels(given)[0], cells)
            else:
                tally = tally_frame(batch, names, cells)[0].placed()
            whole = tally if whole is None else whole.with_all_of(tally).added_up()
        if whole is None:
            raise InvalidForecastsError("there must be at least one batch", "none")
        return cls.of_tally(whole, names.width, exact_if_possible=resolution == "auto")

    @classmethod
    def of_columns(cls, frame: object, columns: Columns, resolution: Resolution) -> Self:
        """Sum the rows or the aggregates of a frame, by the parts that its columns play."""
        from calibrant.joint.engine.passes import tally_frame

        tally, _ = tally_frame(frame, columns, resolution)
        return cls.of_tally(tally.placed(), columns.width, exact_if_possible=resolution == "auto")

    @classmethod
    def of_tally(cls, tally: Tally, width: float, *, exact_if_possible: bool) -> Self:
        """Give the placed entries of one group their mean predictions."""
        placed = replace(
            tally.sums, binary=not tally.between.any(), clipped=int(tally.clipped.sum())
        )
        low, high = tally.ends()
        exact = exact_if_possible and np.array_equal(low, high)
        if tally.resolution is None or exact:
            return cls(placed.without_ends().at(low), inherited_rounding=width / 2)
        index = tally.key.astype(np.intp)
        return cls.of_cells(placed, index, tally.resolution, width / 2)

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


def _three(batch: tuple[object, ...]) -> tuple[object, object, object]:
    if len(batch) not in {2, 3}:
        raise InvalidForecastsError(
            "a batch must be a dataframe, or (y_true, y_proba) or (y_true, y_proba, sample_weight)",
            f"a tuple of {len(batch)}",
        )
    return (*batch, None)[:3]  # type: ignore[return-value]

"""Joint: the law J* of (prediction, outcome), of which every measure is a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError, InvalidOptionError, MissingPackageError
from calibrant.joint import sums
from calibrant.joint.checks import check_counts, check_levels, power_of_two
from calibrant.joint.draws import draw_positives
from calibrant.joint.gate import Floats, Rows
from calibrant.joint.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa

ARROW_SCHEMA = 1


class Joint:
    """The joint law of predictions and outcomes: distinct predictions, their weight and outcome.

    Make one with `from_samples`, `from_counts` or `from_arrow`; add two to merge them.

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
        for name, column in levels.columns().items():
            column.setflags(write=False)
            setattr(self, name, column)
        self.binary = levels.binary
        self.clipped = levels.clipped
        self.resolution = resolution
        self._inherited_rounding = inherited_rounding
        self._total = total

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
        >>> Joint.from_samples(["no", "yes"], [0.1, 0.7], pos_label="yes").base_rate
        0.5
        """
        return cls.from_rows(Rows.read(y_true, y_proba, sample_weight, pos_label), resolution)

    @classmethod
    def from_rows(cls, rows: Rows, resolution: int | None = None) -> Self:
        """Group rows that came through the gate."""
        if resolution is None:
            return cls(sums.levels(rows))
        return cls._of_cells(sums.cells(rows, power_of_two(resolution)), resolution)

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
    def _of_cells(cls, cell_sums: Sums, resolution: int, inherited_rounding: float = 0.0) -> Self:
        """Give each cell that holds weight its mean prediction."""
        index = np.flatnonzero(cell_sums.weight > 0)
        kept = cell_sums.where(index)
        mean = mean_within(kept, index / resolution, (index + 1) / resolution)
        return cls(
            kept.with_prediction(mean),
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

        In a cell of width h with mean prediction a + s the mean absolute deviation from the mean
        is largest for mass at both ends, 2 s (h - s) / h; a single row has not moved at all.
        """
        if self.resolution is None:
            return self._inherited_rounding
        width = 1.0 / self.resolution
        index = cell_index(self.prediction, self.resolution)
        above = self.prediction - index * width
        moved = np.where(self.rows > 1, 2 * above * (width - above) / width, 0.0)
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
        if not isinstance(other, Joint):
            return NotImplemented
        ours, theirs = self._sums().columns(), other._sums().columns()
        return self.resolution == other.resolution and all(
            np.array_equal(ours[name], theirs[name]) for name in ours
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def __add__(self, other: Joint) -> Joint:
        """Merge two laws; the coarser resolution wins."""
        if not isinstance(other, Joint):
            return NotImplemented
        total = self.total + other.total
        resolutions = [j.resolution for j in (self, other) if j.resolution is not None]
        if resolutions:
            coarser = min(resolutions)
            first, second = self.rounded(coarser), other.rounded(coarser)
        else:
            coarser, first, second = None, self, other
        inherited = (
            first._inherited_rounding * first.total + second._inherited_rounding * second.total
        ) / total
        both = first._sums().merged(second._sums())
        if coarser is None:
            return Joint(both.levels(), inherited_rounding=inherited)
        cells = _in_cells(both, coarser)
        return Joint._of_cells(cells, coarser, inherited)

    def rounded(self, resolution: int) -> Joint:
        """Round predictions to cells of width 1/resolution, each with its mean prediction.

        Parameters
        ----------
        resolution : int
            Number of cells, a power of two.

        Returns
        -------
        Joint
            The law of the rounded predictor; `rounding` bounds how far predictions moved.

        Examples
        --------
        >>> joint = Joint.from_samples([0, 1, 1], [0.10, 0.11, 0.9])
        >>> joint.rounded(8).prediction
        array([0.105, 0.9  ])
        """
        power_of_two(resolution)
        if self.resolution is not None and self.resolution <= resolution:
            return self
        # Cells of powers of two are nested: the final cell alone bounds the way from the rows.
        return Joint._of_cells(
            _in_cells(self._sums(), resolution), resolution, self._inherited_rounding
        )

    def recalibrated(self) -> Joint:
        """Replace each prediction by the mean outcome of its level: perfectly calibrated.

        Examples
        --------
        >>> Joint.from_counts([0.1, 0.3], [10, 10], [4, 4]).recalibrated().prediction
        array([0.4])
        """
        return self._moved_to(self.outcome)

    def apply(self, mapping: Callable[[Floats], Any]) -> Joint:
        """Map every prediction with a vectorised function of [0, 1] to [0, 1].

        Examples
        --------
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).apply(lambda p: p / 2).prediction
        array([0.1, 0.3])
        """
        moved = np.asarray(mapping(self.prediction), dtype=np.float64)
        if moved.shape != self.prediction.shape or not ((moved >= 0) & (moved <= 1)).all():
            raise InvalidOptionError(
                "a map of predictions must return one value in [0, 1] for each",
                f"shape {moved.shape}"
                + (f", from {moved.min():g} to {moved.max():g}" if moved.size else ""),
            )
        return self._moved_to(moved)

    def simulated(self, rng: np.random.Generator | int | None = None) -> Joint:
        """Redraw the outcomes as coins of the predicted bias: a sample of J^p on the same rows.

        See `draw_positives` for what is drawn when rows have weights.

        Examples
        --------
        >>> joint = Joint.from_counts([0.0, 1.0], [5, 5], [2, 2])
        >>> joint.simulated(rng=0).outcome
        array([0., 1.])
        """
        return self.with_positives(draw_positives(self, np.random.default_rng(rng), 1)[0])

    def with_positives(self, positives: Floats) -> Joint:
        """Keep predictions and weights, with other outcomes."""
        return Joint(
            replace(self._sums(), positives=positives),
            resolution=self.resolution,
            inherited_rounding=self._inherited_rounding,
        )

    def to_arrow(self) -> pa.Table:
        """Return the Joint as an Arrow table, one row per level; `from_arrow` takes it back.

        Examples
        --------
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).to_arrow().column_names
        ['prediction', 'weight', 'positives', 'rows', 'weight_squares']
        """
        pyarrow = _pyarrow()
        metadata = {
            "calibrant.schema": str(ARROW_SCHEMA),
            "calibrant.binary": str(int(self.binary)),
            "calibrant.clipped": str(self.clipped),
            "calibrant.resolution": str(self.resolution or 0),
            "calibrant.inherited_rounding": repr(self._inherited_rounding),
        }
        return pyarrow.table(self._sums().columns()).replace_schema_metadata(metadata)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Make a Joint from a table written by `to_arrow`."""
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        schema = metadata.get("calibrant.schema")
        if schema != str(ARROW_SCHEMA):
            raise InvalidForecastsError(
                f"an Arrow table of a Joint must carry calibrant.schema {ARROW_SCHEMA}",
                f"{schema}",
                "use Joint.from_samples or Joint.from_counts for other tables",
            )
        columns = {
            name: np.array(table.column(name), dtype=np.float64) for name in table.column_names
        }
        levels = Sums(
            **columns,
            binary=metadata["calibrant.binary"] == "1",
            clipped=int(metadata["calibrant.clipped"]),
        )
        check_levels(levels)
        return cls(
            levels,
            resolution=int(metadata["calibrant.resolution"]) or None,
            inherited_rounding=float(metadata["calibrant.inherited_rounding"]),
        )

    def summed_by(self, group: npt.NDArray[np.intp], count: int) -> Sums:
        """Add up levels by the number of their group; predictions become weighted sums."""
        weighted = self._sums().with_prediction(self.prediction * self.weight)
        return weighted.added_up(group, count)

    def _sums(self) -> Sums:
        return Sums(
            self.prediction,
            self.weight,
            self.positives,
            self.rows,
            self.weight_squares,
            self.binary,
            self.clipped,
        )

    def _moved_to(self, prediction: Floats) -> Joint:
        return Joint(self._sums().with_prediction(prediction + 0.0).in_order().levels())


def mean_within(group_sums: Sums, low: Floats, high: Floats) -> Floats:
    """Mean prediction of intervals [low, high), kept inside against rounding of the sums."""
    below = np.where(high < 1, np.nextafter(high, 0), 1.0)
    return np.clip(group_sums.prediction / group_sums.weight, low, below)


def cell_index(prediction: Floats, resolution: int) -> npt.NDArray[np.intp]:
    """Find the cells of predictions; 1 is in the last one."""
    return np.minimum((prediction * resolution).astype(np.intp), resolution - 1)


def _in_cells(levels: Sums, resolution: int) -> Sums:
    weighted = levels.with_prediction(levels.prediction * levels.weight)
    return weighted.added_up(cell_index(levels.prediction, resolution), resolution)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingPackageError(
            "Arrow tables need pyarrow", "no such package", "pip install calibrant[arrow]"
        ) from error
    return pa

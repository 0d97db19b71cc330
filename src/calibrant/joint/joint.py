"""Joint: the joint distribution J* of (prediction, outcome); every measure is a function of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidOptionError
from calibrant.joint.constructors import Constructed
from calibrant.joint.draws import draw_positives
from calibrant.joint.sums import in_cells
from calibrant.options import as_generator, power_of_two

if TYPE_CHECKING:
    import pyarrow as pa


class Joint(Constructed):
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

    def _moved_to(self, prediction: Floats) -> Joint:
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

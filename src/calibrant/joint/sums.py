"""Sums over levels, cells or bins: the small tables that a Joint is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, Indices
from calibrant._base.parallel import thread_count
from calibrant.data.rows import RawRows, Rows, refuse_swap

if TYPE_CHECKING:
    from calibrant.joint.joint import Joint

AnyRows = RawRows | Rows

# What both kinds of sums are made of besides their predictions.
COUNTED = ("weight", "positives", "rows", "weight_squares")
# Very many rows are summed in so many cells: the smooth error then moves by less than 8e-6.
FINEST = 2**16
# Rows of few different predictions are counted faster than anything is computed for each: so many
# rows are looked at, and so many predictions among them are few.
LOOKED_AT, FEW = 2**10, 2**8
# Ends of cells are looked for among so many rows at a time, to hold few indices.
BLOCK = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """One entry per group of rows: what levels and cells have in common."""

    weight: Floats
    positives: Floats
    rows: Floats
    weight_squares: Floats
    low: Floats | None = None
    """Smallest prediction of the rows of each entry; None where nobody looked."""
    high: Floats | None = None
    """Largest prediction of the rows of each entry."""
    binary: bool = True
    clipped: int = 0

    def columns(self) -> dict[str, Floats]:
        """Return the arrays by name, `low` and `high` only where they are known."""
        names = COUNTED if self.low is None else (*COUNTED, "low", "high")
        return {name: getattr(self, name) for name in names}

    def where(self, keep: npt.NDArray[Any] | slice) -> Self:
        """Keep or reorder entries by a mask, an index or a slice."""
        return self.each(lambda entries: entries[keep])

    def each(self, change: Callable[[Floats], Floats]) -> Self:
        """Change all arrays; without weights rows, weights and their squares are one array."""
        distinct = {id(entries): entries for entries in self.columns().values()}
        changed = {key: change(entries) for key, entries in distinct.items()}
        columns: dict[str, Any] = {
            name: changed[id(entries)] for name, entries in self.columns().items()
        }
        return replace(self, **columns)

    def between(self, low: Floats, high: Floats) -> Self:
        """Say between which predictions the rows of each entry lie."""
        return replace(self, low=low, high=high)

    def without_ends(self) -> Self:
        """Forget how far the rows of an entry spread."""
        return replace(self, low=None, high=None)

    def with_all_of(self, other: Self) -> Self:
        """Append the entries of another table."""
        theirs = other.columns()
        both: dict[str, Any] = {
            name: np.append(ours, theirs[name]) for name, ours in self.columns().items()
        }
        binary, clipped = self.binary and other.binary, self.clipped + other.clipped
        return replace(self, **both, binary=binary, clipped=clipped)

    def _shared(self) -> dict[str, Any]:
        """Return what is the same in the other kind of sums."""
        ends = {"low": self.low, "high": self.high}
        counted = {name: getattr(self, name) for name in COUNTED}
        return {**counted, **ends, "binary": self.binary, "clipped": self.clipped}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSums(Sums):
    """Sums over rows that share a prediction, or that are taken for one: what a Joint holds."""

    prediction: Floats

    def columns(self) -> dict[str, Floats]:
        """Return the arrays by name, `low` and `high` only where they are known."""
        return {"prediction": self.prediction, **Sums.columns(self)}

    def ends(self) -> tuple[Floats, Floats]:
        """Smallest and largest prediction of each level; the level itself where nobody looked."""
        if self.low is None or self.high is None:
            return self.prediction, self.prediction
        return self.low, self.high

    def with_ends(self) -> LevelSums:
        """Say of levels that all their rows have their prediction, unless more is known."""
        return self.between(*self.ends())

    def at(self, prediction: Floats) -> LevelSums:
        """Give the same entries other predictions."""
        return replace(self, prediction=prediction)

    def merged(self, other: LevelSums) -> LevelSums:
        """All entries of both tables, in the order of their predictions."""
        if self.low is None and other.low is None:
            return self.with_all_of(other).in_order()
        return self.with_ends().with_all_of(other.with_ends()).in_order()

    def in_order(self) -> LevelSums:
        """Sort the entries by prediction."""
        return self.where(np.argsort(self.prediction, kind="stable"))

    def levels(self) -> LevelSums:
        """Add up entries with bit-equal predictions, given in order."""
        first = np.flatnonzero(np.diff(self.prediction, prepend=-1.0) > 0)
        if first.size == self.prediction.size:
            return self
        return self.weighted().in_runs(first).at(self.prediction[first])

    def weighted(self) -> CellSums:
        """Multiply predictions by weights, so that entries can be added up."""
        return CellSums(moment=self.prediction * self.weight, **self._shared())


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums(Sums):
    """Sums over cells, bins or pools, whose rows have different predictions."""

    moment: Floats
    """Sum of weight times the distance of the prediction from the origin."""
    origin: Floats | None = None
    """Where distances of each entry are measured from; None for zero."""

    def columns(self) -> dict[str, Floats]:
        """Return the arrays by name, those that are not known left out."""
        origin = {} if self.origin is None else {"origin": self.origin}
        return {"moment": self.moment, **origin, **Sums.columns(self)}

    def from_zero(self) -> CellSums:
        """Measure predictions from zero."""
        if self.origin is None:
            return self
        return replace(self, moment=self.moment + self.weight * self.origin, origin=None)

    def added_up(self, group: Indices, count: int) -> CellSums:
        """Add up neighbouring entries by the number of their group, which must not decrease.

        Entries of one group have one origin.
        """
        first = np.flatnonzero(np.diff(group, prepend=-1))
        runs = self.in_runs(first)
        if first.size == count:
            return runs

        def scattered(entries: Floats) -> Floats:
            results = np.zeros(count)
            results[group[first]] = entries
            return results

        return runs.each(scattered)

    def in_runs(self, first: Indices) -> CellSums:
        """Add up runs of neighbouring entries, given the first entry of each.

        Entries of one run have one origin.
        """

        def reduced(entries: Floats, by: np.ufunc = np.add) -> Floats:
            return np.asarray(by.reduceat(entries, first))

        sums = replace(self.without_ends(), origin=None).each(reduced)
        if self.origin is not None:
            sums = replace(sums, origin=self.origin[first])
        if self.low is None or self.high is None:
            return sums
        return sums.between(reduced(self.low, np.minimum), reduced(self.high, np.maximum))

    def mean_within(self, low: Floats, high: Floats) -> Floats:
        """Mean prediction of intervals [low, high), kept inside against rounding of the sums."""
        below = np.where(high < 1, np.nextafter(high, 0), 1.0)
        return np.clip(self.from_zero().moment / self.weight, low, below)

    def at(self, prediction: Floats) -> LevelSums:
        """Take each entry for a level."""
        return LevelSums(prediction=prediction, **self._shared())


def cell_index(prediction: Floats, resolution: int) -> Indices:
    """Find the cells of predictions; 1 is in the last one."""
    return np.minimum((prediction * resolution).astype(np.intp), resolution - 1)


def level_of(prediction: Floats, joint: Joint) -> Indices:
    """Index of the level, or of the cell, of each prediction."""
    if joint.resolution is None:
        return np.searchsorted(joint.prediction, prediction)
    number = np.zeros(joint.resolution, dtype=np.intp)
    number[cell_index(joint.prediction, joint.resolution)] = np.arange(len(joint))
    return np.asarray(number[cell_index(prediction, joint.resolution)])


def in_cells(levels: LevelSums, resolution: int) -> tuple[CellSums, Indices]:
    """Add up levels in ascending order by cell: sums of the cells that hold some, their numbers."""
    of_level = cell_index(levels.prediction, resolution)
    first = np.flatnonzero(np.diff(of_level, prepend=-1))
    sums = levels.weighted().in_runs(first)
    if levels.low is None:
        last = np.append(first[1:], of_level.size) - 1
        sums = sums.between(levels.prediction[first], levels.prediction[last])
    return sums, of_level[first]


def levels(rows: AnyRows) -> tuple[LevelSums, Rows]:
    """Group rows by bit-equal predictions; the rows, checked."""
    if isinstance(rows, Rows) and not rows.kind.summed:
        return levels_of_kind(rows), rows
    (prediction, *columns), binary, checked = _passed(rows, kernels.levels, thread_count())
    return LevelSums(prediction=prediction, **_counted(columns, checked, binary)), checked


def seem_few(rows: AnyRows) -> bool:
    """Whether rows seem to have few levels, which are counted without a sort; a guess."""
    size = rows.prediction.size
    if rows.weight is not None or size < 4 * LOOKED_AT:
        return False
    return len(np.unique(rows.prediction[:: size // LOOKED_AT])) <= FEW


def levels_of_numbers(position: Floats, number: Floats, weight: Floats | None) -> LevelSums:
    """Add up numbers in [0, 1] by the position in [0, 1] that they are at; nothing is checked."""
    levels, *columns, _, binary = kernels.levels(position, number, weight, thread_count())
    sound = Rows(position, number, weight)
    return LevelSums(prediction=levels, **_counted(columns, sound, binary))


def levels_of_kind(rows: Rows) -> LevelSums:
    """Add up the residuals of rows by the position of their forecasts, in units of the scale.

    Kernels need positions and residuals only, so `positives` are what makes the residuals right.
    For means of outcomes in a known range they are sums of outcomes, scaled to [0, 1].
    """
    if rows.kind.compares_numbers(rows.scale):
        return levels_of_numbers(rows.position, rows.scale.positions(rows.outcome), rows.weight)
    least, most = float(rows.residual.min()), float(rows.residual.max())
    spread = most - least if most > least else 1.0
    number = rows.residual - least
    number /= spread
    sums = levels_of_numbers(rows.position, number, rows.weight)
    residual_mass = (sums.positives * spread + sums.weight * least) / rows.scale.unit
    return replace(sums, positives=sums.weight * sums.prediction + residual_mass, binary=False)


def bins(rows: AnyRows, edges: Floats, *, closed_left: bool) -> CellSums:
    """Sum rows over the intervals between edges."""
    return _in_cells(rows, kernels.bins, edges, closed_left)[0]


def cells(rows: AnyRows, count: int) -> tuple[CellSums, Rows]:
    """Sum rows over `count` cells of equal width, a power of two; the rows, checked."""
    return _in_cells(rows, kernels.cells, count)


def ends_of_cells(rows: Rows, count: int) -> tuple[Floats, Floats]:
    """Smallest and largest prediction in each of `count` cells; empty cells have no such ends."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for start in range(0, rows.prediction.size, BLOCK):
        block = slice(start, start + BLOCK)
        prediction = rows.prediction[block]
        if rows.weight is not None:
            prediction = prediction[rows.weight[block] > 0]
        index = cell_index(prediction, count)
        np.minimum.at(low, index, prediction)
        np.maximum.at(high, index, prediction)
    return low, high


def node_charges(rows: AnyRows, count: int) -> tuple[Floats, Rows]:
    """Share residuals times weight out between the nodes 0, 1/count, ..., 1; the rows, checked."""
    (residual_mass,), _, checked = _passed(rows, kernels.node_charges, count)
    return np.asarray(residual_mass), checked


def _in_cells(
    rows: AnyRows, kernel: Callable[..., Any], *arguments: object
) -> tuple[CellSums, Rows]:
    (moment, *columns), binary, checked = _passed(rows, kernel, *arguments)
    return CellSums(moment=moment, **_counted(columns, checked, binary)), checked


def _counted(columns: list[Any], rows: Rows, binary: bool) -> dict[str, Any]:  # noqa: FBT001
    """Name the columns of a kernel; without weights it leaves out what weights would be."""
    weight, positives, counts, squares = columns
    return {
        "weight": weight,
        "positives": positives,
        "rows": weight if counts is None else counts,
        "weight_squares": weight if squares is None else squares,
        "binary": binary,
        "clipped": rows.clipped,
    }


def _passed(
    rows: AnyRows, kernel: Callable[..., Any], *arguments: object
) -> tuple[list[Any], bool, Rows]:
    """Run a pass over rows; check the rows and run it again if it counts bad ones."""
    *result, bad, binary = kernel(rows.prediction, rows.outcome, rows.weight, *arguments)
    checked = rows.checked() if bad else rows.found_sound()
    if bad:
        columns = (checked.prediction, checked.outcome, checked.weight)
        *result, bad, binary = kernel(*columns, *arguments)
    if not binary:
        refuse_swap(checked)
    return result, binary, checked

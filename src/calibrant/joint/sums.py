"""Sums over levels, cells or bins: the small table that a Joint is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant.arrays import Floats
from calibrant.joint.gate import Rows, refuse_swap

# What the law itself is made of; the rest says how it was come by.
LAW = ("prediction", "weight", "positives", "rows", "weight_squares")


@dataclass(frozen=True, slots=True)
class Sums:
    """One entry per group of rows, all sums: of weight times prediction, of weight, and so on."""

    prediction: Floats
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
        names = LAW if self.low is None else (*LAW, "low", "high")
        return {name: getattr(self, name) for name in names}

    def added_up(self, group: npt.NDArray[np.intp], count: int) -> Sums:
        """Add up neighbouring entries by the number of their group, which must not decrease."""
        first = np.flatnonzero(np.diff(group, prepend=-1))

        def reduced(entries: Floats, by: np.ufunc = np.add) -> Floats:
            results = np.zeros(count)
            results[group[first]] = by.reduceat(entries, first)
            return results

        sums = self.without_ends().each(reduced)
        if self.low is None or self.high is None:
            return sums
        low, high = reduced(self.low, np.minimum), reduced(self.high, np.maximum)
        return replace(sums, low=low, high=high)

    def ends(self) -> tuple[Floats, Floats]:
        """Smallest and largest prediction of each level; the level itself where nobody looked."""
        if self.low is None or self.high is None:
            return self.prediction, self.prediction
        return self.low, self.high

    def with_ends(self) -> Sums:
        """Say of levels that all their rows have their prediction, unless more is known."""
        return self.between(*self.ends())

    def between(self, low: Floats, high: Floats) -> Sums:
        """Say between which predictions the rows of each entry lie."""
        return replace(self, low=low, high=high)

    def without_ends(self) -> Sums:
        """Forget how far the rows of an entry spread."""
        return replace(self, low=None, high=None)

    def with_prediction(self, prediction: Floats) -> Sums:
        """Put other values in the place of the sums of predictions."""
        return replace(self, prediction=prediction)

    def merged(self, other: Sums) -> Sums:
        """All entries of both tables, in the order of their predictions."""
        first, second = self, other
        if self.low is not None or other.low is not None:
            first, second = self.with_ends(), other.with_ends()
        theirs = second.columns()
        both: dict[str, Any] = {
            name: np.append(ours, theirs[name]) for name, ours in first.columns().items()
        }
        together = Sums(
            **both, binary=self.binary and other.binary, clipped=self.clipped + other.clipped
        )
        return together.in_order()

    def in_order(self) -> Sums:
        """Sort the entries by prediction."""
        return self.where(np.argsort(self.prediction, kind="stable"))

    def levels(self) -> Sums:
        """Add up entries with bit-equal predictions, given in order."""
        first = np.diff(self.prediction, prepend=-1.0) > 0
        group = np.cumsum(first) - 1
        return self.added_up(group, int(first.sum())).with_prediction(self.prediction[first])

    def where(self, keep: npt.NDArray[Any]) -> Sums:
        """Keep or reorder groups by a mask or an index."""
        return self.each(lambda entries: entries[keep])

    def each(self, change: Callable[[Floats], Floats]) -> Sums:
        """Change all arrays; without weights rows, weights and their squares are one array."""
        distinct = {id(entries): entries for entries in self.columns().values()}
        changed = {key: change(entries) for key, entries in distinct.items()}
        columns: dict[str, Any] = {
            name: changed[id(entries)] for name, entries in self.columns().items()
        }
        return replace(self, **columns)


def levels(rows: Rows) -> Sums:
    """Group rows by bit-equal predictions; `prediction` is the level, not yet times its weight."""
    return _checked(rows, kernels.levels)


def bins(rows: Rows, edges: Floats, *, closed_left: bool) -> Sums:
    """Sum rows over the intervals between edges."""
    return _checked(rows, kernels.bins, edges, closed_left)


def cells(rows: Rows, count: int) -> Sums:
    """Sum rows over `count` cells of equal width, a power of two."""
    return _checked(rows, kernels.cells, count)


def node_charges(rows: Rows, count: int) -> tuple[Floats, Rows]:
    """Share residuals times weight out between the nodes 0, 1/count, ..., 1; the rows, cured."""
    (charge,), _, rows = _passed(rows, kernels.node_charges, count)
    return np.asarray(charge), rows


def _passed(rows: Rows, kernel: Callable[..., Any], *arguments: object) -> Any:
    """Run a pass over rows; cure the rows and run it again if it counts bad ones."""
    *result, bad, binary = kernel(rows.prediction, rows.outcome, rows.weight, *arguments)
    if bad:
        rows = rows.cure()
        *result, bad, binary = kernel(rows.prediction, rows.outcome, rows.weight, *arguments)
    if not binary:
        refuse_swap(rows)
    return result, binary, rows


def _checked(rows: Rows, kernel: Callable[..., Any], *arguments: object) -> Sums:
    (prediction, weight, positives, counts, squares), binary, rows = _passed(
        rows, kernel, *arguments
    )
    return Sums(
        prediction,
        weight,
        positives,
        weight if counts is None else counts,
        weight if squares is None else squares,
        binary=binary,
        clipped=rows.clipped,
    )

"""Sums over levels, cells or bins: the small table that a Joint is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant.joint.gate import Floats, Rows, refuse_swap


@dataclass(frozen=True, slots=True)
class Sums:
    """One entry per group of rows, all sums: of weight times prediction, of weight, and so on."""

    prediction: Floats
    weight: Floats
    positives: Floats
    rows: Floats
    weight_squares: Floats
    binary: bool = True
    clipped: int = 0

    def columns(self) -> dict[str, Floats]:
        """Return the five arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)[:5]}

    def added_up(self, group: npt.NDArray[np.intp], count: int) -> Sums:
        """Add up neighbouring entries by the number of their group, which must not decrease."""
        first = np.flatnonzero(np.diff(group, prepend=-1))

        def totals(entries: Floats) -> Floats:
            sums = np.zeros(count)
            sums[group[first]] = np.add.reduceat(entries, first)
            return sums

        return self.each(totals)

    def with_prediction(self, prediction: Floats) -> Sums:
        """Put other values in the place of the sums of predictions."""
        return replace(self, prediction=prediction)

    def merged(self, other: Sums) -> Sums:
        """All entries of both tables, in the order of their predictions."""
        theirs = other.columns()
        both = {name: np.append(ours, theirs[name]) for name, ours in self.columns().items()}
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
        binary,
        rows.clipped,
    )

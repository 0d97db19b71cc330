"""Predictions that are patched round by round, and the tables of groups that tell where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.groupings import Codes, Grouping, Partition, label_of
from calibrant.groups.division import crossed
from calibrant.repair.patches import Patch

# A gain on the rows held out must exceed its standard error so many times.
STANDARD_ERRORS = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """A patch that was kept, and what it did to the mean squared error."""

    patch: Patch
    group: str
    violation: float
    """Bias of the rows that it moved, times their share: what the audit found."""
    promised: float
    """Least decrease of the potential that is proven."""
    decrease: float
    """Decrease of the potential on the rows it was fitted to."""
    held_out: float
    """Decrease on the rows held out."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups as sums of patterns, the combinations of levels that occur.

    The tables of all groups follow from the small table of patterns.
    """

    names: list[str]
    levels: list[tuple[tuple[int, int], ...]]
    """Column and level, by number, that the rows of a group have."""
    members: Any
    """Sparse matrix of ones, one row per group and one column per pattern."""

    @property
    def patterns(self) -> int:
        """How many patterns there are."""
        return int(self.members.shape[1])

    def patterns_of(self, group: int) -> npt.NDArray[np.bool_]:
        """Tell which patterns belong to a group."""
        belongs = np.zeros(self.patterns, dtype=bool)
        belongs[self.members[[group]].indices] = True
        return belongs


@dataclass(slots=True)
class DividedRows:
    """Rows with their pattern; those held out judge what the others find.

    If none is held out, patches are judged by the rows they are fitted to, and must be clearer the
    more of them there are to try.
    """

    p: Floats
    y: Floats
    weight: Floats
    """Adds up to one over the rows fitted to, and over the rows held out."""
    held: npt.NDArray[np.bool_]
    pattern: Codes
    groups: Groups

    @classmethod
    def divided(
        cls,
        prediction: Floats,
        outcome: Floats,
        weight: Floats,
        held: npt.NDArray[np.bool_],
        parts: Sequence[Partition],
    ) -> DividedRows:
        """Divide rows by columns, and by pairs of them if there are any."""
        share = weight / np.where(held, weight[held].sum(), weight[~held].sum())
        singles = [part for part in parts if len(part.groupings) == 1]
        pattern = crossed(singles, prediction.size)
        return cls(prediction.copy(), outcome, share, held, pattern, _groups(parts, pattern))

    @property
    def judges(self) -> npt.NDArray[np.bool_]:
        """Rows that judge patches."""
        return self.held if self.held.any() else ~self.held

    def standard_errors(self, tests: int) -> float:
        """How many standard errors a gain must exceed.

        One on rows held out. A gain on the rows fitted to is half as many standard errors as the
        bias behind it, which must exceed sqrt(2 log tests) of them: more than the largest of so
        many biases that are noise (Donoho, Johnstone 1994).
        """
        return STANDARD_ERRORS if self.held.any() else float(np.sqrt(np.log(tests) / 2))

    def tables(self, entries: Sequence[Floats]) -> Floats:
        """Add up entries by half (fitted, held out), group and entry."""
        count = self.groups.patterns
        code = self.pattern + count * self.held
        sums = np.stack([np.bincount(code, entry, 2 * count) for entry in entries], axis=-1)
        return np.stack([self.groups.members @ half for half in np.split(sums, 2)])

    def error(self, cells: int) -> float:
        """Multicalibration error of the rows that judge."""
        cell = cell_of(self.p, cells)
        charge = np.where(self.judges, self.weight * (self.y - self.p), 0.0)
        count = self.groups.patterns
        sums = np.bincount(self.pattern * cells + cell, charge, count * cells)
        return float(np.abs(self.groups.members @ sums.reshape(count, cells)).sum(axis=1).max())


def cell_of(prediction: Floats, cells: int) -> Codes:
    """Find cells by the same ends that patches have."""
    return np.searchsorted(np.arange(1, cells) / cells, prediction, side="right")


def more_than_noise(gain: Any, squares: Any, errors: float = STANDARD_ERRORS) -> Any:
    """Whether gains exceed so many standard errors."""
    return gain > errors * np.sqrt(np.maximum(squares, 0.0))


def groupings_of(parts: Sequence[Partition]) -> tuple[Grouping, ...]:
    """All groupings, each once; a column of many labels has a coarser one in pairs."""
    return tuple({id(grouping): grouping for part in parts for grouping in part.groupings}.values())


def _groups(parts: Sequence[Partition], pattern: Codes) -> Groups:
    from scipy.sparse import csr_array

    count = int(pattern.max()) + 1
    example = np.zeros(count, dtype=np.intp)
    example[pattern] = np.arange(pattern.size)
    names: list[str] = ["all rows"]
    levels: list[tuple[tuple[int, int], ...]] = [()]
    rows = [np.zeros(count, dtype=np.int64)]
    place = {id(grouping): i for i, grouping in enumerate(groupings_of(parts))}
    for part in parts:
        codes, group = np.unique(part.codes[example], return_inverse=True)
        rows.append(len(names) + group)
        shape = [len(grouping) for grouping in part.groupings]
        columns = [place[id(grouping)] for grouping in part.groupings]
        for code in codes:
            found = [int(level) for level in np.unravel_index(int(code), shape)]
            names.append(label_of(part.by, part.name(int(code))))
            levels.append(tuple(zip(columns, found, strict=True)))
    at = (np.concatenate(rows), np.tile(np.arange(count), len(rows)))
    members = csr_array((np.ones(at[0].size), at), shape=(len(names), count))
    return Groups(names, levels, members)

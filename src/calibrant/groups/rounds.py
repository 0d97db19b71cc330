"""Predictions that are patched round by round, and the tables of groups that tell where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats
from calibrant.data.groupings import Codes, Grouping, Partition, label_of
from calibrant.groups.audit import crossed
from calibrant.recalibration import Patch


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


@dataclass(frozen=True, slots=True)
class PatternGroups:
    """PatternGroups as sums of patterns, the combinations of levels that occur.

    The tables of all groups follow from the small table of patterns.
    """

    names: list[str]
    levels: list[tuple[tuple[int, int], ...]]
    """Column and level, by number, that the rows of a group have."""
    members: Any
    """Sparse matrix of ones, one row per group and one column per pattern."""
    of: Codes
    """PatternGroups of each pattern, one column for all rows and one for each division."""

    @property
    def patterns(self) -> int:
        """How many patterns there are."""
        return int(self.members.shape[1])

    def patterns_of(self, group: int) -> npt.NDArray[np.bool_]:
        """Tell which patterns belong to a group."""
        belongs = np.zeros(self.patterns, dtype=bool)
        belongs[self.members[[group]].indices] = True
        return belongs


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows with their pattern. Those without weight have no say, but are patched as well."""

    p: Floats
    y: Floats
    weight: Floats
    """Adds up to one."""
    pattern: Codes
    groups: PatternGroups

    @classmethod
    def of(
        cls, prediction: Floats, outcome: Floats, weight: Floats, parts: Sequence[Partition]
    ) -> GroupedRows:
        """Group rows by columns, and by pairs of them if there are any."""
        singles = [part for part in parts if len(part.groupings) == 1]
        pattern = crossed(singles, prediction.size)
        share = weight / weight.sum()
        return cls(prediction.copy(), outcome, share, pattern, _groups(parts, pattern))

    def heeding(self, rows: Flags) -> GroupedRows:
        """Use the weights of some of the rows only."""
        weight = np.where(rows, self.weight, 0.0)
        return replace(self, weight=weight / weight.sum())

    def tables(self, entries: Sequence[Floats]) -> Floats:
        """Add up entries by group and entry."""
        count = self.groups.patterns
        sums = [np.bincount(self.pattern, entry, count) for entry in entries]
        return np.asarray(self.groups.members @ np.stack(sums, axis=-1))

    def error(self, cells: int) -> float:
        """Multicalibration error."""
        cell = cell_of(self.p, cells)
        count = self.groups.patterns
        residual_mass = self.weight * (self.y - self.p)
        sums = np.bincount(self.pattern * cells + cell, residual_mass, count * cells)
        return float(np.abs(self.groups.members @ sums.reshape(count, cells)).sum(axis=1).max())

    def replayed(self, patches: Iterable[Patch]) -> Floats:
        """Predictions after some patches, row by row."""
        p = self.p.copy()
        for patch in patches:
            belongs = self.groups.patterns_of(self.groups.levels.index(patch.groups))
            inside = np.flatnonzero(belongs[self.pattern] & patch.covers(p))
            p[inside] = patch.recalibrated(p[inside])
        return p


def cell_of(prediction: Floats, cells: int) -> Codes:
    """Find cells by the same ends that patches have."""
    return np.searchsorted(np.arange(1, cells) / cells, prediction, side="right")


def clear_of_noise(bias: Floats, variances: Sequence[Floats], tests: int) -> Flags:
    """Whether biases are more than the largest of so many that are noise.

    That is sqrt(2 log tests) standard errors (Donoho, Johnstone 1994), by the largest of several
    variances: that of the sample, and that of one in which the predictions are right, because few
    events hide their spread.
    """
    error = np.sqrt(np.maximum(np.max(variances, axis=0), 0.0))
    return np.asarray(np.abs(bias) > np.sqrt(2 * np.log(max(tests, 2))) * error)


def groupings_of(parts: Sequence[Partition]) -> tuple[Grouping, ...]:
    """All groupings, each once; a column of many labels has a coarser one in pairs."""
    return tuple({id(grouping): grouping for part in parts for grouping in part.groupings}.values())


def _groups(parts: Sequence[Partition], pattern: Codes) -> PatternGroups:
    from scipy.sparse import csr_array

    count = int(pattern.max()) + 1
    example = np.zeros(count, dtype=np.intp)
    example[pattern] = np.arange(pattern.size)
    names: list[str] = ["all rows"]
    levels: list[tuple[tuple[int, int], ...]] = [()]
    rows = [np.zeros(count, dtype=np.int64)]
    number_of = {id(grouping): i for i, grouping in enumerate(groupings_of(parts))}
    for part in parts:
        codes, group = np.unique(part.codes[example], return_inverse=True)
        rows.append(len(names) + group)
        shape = [len(grouping) for grouping in part.groupings]
        columns = [number_of[id(grouping)] for grouping in part.groupings]
        for code in codes:
            found = [int(level) for level in np.unravel_index(int(code), shape)]
            names.append(label_of(part.by, part.name(int(code))))
            levels.append(tuple(zip(columns, found, strict=True)))
    at = (np.concatenate(rows), np.tile(np.arange(count), len(rows)))
    members = csr_array((np.ones(at[0].size), at), shape=(len(names), count))
    return PatternGroups(names, levels, members, np.stack(rows, axis=1))

"""Search for conjunctions of conditions, on one half of the rows, where forecasts are worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Flags, Floats, Indices
from calibrant.data import hold_out
from calibrant.data.groupings import Partition
from calibrant.errors import InvalidOptionError
from calibrant.words import visible

LIMITS = DEPTH, WIDTH, SEGMENTS = 3, 8, 3
# Parts of the forecasts that a segment may be confined to.
PARTS_OF_FORECASTS = 5
# A segment must have so many rows in the half that looks for it.
FEWEST_ROWS = 50

Conditions = tuple[tuple[int, int], ...]
"""Column and level, by number, in the order of the columns."""


Named = tuple[tuple[str, str], ...]
"""Column and level, by name."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Rows that meet several conditions at once."""

    conditions: Named
    """Column and level of each condition."""
    rows: int
    """Rows of the half that tests it."""

    @property
    def label(self) -> str:
        """The conditions in words."""
        return visible(", ".join(f"{column} {level}" for column, level in self.conditions))


def no_columns() -> InvalidOptionError:
    """Return the refusal of a search without columns to combine."""
    return InvalidOptionError(
        "find_segments looks at combinations of columns", "no columns", "name them with by=..."
    )


def choose_segments(
    charge: Floats,
    variance: Floats,
    parts: Sequence[Partition],
    content: Sequence[npt.NDArray[Any] | None],
    rng: np.random.Generator,
    limits: tuple[int, int, int] = LIMITS,
    cluster: Indices | None = None,
) -> list[tuple[Named, Flags]]:
    """Choose segments on one half of the rows; return each with its rows of the other half.

    `content` is what rows hold besides their levels, for a split that does not depend on their
    order; `limits` are how deep and how wide to search, and how many segments to return.
    """
    codes = [part.codes for part in parts]
    search = hold_out(0.5, rng, *content, *codes, cluster=cluster)
    beam = SegmentSearch(
        charge[search],
        variance[search],
        [code[search] for code in codes],
        [part.size for part in parts],
    )
    return [
        (
            tuple((parts[column].by, parts[column].name(code)) for column, code in conditions),
            ~search & members_of(codes, conditions, charge.size),
        )
        for conditions in beam.best(*limits)
    ]


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """Beam search for the conjunction with the largest bias in standard errors."""

    charge: Floats
    """Residual of each row, times its weight."""
    variance: Floats
    """Variance of that if forecasts are right."""
    codes: Sequence[npt.NDArray[np.int64]]
    """Level of each row in each column, by number."""
    sizes: Sequence[int]
    """How many levels each column has."""

    def best(self, depth: int, width: int, count: int) -> list[Conditions]:
        """Return the strongest segments that do not overlap much."""
        beam: list[Conditions] = [()]
        seen: dict[Conditions, float] = {}
        for _ in range(depth):
            found = {
                conditions: score
                for parent in beam
                for conditions, score in self.refined(parent)
                if conditions not in seen
            }
            seen |= found
            beam = sorted(found, key=lambda conditions: -found[conditions])[:width]
        return self.apart(sorted(seen, key=lambda conditions: -seen[conditions]), count)

    def refined(self, parent: Conditions) -> Iterator[tuple[Conditions, float]]:
        """Score every segment with one more condition."""
        rows = np.flatnonzero(self.members(parent))
        charge, variance = self.charge[rows], self.variance[rows]
        used = {column for column, _ in parent}
        for column, codes in enumerate(self.codes):
            if column in used:
                continue
            code, size = codes[rows], self.sizes[column]
            bias = np.bincount(code, charge, size)
            spread = np.sqrt(np.bincount(code, variance, size))
            enough = (np.bincount(code, minlength=size) >= FEWEST_ROWS) & (spread > 0)
            for found in np.flatnonzero(enough):
                score = float(abs(bias[found]) / spread[found])
                yield tuple(sorted((*parent, (column, int(found))))), score

    def members(self, conditions: Conditions) -> Flags:
        """Rows of a segment."""
        return members_of(self.codes, conditions, self.charge.size)

    def apart(self, ordered: list[Conditions], count: int) -> list[Conditions]:
        """Skip segments that mostly repeat an earlier one."""
        chosen: list[Conditions] = []
        covered = np.zeros(self.charge.size, dtype=bool)
        for conditions in ordered:
            members = self.members(conditions)
            if members[covered].sum() < members.sum() / 2:
                chosen.append(conditions)
                covered |= members
            if len(chosen) == count:
                break
        return chosen


def members_of(codes: Sequence[npt.NDArray[np.int64]], conditions: Conditions, size: int) -> Flags:
    """Rows that meet all conditions."""
    inside = np.ones(size, dtype=bool)
    for column, level in conditions:
        inside &= codes[column] == level
    return inside

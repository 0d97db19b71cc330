"""Rows divided into groups that may overlap, and noise that all of them share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.data.groupings import MOST_LEVELS, PARTS, Codes, Grouping, Partition, partitions
from calibrant.data.input import read_labels
from calibrant.errors import CalibrantWarning
from calibrant.inference import Evidence, Evidences
from calibrant.inputs import Source
from calibrant.joint import Rows

# Groups of one outcome each are no surprise if right forecasts had them with a chance above this.
BY_CHANCE = 0.01


@dataclass(frozen=True, slots=True)
class Division:
    """Rows, and the columns or pairs of columns that divide them."""

    rows: Rows
    parts: tuple[Partition, ...]
    clusters: npt.NDArray[np.generic] | None = None

    @classmethod
    def of(
        cls,
        rows: Rows,
        by: Mapping[str, object],
        clusters: object = None,
        *,
        pairs: bool = False,
        parts: int = PARTS,
        most_levels: int = MOST_LEVELS,
    ) -> Division:
        """Divide rows that came through the gate; rows without weight are left out."""
        labels = (
            None if clusters is None else read_labels(clusters, "clusters", rows.prediction.size)
        )
        found = partitions(
            by,
            rows.prediction.size,
            pairs=pairs,
            parts=parts,
            most_levels=most_levels,
            weight=rows.weight,
        )
        if rows.weight is not None and not rows.weight.all():
            kept = rows.weight > 0
            rows = rows.where(kept)
            labels = None if labels is None else labels[kept]
            found = [part.where(kept) for part in found]
        division = cls(rows, tuple(found), labels)
        if rows.kind.summed:
            division.warn_of_outcomes()
        return division

    def members(self, part: Partition) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        """Yield number and rows of each group that has any."""
        order = np.argsort(narrow(part.codes, part.size), kind="stable")
        counts = np.bincount(part.codes, minlength=part.size)
        stops = np.cumsum(counts)
        for code in np.flatnonzero(counts):
            yield int(code), order[stops[code] - counts[code] : stops[code]]

    def groups(self) -> Iterator[tuple[str, str, Rows]]:
        """Yield columns, name and rows of every group."""
        for part in self.parts:
            for code, rows in self.members(part):
                yield part.by, part.name(code), self.rows.where(rows)

    def evidences(self) -> Iterator[tuple[str, str, Evidence]]:
        """Yield columns, name and evidence of every group, with the clusters of its rows."""
        for part in self.parts:
            for code, rows in self.members(part):
                labels = None if self.clusters is None else self.clusters[rows]
                yield part.by, part.name(code), Evidence.of_group(self.rows.where(rows), labels)

    def warn_of_outcomes(self) -> None:
        """Warn of columns that tell the outcome: groups made after the fact say nothing."""
        y = self.rows.outcome
        for part in self.parts:
            counts = np.bincount(part.codes, minlength=part.size)
            ones = np.bincount(part.codes, y, part.size)
            there = counts > 0
            settled = bool(np.all((ones == 0) | (ones == counts)))
            if settled and 2 <= there.sum() <= y.size / 2 and 0 < ones.sum() < y.size:
                if self._chance_of_one_outcome(part) > BY_CHANCE:
                    continue
                warnings.warn(
                    f"the groups of {part.by} tell the outcome: every group has one outcome only, "
                    "and no forecast could be calibrated in it",
                    CalibrantWarning,
                    stacklevel=3,
                )

    def _chance_of_one_outcome(self, part: Partition) -> float:
        """Chance that every group has one outcome only, if the forecasts are right."""
        p = self.rows.prediction
        with np.errstate(divide="ignore"):
            ones = np.bincount(part.codes, np.log(p), part.size)
            zeros = np.bincount(part.codes, np.log1p(-p), part.size)
        return float(np.exp(np.logaddexp(ones, zeros).clip(max=0.0).sum()))


def groups_of(source: Source) -> Division | Evidences | None:
    """Rows divided into groups, or the evidence of each where only sums are known; None if none."""
    if source.groups:
        return {key: Evidence.of_joint(joint) for key, joint in source.groups.items()}
    if source.rows is None or not source.by:
        return None
    roles = source.roles
    return Division.of(
        source.rows,
        source.by,
        source.clusters,
        pairs=roles.pairs,
        parts=roles.cuts,
        most_levels=roles.most_levels,
    )


def narrow(codes: Codes, size: int) -> npt.NDArray[np.integer]:
    """Codes in as few bytes as they need: numpy sorts short integers by their digits."""
    return codes.astype(np.uint16) if size <= 2**16 else codes


def families(parts: Sequence[Partition], size: int, cells: int, most: int) -> list[list[Partition]]:
    """Divisions that share their draws: all of them, if their cross is small enough.

    Otherwise every pair of columns has draws of its own, which its columns share, and columns
    that are in no pair have theirs. For normal draws and convex, symmetric errors, independent
    draws are conservative (the Gaussian correlation inequality, Royen 2014).
    """
    if len(parts) == 1 or _patterns(parts, size, most // (cells * len(parts))):
        return [list(parts)]
    found = [[part] for part in parts if len(part.groupings) > 1]
    for part in parts:
        if len(part.groupings) == 1:
            mine = part.groupings[0]
            homes = [f for f in found if any(mine is other for other in f[0].groupings)]
            if homes:
                homes[0].append(part)
            else:
                found.append([part])
    return found


def _patterns(parts: Sequence[Partition], size: int, most: int) -> bool:
    """Whether there are at most so many combinations; the first rows often know better."""
    for rows in (min(size, 2**15), size):
        some = [Partition(part.groupings, part.codes[:rows]) for part in parts]
        if int(crossed(some, rows).max()) + 1 > most:
            return False
    return True


def crossed(parts: Sequence[Partition], size: int) -> Codes:
    """Find the combination of groups that each row is in, by number."""
    pattern, largest = np.zeros(size, dtype=np.int64), 1
    known: list[Grouping] = []
    for part in sorted(parts, key=lambda part: len(part.groupings)):
        if all(any(grouping is other for other in known) for grouping in part.groupings):
            continue
        known += part.groupings
        pattern = pattern * part.size + part.codes
        largest *= part.size
        if largest > 2**20:
            pattern, largest = renumbered(pattern, largest)
    return renumbered(pattern, largest)[0]


def renumbered(codes: Codes, largest: int) -> tuple[Codes, int]:
    """Give the codes that occur numbers without gaps."""
    if largest > max(2**22, 4 * codes.size):
        found, numbered = np.unique(codes, return_inverse=True)
        return numbered.astype(np.int64), found.size
    seen = np.bincount(codes, minlength=largest) > 0
    return (np.cumsum(seen) - 1)[codes], int(seen.sum())

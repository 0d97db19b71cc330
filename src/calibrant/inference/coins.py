"""Rows that are coins: redrawn as perfect forecasts would have them, and how much they vary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, in_parts
from calibrant.data.rows import Rows
from calibrant.joint import Joint
from calibrant.joint.draws import draw_binomials, exact_levels
from calibrant.joint.sums import level_of

# Redrawing prepares every level before it draws: so many numbers make up for it.
DRAWN_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Coins:
    """Rows of one level and one weight, in the order of the levels."""

    level: npt.NDArray[np.intp]
    weight: Floats
    rows: npt.NDArray[np.int64]
    positives: Floats

    @classmethod
    def grouped(
        cls,
        level: npt.NDArray[np.intp],
        weight: Floats,
        rows: npt.NDArray[np.int64],
        positives: Floats,
    ) -> Coins:
        """Add up entries with the same level and weight."""
        order = np.lexsort((weight, level))
        level, weight = level[order], weight[order]
        heavier = ~np.isclose(weight[1:], weight[:-1], rtol=1e-12, atol=0)
        first = np.flatnonzero(np.append(True, (np.diff(level) > 0) | heavier))
        return cls(
            level[first],
            weight[first],
            np.add.reduceat(rows[order], first),
            np.add.reduceat(positives[order], first),
        )

    @classmethod
    def of_rows(cls, rows: Rows, joint: Joint, level: npt.NDArray[np.intp]) -> Coins:
        """Add up rows by level and weight; no level is empty."""
        outcome = np.asarray(rows.outcome, dtype=np.float64)
        if rows.weight is not None:
            return cls.grouped(level, rows.weight, np.ones(level.size, np.int64), outcome)
        size = len(joint)
        ones = np.bincount(level, outcome, size).astype(np.float64)
        return cls(np.arange(size), np.ones(size), np.bincount(level, minlength=size), ones)

    def sums(self, entries: Floats) -> Floats:
        """Add up over the coins of each level, along the last axis."""
        first = np.flatnonzero(np.diff(self.level, prepend=-1))
        return np.asarray(np.add.reduceat(entries, first, axis=-1))

    @classmethod
    def of_levels(cls, given: Joint, joint: Joint) -> Coins | None:
        """Add up levels, where rows of one level weigh the same; None where they do not."""
        if all(part is given.rows for part in (given.weight, given.weight_squares)):
            ones = np.ones(len(joint))
            return cls(np.arange(len(joint)), ones, joint.rows.astype(np.int64), joint.positives)
        if not exact_levels(given).all():
            return None
        each = given.weight / given.rows
        rows, ones = given.rows.astype(np.int64), np.rint(given.positives / each)
        if joint is given:
            return cls(np.arange(len(given)), each, rows, ones)
        return cls.grouped(level_of(given.prediction, joint), each, rows, ones)

    def redrawn(self, joint: Joint, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Charges of perfect forecasts on the levels of a Joint, many draws at once."""
        chance = joint.prediction[self.level]
        for count in in_parts(draws, self.level.size, DRAWN_AT_ONCE):
            charges = draw_binomials(self.rows, chance, count, rng)
            charges -= self.rows * chance
            charges *= self.weight / joint.total
            yield self.sums(charges) if self.level.size > len(joint) else charges

    def spreads(self, joint: Joint) -> tuple[Floats, Floats, float]:
        """Add up squared residuals and residuals, times w^2 / W^2, per level, and w^2 / W^2."""
        v = joint.prediction[self.level]
        squares = (self.weight / joint.total) ** 2
        zeros = self.rows - self.positives
        return (
            self.sums(squares * (self.positives * (1 - v) ** 2 + zeros * v**2)),
            self.sums(squares * (self.positives * (1 - v) - zeros * v)),
            float(squares @ self.rows),
        )

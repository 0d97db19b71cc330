"""How a fit of patches went, judged on rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.arrays import Flags, Floats
from calibrant.data import hold_out
from calibrant.errors import InvalidForecastsError
from calibrant.groups.rounds import DividedRows, Step
from calibrant.groups.training import Found
from calibrant.repair.patches import patches_text

CELLS_OF_THE_REPORT = 10


@dataclass(frozen=True, slots=True)
class Fit:
    """How a fit went, on the rows fitted to and on the rows held out (on all, if none was)."""

    steps: tuple[Step, ...]
    """Patches in their order; empty for trees."""
    reason: str
    """Why it stopped."""
    left: float
    """Largest violation that is left on the rows fitted to, as the method defines it."""
    brier: tuple[float, float]
    """Mean squared error of the rows held out, before and after."""
    error: tuple[float, float] | None
    """Multicalibration error of the rows held out in ten cells, before and after."""
    kept: bool
    """False if the base predictions were no worse, and are returned."""

    @property
    def sentence(self) -> str:
        """Say what was done and what it brought."""
        before, after = self.brier
        if not self.kept:
            return f"Base predictions are kept: {self.reason}."
        count = len(self.steps)
        patches = patches_text(count) if count else "Trees"
        return (
            f"{patches} took the Brier score of rows held out from {before:.5f} to {after:.5f}; "
            f"{self.reason}."
        )


def held_rows(weight: Floats, share: float, rng: np.random.Generator) -> Flags:
    """Choose a share of the rows, in their canonical order, to judge what the others find."""
    held = hold_out(share, rng, np.arange(weight.size))
    if not weight[held].any() or not weight[~held].any():
        raise InvalidForecastsError(
            "there must be rows to fit to and rows to hold out", f"{weight.size} rows"
        )
    return held


def fit_of(rows: DividedRows, found: Found) -> Fit:
    """Keep the patches that were found if the rows that judge gain from all of them together."""
    given = (rows.y, rows.weight, rows.judges)
    kept = bool(found.steps) and better(rows.p, found.prediction, *given)
    after = found.prediction if kept else rows.p
    return Fit(
        tuple(found.steps) if kept else (),
        found.reason,
        found.left,
        briers(rows.p, after, *given),
        errors(rows, after),
        kept,
    )


def errors(rows: DividedRows, after: Floats) -> tuple[float, float]:
    """Multicalibration error of the rows held out, before and after."""
    cells = CELLS_OF_THE_REPORT
    return rows.error(cells), replace(rows, p=after).error(cells)


def better(before: Floats, after: Floats, outcome: Floats, weight: Floats, held: Any) -> bool:
    """Whether the rows held out gain more than one standard error."""
    gain = weight[held] * ((before - outcome)[held] ** 2 - (after - outcome)[held] ** 2)
    return bool(gain.sum() > np.sqrt(np.sum(gain**2)))


def briers(
    before: Floats, after: Floats, outcome: Floats, weight: Floats, held: Any
) -> tuple[float, float]:
    """Brier score of the rows held out, before and after."""
    first, second = (
        float(np.average((p[held] - outcome[held]) ** 2, weights=weight[held]))
        for p in (before, after)
    )
    return first, second

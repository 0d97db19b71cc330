"""How a fit went, judged on rows that neither found nor chose anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.arrays import Flags, Floats
from calibrant.data import hold_out
from calibrant.decisions import as_score
from calibrant.errors import InvalidForecastsError
from calibrant.groups.patches import patches_text
from calibrant.groups.rounds import GroupedRows, Step
from calibrant.groups.training import Found
from calibrant.repair.choice import Gain, gain_of, is_clear
from calibrant.repair.folds import Units

CELLS_OF_THE_REPORT = 10
CONFIDENCE = 0.95
NOT_CLEAR = "what was found does not clearly help rows held out"


Search = Callable[[GroupedRows], Found]


@dataclass(frozen=True, slots=True)
class Judged:
    """What some rows say about corrections: means over these rows, before and after."""

    brier: tuple[float, float]
    gain: Gain
    """Decrease of the Brier score, with a standard error and the ends of a 95 % interval."""
    clear: bool
    """Whether the gain is beyond noise, by the same rule as for `calibrant.repair.choose`."""

    @classmethod
    def by(
        cls, before: Floats, after: Floats, outcome: Floats, weight: Floats, rows: Flags
    ) -> Judged:
        """Let some rows judge."""
        p, q, y, w = (values[rows] for values in (before, after, outcome, weight))
        units = Units(p, y, w, w * w, np.ones_like(w), np.zeros(w.size, dtype=np.intp))
        lost, left = (p - y) ** 2, (q - y) ** 2
        gain = gain_of(units, lost - left, CONFIDENCE)
        brier = float(np.average(lost, weights=w)), float(np.average(left, weights=w))
        return cls(brier, gain, is_clear(gain, units, as_score("brier"), p, q))


@dataclass(frozen=True, slots=True)
class Fit:
    """How a fit went.

    With rows held out, `brier`, `gain` and `error` are theirs. They are unbiased for corrections
    that were found without these rows, kept or not; the corrections that are kept are then found
    again with all rows. Without rows held out the same numbers are of the rows fitted to, and
    flatter.
    """

    judge: str
    """Which rows `brier`, `gain` and `error` are of: "held_out" or "fit"."""
    steps: tuple[Step, ...]
    """Patches that are kept, in their order, on the rows fitted to; empty for trees."""
    reason: str
    """Why it stopped."""
    left: float
    """Largest violation that the search left on its rows, as the method defines it."""
    brier: tuple[float, float]
    """Mean squared error, before and after."""
    gain: Gain
    """Decrease of the mean squared error, with a standard error and the ends of a 95 % interval."""
    error: tuple[float, float] | None
    """Multicalibration error in ten cells, before and after."""
    kept: bool
    """False if base predictions are returned."""

    @property
    def sentence(self) -> str:
        """Say what was done and what it brought."""
        if not self.kept:
            return f"Base predictions are kept: {self.reason}."
        count = len(self.steps)
        what = patches_text(count) if count else "Trees"
        before, after = self.brier
        went = f"the Brier score from {before:.5f} to {after:.5f}"
        if self.judge == "fit":
            return f"{what} took {went} on the rows fitted to, which flatters; {self.reason}."
        gain = self.gain
        return (
            f"{what} for all rows; found without the rows held out, they took {went} on these "
            f"(a gain between {gain.low:.2g} and {gain.high:.2g} with 95 % confidence); "
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


def judged_fit(rows: GroupedRows, search: Search, held: Flags | None) -> Fit:
    """Search for patches, and keep them if the rows held out clearly gain from them.

    The search sees no row that is held out. If they gain, it is repeated with all rows. Without
    rows held out whatever is found is kept.
    """
    taught, judges = (rows, rows) if held is None else (rows.heeding(~held), rows.heeding(held))
    found = search(taught)
    judged = Judged.by(rows.p, found.prediction, rows.y, judges.weight, judges.weight > 0)
    before, after = (
        replace(judges, p=p).error(CELLS_OF_THE_REPORT) for p in (rows.p, found.prediction)
    )
    steps, reason = found.steps, found.reason
    if held is not None and steps:
        steps, reason = [], NOT_CLEAR
        if judged.clear:
            found = search(rows)
            steps, reason = found.steps, found.reason
    return Fit(
        judge="fit" if held is None else "held_out",
        steps=tuple(steps),
        reason=reason,
        left=found.left,
        brier=judged.brier,
        gain=judged.gain,
        error=(before, after),
        kept=bool(steps),
    )

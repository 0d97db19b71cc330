"""How a fit went, by rows that neither found nor decided anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant.data import deal_folds, hold_out
from calibrant.decisions import as_score
from calibrant.errors import InvalidForecastsError
from calibrant.groups.rounds import GroupedRows, Step
from calibrant.groups.training import Found
from calibrant.recalibration import (
    CLEARLY_PATCHED,
    Gain,
    Units,
    gain_between,
    is_clear,
    patches_text,
    row_luck,
)

CELLS_OF_THE_REPORT = 10
CONFIDENCE = 0.95
# So many rows judge well enough: beyond them not every part needs its own search.
ENOUGH_ROWS = 10_000
# Of the rows that judge, so many report: what decides would flatter what it lets pass.
REPORTING = 1 / 3
NOT_CLEAR = "what was found does not clearly help rows held out"

Search = Callable[[GroupedRows], Found]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a fit went.

    With rows held out, `brier`, `gain` and `error` are of rows that neither found nor decided
    anything, under corrections found without them: they are unbiased for such corrections, also
    among fits that are kept. What is returned is then found again with all rows. Where base
    predictions are kept, before and after are the same. With `judge="fit"` the numbers are of the
    rows fitted to, and flatter.
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
            f"{what}; found without the rows held out, they took {went} on these (a gain between "
            f"{gain.low:.2g} and {gain.high:.2g} with 95 % confidence); {self.reason}."
        )


@dataclass(frozen=True, slots=True)
class Jury:
    """Rows in parts: what is found without a part is judged by it.

    Some of the rows that judge decide whether corrections are kept, the others report the gain.
    """

    part: Indices
    judging: int
    """The first so many parts judge."""
    reports: Flags

    @classmethod
    def of(cls, weight: Floats, share: float, rng: np.random.Generator) -> Jury:
        """Deal rows, in their canonical order, into parts of a share each."""
        parts, index = max(2, round(1 / share)), np.arange(weight.size)
        part = deal_folds(parts, rng, index)
        judging = min(parts, -(-ENOUGH_ROWS * parts // weight.size))
        jury = cls(part, judging, hold_out(REPORTING, rng, index))
        weights = [weight[part != i] for i in range(judging)]
        weights += [weight[jury.deciding], weight[jury.reporting]]
        if not all(some.any() for some in weights):
            raise InvalidForecastsError(
                "there must be rows to fit to, rows to decide and rows to report",
                "one sample" if weight.size == 1 else f"{weight.size} rows",
                "judge='fit' holds none out",
            )
        return jury

    @property
    def deciding(self) -> Flags:
        """Rows that decide."""
        return np.asarray((self.part < self.judging) & ~self.reports)

    @property
    def reporting(self) -> Flags:
        """Rows that report."""
        return np.asarray((self.part < self.judging) & self.reports)

    def cross_fitted(self, prediction: Floats, correct: Callable[[Flags], Floats]) -> Floats:
        """Corrections of the rows that judge, each found by other parts."""
        corrected = prediction.copy()
        for part in range(self.judging):
            own = self.part == part
            corrected[own] = correct(~own)[own]
        return corrected

    def judged(self, before: Floats, after: Floats, outcome: Floats, weight: Floats) -> Judged:
        """Let rows decide about corrections, and others report; of nothing, if they say no."""
        units, fine = _units(self.deciding, before, outcome, weight), after[self.deciding]
        luck = row_luck(as_score("brier"), units.prediction, fine)
        clear = is_clear(_gain(units, fine), units, luck, CLEARLY_PATCHED)
        return Judged.by(self.reporting, before, after if clear else before, outcome, weight)


@dataclass(frozen=True, slots=True)
class Judged:
    """What some rows report about corrections."""

    after: Floats
    """The corrected predictions, or the base predictions of all rows if these are to be kept."""
    brier: tuple[float, float]
    gain: Gain

    @classmethod
    def by(
        cls, rows: Flags, before: Floats, after: Floats, outcome: Floats, weight: Floats
    ) -> Judged:
        """Let some rows report."""
        units = _units(rows, before, outcome, weight)
        first, second = (
            float(np.average((p[rows] - units.outcome) ** 2, weights=units.weight))
            for p in (before, after)
        )
        return cls(after, (first, second), _gain(units, after[rows]))


def judged_fit(rows: GroupedRows, search: Search, jury: Jury | None) -> Fit:
    """Search for patches, and keep them if patches found without some rows clearly help these.

    Without a jury whatever is found is kept.
    """
    found = search(rows)
    reporting = np.ones(rows.p.size, dtype=bool) if jury is None else jury.reporting
    targets, corrected = (rows.y, rows.weight), found.prediction
    if jury is None or not found.steps:
        judged = Judged.by(reporting, rows.p, corrected, *targets)
    else:
        corrected = jury.cross_fitted(
            rows.p, lambda training: search(rows.heeding(training)).prediction
        )
        judged = jury.judged(rows.p, corrected, *targets)
    refused = bool(found.steps) and judged.after is rows.p
    reporters = rows.heeding(reporting)
    before, after = (
        replace(reporters, p=p).error(CELLS_OF_THE_REPORT) for p in (rows.p, judged.after)
    )
    return Fit(
        judge="fit" if jury is None else "held_out",
        steps=() if refused else tuple(found.steps),
        reason=NOT_CLEAR if refused else found.reason,
        left=found.left,
        brier=judged.brier,
        gain=judged.gain,
        error=(before, after),
        kept=bool(found.steps) and not refused,
    )


def _units(rows: Flags, prediction: Floats, outcome: Floats, weight: Floats) -> Units:
    p, y, w = prediction[rows], outcome[rows], weight[rows]
    return Units(p, y, w, w * w, np.ones_like(w), np.zeros(w.size, dtype=np.intp))


def _gain(units: Units, after: Floats) -> Gain:
    return gain_between(units, as_score("brier"), units.prediction, after, CONFIDENCE)

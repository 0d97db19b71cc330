"""Observed over expected events against a tolerance, for all rows and for each group."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from calibrant._base.options import check_positive
from calibrant._base.words import agreeing, count_text, percent_text
from calibrant.inference.ratio import Ratio
from calibrant.inference.simultaneous_verdicts import Groups
from calibrant.inference.verdicts import CALIBRATED, MISCALIBRATED, UNDECIDED, state_of_ratio


@dataclass(frozen=True, slots=True)
class RatioVerdict:
    """Whether observed over expected events is as close to 1 as it must be."""

    ratio: Ratio
    tolerance: float
    """Share of events that may be too few or too many: 0.1 allows 1/1.1 to 1.1."""

    @property
    def state(self) -> str:
        """Calibrated if all of the interval is allowed, miscalibrated if none of it is."""
        return state_of_ratio(self.ratio, self.tolerance)

    @property
    def least_distance(self) -> float:
        """Factor by which the ratio is off at the end of the interval that is closest to 1."""
        low, high = self.ratio.low, self.ratio.high
        return max(low, 1 / high if high > 0 else inf)

    @property
    def sentence(self) -> str:
        """Say what was found, and what is allowed."""
        allowed = percent_text(self.tolerance)
        found = {
            CALIBRATED: f"That is within {allowed} of 1.",
            MISCALIBRATED: f"That is beyond {allowed} of 1.",
            UNDECIDED: f"It is undecided whether that is within {allowed} of 1.",
        }
        return f"{self.ratio.sentence} {found[self.state]}"


@dataclass(frozen=True, slots=True)
class RatioJudgement:
    """Observed over expected events of all rows, and of each group at once."""

    tolerance: float
    overall: RatioVerdict
    groups: tuple[tuple[str, RatioVerdict], ...] = ()
    """Label and verdict of each group, in the order of the groups."""

    @classmethod
    def of(cls, ratio: Ratio, groups: Groups | None, tolerance: float) -> RatioJudgement:
        """Judge ratios that were found before; those of the groups hold at once."""
        check_positive("oe_tolerance", tolerance)
        judged = [
            (group.label, RatioVerdict(group.ratio, tolerance))
            for group in groups or ()
            if group.ratio is not None
        ]
        return cls(tolerance, RatioVerdict(ratio, tolerance), tuple(judged))

    @property
    def worst(self) -> tuple[str, RatioVerdict]:
        """The group that is off most clearly."""
        return max(self.groups, key=lambda entry: entry[1].least_distance)

    @property
    def failing(self) -> tuple[tuple[str, RatioVerdict], ...]:
        """Groups that are certainly beyond the tolerance, the clearest first."""
        found = [entry for entry in self.groups if entry[1].state == MISCALIBRATED]
        return tuple(sorted(found, key=lambda entry: -entry[1].least_distance))

    @property
    def sentence(self) -> str:
        """Say both in words."""
        if not self.groups:
            return self.overall.sentence
        return f"{self.overall.sentence} {self.sentence_of_groups}"

    @property
    def state_of_groups(self) -> str:
        """Miscalibrated if one group certainly is, calibrated if all certainly are."""
        states = {verdict.state for _, verdict in self.groups}
        if MISCALIBRATED in states:
            return MISCALIBRATED
        return CALIBRATED if states == {CALIBRATED} else UNDECIDED

    @property
    def sentence_of_groups(self) -> str:
        """Name the groups that fail, or say that none does."""
        allowed = percent_text(self.tolerance)
        within = sum(verdict.state == CALIBRATED for _, verdict in self.groups)
        if not self.failing:
            several = count_text(len(self.groups), "group")
            return (
                f"None of {several} has observed over expected events beyond {allowed} of 1: "
                f"{within} {agreeing(within, 'is', 'are')} within, the others are undecided."
            )
        worst = "; ".join(f"{label} {verdict.ratio.text}" for label, verdict in self.failing[:3])
        return (
            f"Observed over expected events of {len(self.failing)} of "
            f"{count_text(len(self.groups), 'group')} {agreeing(len(self.failing), 'is', 'are')} "
            f"beyond {allowed} of 1: {worst}."
        )

"""Errors in a unit that laymen read: percentage points, or a share of the rate of rare events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant._base.words import RARE, number_text, rounded_down, rounded_up
from calibrant.inference import CALIBRATED, MISCALIBRATED, ConfidenceInterval, state_of
from calibrant.report.summary import Summary


@dataclass(frozen=True, slots=True)
class ErrorUnit:
    """What errors are counted in."""

    size: float
    """The error that counts as one."""
    one: str
    several: str

    @classmethod
    def of(cls, summary: Summary) -> ErrorUnit:
        """Choose points, the units of the outcome, or percents of the rate of a rare outcome."""
        if summary.kind.in_outcome_units:
            return cls(1.0, "", "")
        rarer = min(summary.data.observed, 1 - summary.data.observed)
        if summary.kind.summed and 0 < rarer < RARE:
            return cls(rarer / 100, "% of the rate of events", "% of the rate of events")
        return cls(0.01, "point", "points")

    @property
    def rare(self) -> bool:
        """Whether it is a share of a rate."""
        return self.one.startswith("%")

    def number(self, value: float, rounded: Callable[[float], str] = number_text) -> str:
        """Write the number alone."""
        return rounded(round(value / self.size, 9))

    def text(self, value: float, rounded: Callable[[float], str] = number_text) -> str:
        """Write an error with its unit."""
        return self.named(self.number(value, rounded))

    def brief(self, value: float) -> str:
        """Write an error beside others whose unit is said in full."""
        return self.text(value).partition(" of ")[0]

    def named(self, number: str) -> str:
        """Put the unit behind a number."""
        return f"{number} {self.one if number == '1' else self.several}".rstrip()

    def bounds(self, interval: ConfidenceInterval, tolerance: float) -> str:
        """Say what an interval knows beside a tolerance: at least, at most, or both."""
        state = state_of(interval.low, interval.high, tolerance)
        if state == MISCALIBRATED:
            return f"at least {self.text(interval.low, rounded_down)}"
        if state == CALIBRATED:
            return f"at most {self.text(interval.high, rounded_up)}"
        low = self.number(interval.low, rounded_down)
        return f"between {low} and {self.text(interval.high, rounded_up)}"

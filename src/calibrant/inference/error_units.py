"""Errors in a unit that laymen read: percentage points, or the units of the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant._base.words import number_text, rounded_down, rounded_up
from calibrant.kinds import Kind


@dataclass(frozen=True, slots=True)
class ErrorUnit:
    """What errors are counted in."""

    size: float
    """The error that counts as one."""
    one: str
    several: str

    @classmethod
    def of(cls, kind: Kind) -> ErrorUnit:
        """Choose points, or the units of the outcome."""
        return cls(1.0, "", "") if kind.in_outcome_units else cls(0.01, "point", "points")

    def number(self, value: float, rounded: Callable[[float], str] = number_text) -> str:
        """Write the number alone."""
        return rounded(round(value / self.size, 9))

    def text(self, value: float, rounded: Callable[[float], str] = number_text) -> str:
        """Write an error with its unit."""
        return self.named(self.number(value, rounded))

    def named(self, number: str) -> str:
        """Put the unit behind a number."""
        return f"{number} {self.one if number == '1' else self.several}".rstrip()

    def between(self, low: float, high: float) -> str:
        """Write two limits, rounded outwards."""
        return f"between {self.number(low, rounded_down)} and {self.text(high, rounded_up)}"

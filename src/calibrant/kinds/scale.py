"""Where forecasts lie between 0 and 1, and what residuals are measured in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant._base.words import number_text
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention


@dataclass(frozen=True, slots=True)
class Scale:
    """How forecasts become positions in [0, 1], and residuals numbers in [-1, 1]."""

    start: float
    end: float
    """Forecasts between these two become positions between 0 and 1."""
    unit: float
    """Residuals are divided by this."""
    bounded: bool
    """Whether outcomes are known to lie between `start` and `end`."""

    @classmethod
    def between(cls, range_: object) -> Scale:
        """Take the range that outcomes are known to lie in."""
        try:
            low, high = (float(end) for end in range_)  # type: ignore[attr-defined]
        except (TypeError, ValueError) as error:
            raise InvalidOptionError(
                "@range must be two numbers, the least and the largest outcome", shown(range_)
            ) from error
        if not -np.inf < low < high < np.inf:
            raise InvalidOptionError("@range must be two finite numbers, low < high", shown(range_))
        return cls(low, high, high - low, bounded=True)

    @classmethod
    def of_coordinates(cls, coordinate: Floats, unit: float) -> Scale:
        """Use the range of the forecasts themselves."""
        return cls(float(coordinate.min()), float(coordinate.max()), unit, bounded=False)

    @property
    def width(self) -> float:
        """How far apart the two ends are."""
        return self.end - self.start

    def positions(self, coordinate: Floats) -> Floats:
        """Return where forecasts lie in the range; all at 0 if there is but one."""
        if self.width == 0:
            return np.zeros(coordinate.size)
        if self.start == 0 and self.width == 1 and coordinate.min() >= 0 and coordinate.max() <= 1:
            return coordinate
        position = coordinate - self.start
        position /= self.width
        return np.clip(position, 0.0, 1.0, out=position)

    def coordinates(self, position: Floats | float) -> Floats:
        """Return the forecasts at positions."""
        return np.asarray(self.start + np.asarray(position) * self.width)

    def refuse_outside(self, values: Floats, name: str) -> None:
        """Refuse numbers outside a range that the caller has given."""
        low, high = float(values.min()), float(values.max())
        if self.bounded and (low < self.start or high > self.end):
            outside = int(((values < self.start) | (values > self.end)).sum())
            raise InvalidForecastsError(
                f"{mention(name)} must lie within the range {number_text(self.start)} to "
                f"{number_text(self.end)}",
                f"{outside} of {values.size} outside, from {low:g} to {high:g}",
                "widen the range, or leave it out if outcomes have no bounds",
            )


UNIT = Scale(0.0, 1.0, 1.0, bounded=True)
"""The scale of probabilities."""

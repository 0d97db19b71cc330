"""Forecasts that are intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Flags, Floats
from calibrant._base.words import percent_text
from calibrant.errors import InvalidOptionError
from calibrant.kinds.kind import ColumnsOfRows, OfShares
from calibrant.kinds.quantile import Quantile
from calibrant.kinds.scale import Scale
from calibrant.kinds.vocabulary import Vocabulary, of_shares


@dataclass(frozen=True)
class Interval(OfShares):
    """Share of outcomes inside an interval: residual = level - 1(low <= y <= high).

    Positive where intervals are too narrow. Intervals that always and never cover can mix to any
    coverage, so judge the two ends as quantiles as well.
    """

    level: float
    loss_name = "interval score"
    has_ends = True

    @property
    def name(self) -> str:
        """How users name it."""
        return "interval"

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats."""
        what = f"intervals that promise {percent_text(self.level)}"
        return of_shares(what, "inside", intervals=True)

    def covered(self, prediction: Floats, outcome: Floats, upper: Floats | None) -> Flags:
        """Whether each outcome lies inside."""
        assert upper is not None  # noqa: S101  # intervals have both ends
        return np.asarray((prediction <= outcome) & (outcome <= upper))

    def losses(self, prediction: Floats, outcome: Floats, upper: Floats | None = None) -> Floats:
        """Return interval scores (Winkler 1972; Gneiting and Raftery 2007).

        The width, and 2 / (1 - level) times how far the outcome lies outside. It is least on
        average for the interval between the two quantiles that leave the same share outside on
        each side.
        """
        assert upper is not None  # noqa: S101  # intervals have both ends
        outside = (1 - self.level) / 2
        ends = ((outside, prediction), (1 - outside, upper))
        pinball = sum(Quantile(level).losses(end, outcome) for level, end in ends)
        return np.asarray(pinball / outside)

    def scale(self, rows: ColumnsOfRows, range_: object) -> Scale:
        """Use the width of intervals as their coordinate."""
        if range_ is not None:
            raise InvalidOptionError(
                "@range is for means, quantiles and expectiles", "a range of intervals"
            )
        return Scale.of_coordinates(rows.coordinate, 1.0)

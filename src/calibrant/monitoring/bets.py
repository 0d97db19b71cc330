"""Forecasts as bets on numbers in [0, 1] whose mean a right forecast knows.

Of a quantile or an interval it is whether the outcome lies below or inside, forecast by the level.
Of a mean in a known range it is the outcome, scaled. Of an expectile z in a range from a to b the
residual t (y - z)+ - (1 - t) (z - y)+ has mean 0 and lies between -(1 - t) (z - a) and t (b - z):
less the one end, over their distance, it lies in [0, 1]. At t = 1/2 that is the scaled outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant._base.options import number_or_percent, shown
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.kinds import Kind, Scale, require_range


@dataclass(frozen=True, slots=True)
class Bet:
    """Rows as bets."""

    prediction: Floats
    """Mean of the outcome if forecasts are right, in [0, 1]."""
    outcome: Floats
    """In [0, 1]."""
    coordinate: Floats
    """The forecast, or the width of the interval."""

    @classmethod
    def of(cls, rows: Rows) -> Bet:
        """Turn forecasts into bets; means and expectiles need a known range."""
        if rows.weight is not None:
            raise InvalidOptionError(
                "bets take no weights", "sample_weight", "give rows of equal weight"
            )
        rows.refuse_ties()
        return cls(*rows.kind.bets(rows), rows.coordinate)

    def averaged(self, cluster: Indices) -> Bet:
        """Return one bet per cluster: means of bets that may depend on each other."""
        rows = np.bincount(cluster)
        return Bet(*(np.bincount(cluster, column) / rows for column in self._columns))

    def where(self, keep: Indices | Flags | slice) -> Bet:
        """Keep some of the rows, or put them in another order."""
        return Bet(*(np.ascontiguousarray(column[keep]) for column in self._columns))

    @property
    def _columns(self) -> tuple[Floats, Floats, Floats]:
        return self.prediction, self.outcome, self.coordinate


def allowance_of(kind: Kind, scale: Scale | None, tolerance: float | str | None) -> float:
    """Return a tolerance in units of the outcome, or of probability, in units of the bets."""
    require_range(kind, scale)
    width = scale.width if kind.in_outcome_units and scale is not None else 1.0
    if tolerance is None:
        tolerance = kind.default_tolerance(width)
    number, percent = number_or_percent("tolerance", tolerance)
    if kind.in_outcome_units:
        number = number if percent else number / width
        # The bounds of the residual are nearest to each other at one end of the range.
        number /= 2 * min(kind.side, 1 - kind.side)
    if not 0 <= number < 1:
        raise InvalidOptionError(
            "@tolerance must be at least 0 and smaller than what forecasts can be off",
            shown(tolerance),
        )
    return number

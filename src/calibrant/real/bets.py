"""Forecasts of real outcomes as bets on numbers in [0, 1] whose mean a right forecast knows.

Of a quantile or an interval it is whether the outcome lies below or inside, forecast by the level.
Of a mean in a known range it is the outcome, scaled. Of an expectile z in a range from a to b the
residual t (y - z)+ - (1 - t) (z - y)+ has mean 0 and lies between -(1 - t) (z - a) and t (b - z):
less the one end, over their distance, it lies in [0, 1]. At t = 1/2 that is the scaled outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Flags, Floats, Indices
from calibrant.errors import InvalidOptionError
from calibrant.inference import LARGEST_TOLERANCE, TOLERATED_SHARE
from calibrant.options import number_or_percent, shown
from calibrant.real.forecasts import AnyKind, RealForecasts, refuse_ties
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.scale import OutcomeScale


@dataclass(frozen=True, slots=True)
class Bet:
    """Rows as bets."""

    prediction: Floats
    """Mean of the outcome if forecasts are right, in [0, 1]."""
    outcome: Floats
    """In [0, 1]."""
    place: Floats
    """The forecast, or the width of the interval."""

    def averaged(self, cluster: Indices) -> Bet:
        """Return one bet per cluster: means of bets that may depend on each other."""
        rows = np.bincount(cluster)
        return Bet(*(np.bincount(cluster, column) / rows for column in self._columns))

    def where(self, keep: Indices | Flags | slice) -> Bet:
        """Keep some of the rows, or put them in another order."""
        return Bet(*(np.ascontiguousarray(column[keep]) for column in self._columns))

    @property
    def _columns(self) -> tuple[Floats, Floats, Floats]:
        return self.prediction, self.outcome, self.place


def bets_on(forecasts: RealForecasts) -> Bet:
    """Turn forecasts into bets; means and expectiles need a known range."""
    kind, scale = forecasts.kind, forecasts.scale
    if forecasts.weight is not None:
        raise InvalidOptionError(
            "bets take no weights", "sample_weight", "give rows of equal weight"
        )
    refuse_ties(forecasts)
    if isinstance(kind, Quantile | Coverage):
        promised = np.full(len(forecasts), kind.level)
        return Bet(promised, forecasts.reached.astype(np.float64), forecasts.place)
    require_range(kind, scale if scale.bounded else None)
    z, y = forecasts.forecast, forecasts.outcome
    level = 0.5 if isinstance(kind, Mean) else kind.level
    down, up = (1 - level) * (z - scale.start), level * (scale.end - z)
    residual = np.where(y > z, level * (y - z), (1 - level) * (y - z))
    outcome = np.clip((residual + down) / (down + up), 0.0, 1.0)
    return Bet(np.clip(down / (down + up), 0.0, 1.0), outcome, forecasts.place)


def require_range(kind: AnyKind, scale: OutcomeScale | None) -> None:
    """Refuse means and expectiles without a range: no bet on what has no bounds is safe."""
    if kind.in_outcome_units and scale is None:
        raise InvalidOptionError(
            f"bets on a {kind.kind.partition('=')[0]} need the range of the outcomes",
            "none",
            "pass range=(low, high), or forecast a quantile",
        )


def default_tolerance(kind: AnyKind, span: float) -> float:
    """Largest acceptable error when nobody says: 2 % of the span of the outcomes.

    Of quantiles and intervals 0.02, or a tenth of the rarer side if that is less.
    """
    if isinstance(kind, Quantile | Coverage):
        return min(LARGEST_TOLERANCE, TOLERATED_SHARE * min(kind.level, 1 - kind.level))
    return LARGEST_TOLERANCE * span


def allowance_of(kind: AnyKind, scale: OutcomeScale | None, tolerance: float | str | None) -> float:
    """Return a tolerance in units of the outcome, or of probability, in units of the bets."""
    if isinstance(kind, Quantile | Coverage):
        if tolerance is None:
            return default_tolerance(kind, 1.0)
        number, _ = number_or_percent("tolerance", tolerance)
    else:
        require_range(kind, scale)
        assert scale is not None  # noqa: S101  # it was required
        width = scale.end - scale.start
        if tolerance is None:
            tolerance = default_tolerance(kind, width)
        number, percent = number_or_percent("tolerance", tolerance)
        number = number if percent else number / width
        if isinstance(kind, Expectile):
            # The bounds of the residual are nearest to each other at one end of the range.
            number /= 2 * min(kind.level, 1 - kind.level)
    if not 0 <= number < 1:
        raise InvalidOptionError(
            "tolerance must be at least 0 and smaller than what forecasts can be off",
            shown(tolerance),
        )
    return number

"""Losses of forecasts of real outcomes, row by row; smaller is better."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.real.forecasts import AnyKind, RealForecasts
from calibrant.real.properties import Coverage, Quantile

INTERVAL_SCORE = "interval score"


def losses(forecasts: RealForecasts) -> Floats:
    """Loss of each row.

    Of intervals it is the interval score (Winkler 1972; Gneiting and Raftery 2007): the width, and
    2 / (1 - level) times how far the outcome lies outside. It is least on average for the interval
    between the two quantiles that leave the same share outside on each side.
    """
    kind = forecasts.kind
    if not isinstance(kind, Coverage):
        return kind.losses(forecasts.forecast, forecasts.outcome)
    assert forecasts.upper is not None  # noqa: S101  # intervals have both ends
    outside = (1 - kind.level) / 2
    ends = ((outside, forecasts.forecast), (1 - outside, forecasts.upper))
    pinball = sum(Quantile(level).losses(end, forecasts.outcome) for level, end in ends)
    return np.asarray(pinball / outside)


def loss_name(kind: AnyKind) -> str:
    """Name the loss."""
    return INTERVAL_SCORE if isinstance(kind, Coverage) else kind.loss_name

"""Nouns and number formats of a kind of forecast; no sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._base.words import (
    RARE,
    comparable_texts,
    factor_text,
    forecast_and_rate,
    number_text,
    percent_text,
    points_text,
    range_text,
    range_texts,
    rate_texts,
)


def _percents(first: float, *others: float) -> tuple[str, ...]:
    return tuple(percent_text(value) for value in (first, *others))


def _numbers(low: float, high: float) -> str:
    first, last = comparable_texts(low, high)
    return f"of {first}" if low == high else f"between {first} and {last}"


def _widths(low: float, high: float) -> str:
    first, last = comparable_texts(low, high)
    return f"of width {first}" if low == high else f"of width between {first} and {last}"


def _apart(forecast: float, observed: float) -> str:
    return number_text(abs(observed - forecast))


def _points_apart(forecast: float, observed: float) -> str:
    return points_text(abs(observed - forecast))


def _rates_apart(forecast: float, observed: float) -> str:
    """Write how far apart two rates are: in points, or as a factor where events are rare."""
    larger, smaller = sorted((forecast, observed), reverse=True)
    if larger >= RARE:
        return points_text(larger - smaller)
    if smaller <= 0:
        return f"a factor of {factor_text(np.inf)}"
    return f"a factor of {factor_text(larger / smaller, 2)}"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How a kind of forecast, and what was observed, are called and written."""

    what: str
    """What the forecasts are, in full."""
    between: str
    """What the typical gap is between."""
    forecasts: str = "forecasts"
    too_high: str = "too high"
    too_low: str = "too low"
    forecast: str = "promised"
    """Head of the column of what was forecast on average."""
    observed: str = "observed"
    """Head of the column of what was observed."""
    observed_as: str = ""
    """What was observed: a mean, a rate, or where outcomes lie."""
    ranges_of: str = "forecasts"
    """What ranges of forecasts are ranges of."""
    axis: str = "forecast"
    observed_axis: str = "observed"
    meaning: str = ""
    """How to read the reliability diagram."""
    bias: str = "observed - forecast"
    trust: str = "use the forecasts as they are"
    """What to do with forecasts that are calibrated."""
    whole: str = "All rows together are"
    """What a verdict on all rows is about, before a state."""
    ratio: str | None = None
    """What observed over expected is called; None where it has no meaning."""
    points: bool = False
    """Whether errors are probabilities, and written as percentage points."""
    amounts: Callable[..., tuple[str, ...]] = comparable_texts
    """Write forecasts and observations beside each other."""
    among: Callable[[float, float], str] = _numbers
    """Write a range of forecasts."""
    ends: Callable[[float, float], tuple[str, ...]] | None = None
    """Write the ends of a range in per cent, where one end is enough for all beyond."""
    forecast_and_observed: Callable[[float, float], str] = forecast_and_rate
    """Write what was forecast beside what was observed."""
    compared: Callable[[float, float], str] | None = None
    """The same in per cent."""
    apart: Callable[[float, float], str] = _apart
    """Write how far forecast and observation are apart."""

    def amount(self, size: float) -> str:
        """Write the size of an error."""
        return points_text(size) if self.points else number_text(size)

    def in_short(self, forecast: float, observed: float) -> str:
        """Write what was forecast beside what was observed, for a conclusion."""
        return (self.compared or self.forecast_and_observed)(forecast, observed)


def _of_rates(mean: str, rate: str) -> Callable[[float, float], str]:
    def compared(forecast: float, observed: float) -> str:
        first, second = rate_texts(forecast, observed)
        return f"{mean} {first}, {rate} {second}"

    return compared


EVENTS = Vocabulary(
    what="probabilities",
    between="forecast and observed rate",
    forecast="mean forecast",
    observed="observed rate",
    observed_as="rate",
    observed_axis="observed rate",
    trust="use the probabilities as they are",
    ratio="O/E",
    points=True,
    amounts=rate_texts,
    among=range_text,
    ends=range_texts,
    compared=_of_rates("mean forecast", "observed rate"),
    apart=_rates_apart,
)
"""Probabilities of an event."""
CONFIDENCES = replace(
    EVENTS,
    what="confidences",
    forecasts="confidences",
    axis="confidence",
    observed_axis="accuracy",
    meaning=(
        "Across: the probability of the most likely class. Up: how often that class was right. "
    ),
    trust="trust the confidence in the most likely class as it is",
    whole="The confidence in the most likely class is",
    compared=_of_rates("mean confidence", "accuracy"),
)
"""Confidences in the most likely of many classes."""


def of_numbers(what: str, observed_as: str, ratio: str | None = None) -> Vocabulary:
    """Forecasts in the units of the outcome."""

    def forecast_and_observed(forecast: float, observed: float) -> str:
        first, second = comparable_texts(forecast, observed)
        return f"mean forecast {first}, observed {observed_as} {second}"

    return Vocabulary(
        what=what,
        between=f"forecast and observed {observed_as}",
        forecast="mean forecast",
        observed=f"observed {observed_as}",
        observed_as=observed_as,
        meaning=(
            "Across: the forecast. Up: what was observed. Perfect forecasts lie on the dashed "
            "line. "
        ),
        ratio=ratio,
        forecast_and_observed=forecast_and_observed,
    )


def of_shares(what: str, where: str, *, intervals: bool = False) -> Vocabulary:
    """Forecasts that promise a share of outcomes below or inside."""

    def forecast_and_observed(promised: float, observed: float) -> str:
        return f"{percent_text(observed)} of outcomes {where}, {percent_text(promised)} promised"

    found = Vocabulary(
        what=what,
        between="the share of outcomes that was promised and the share observed",
        observed_as=where,
        observed_axis="share of outcomes",
        meaning=f"Across: the forecast. Up: how many outcomes lie {where} it. ",
        bias="promised - observed share",
        points=True,
        amounts=_percents,
        forecast_and_observed=forecast_and_observed,
        apart=_points_apart,
    )
    if not intervals:
        return found
    return replace(
        found,
        forecasts="intervals",
        too_high="too wide",
        too_low="too narrow",
        ranges_of="width",
        axis="width of the interval",
        meaning="Across: how wide intervals are. Up: how many outcomes they hold. ",
        trust="use the intervals as they are",
        among=_widths,
    )

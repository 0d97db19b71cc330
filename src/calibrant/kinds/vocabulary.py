"""Nouns and number formats of a kind of forecast; no sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant.words import (
    comparable_texts,
    forecast_and_rate,
    number_text,
    percent_text,
    points_text,
    range_text,
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
    """What was observed: a mean, a rate, or where outcomes lie."""
    place: str = "forecasts"
    """What ranges of forecasts are ranges of."""
    axis: str = "forecast"
    observed_axis: str = "observed"
    meaning: str = ""
    """How to read the reliability diagram."""
    bias: str = "observed - forecast"
    ratio: str | None = None
    """What observed over expected is called; None where it has no meaning."""
    points: bool = False
    """Whether errors are probabilities, and written as percentage points."""
    amounts: Callable[..., tuple[str, ...]] = comparable_texts
    """Write forecasts and observations beside each other."""
    among: Callable[[float, float], str] = _numbers
    """Write a range of forecasts."""
    forecast_and_observed: Callable[[float, float], str] = forecast_and_rate
    """Write what was forecast beside what was observed."""

    def amount(self, size: float) -> str:
        """Write how far apart forecast and observation are."""
        return points_text(size) if self.points else number_text(size)


def of_events() -> Vocabulary:
    """Probabilities of an event."""
    return Vocabulary(
        what="probabilities",
        between="forecast and observed rate",
        forecast="mean forecast",
        observed="observed rate",
        meaning="Across: the forecast. Up: how often it came true.",
        ratio="O/E",
        points=True,
        amounts=rate_texts,
        among=range_text,
    )


def of_numbers(what: str, observed: str, ratio: str | None = None) -> Vocabulary:
    """Forecasts in the units of the outcome."""

    def forecast_and_observed(forecast: float, seen: float) -> str:
        first, second = comparable_texts(forecast, seen)
        return f"mean forecast {first}, observed {observed} {second}"

    return Vocabulary(
        what=what,
        between=f"forecast and observed {observed}",
        observed=observed,
        meaning=(
            "Across: the forecast. Up: what was observed. Perfect forecasts lie on the dashed line."
        ),
        ratio=ratio,
        forecast_and_observed=forecast_and_observed,
    )


def of_shares(what: str, where: str, *, intervals: bool = False) -> Vocabulary:
    """Forecasts that promise a share of outcomes below or inside."""

    def forecast_and_observed(promised: float, seen: float) -> str:
        return f"{percent_text(seen)} of outcomes {where}, {percent_text(promised)} promised"

    shared = {
        "what": what,
        "between": "the share of outcomes that was promised and the share observed",
        "observed": where,
        "observed_axis": "share of outcomes",
        "bias": "promised - observed share",
        "points": True,
        "amounts": _percents,
        "forecast_and_observed": forecast_and_observed,
    }
    if not intervals:
        meaning = f"Across: the forecast. Up: how many outcomes lie {where} it."
        return Vocabulary(**shared, meaning=meaning)  # type: ignore[arg-type]
    return Vocabulary(
        **shared,  # type: ignore[arg-type]
        forecasts="intervals",
        too_high="too wide",
        too_low="too narrow",
        place="width",
        axis="width of the interval",
        meaning="Across: how wide intervals are. Up: how many outcomes they hold.",
        among=_widths,
    )

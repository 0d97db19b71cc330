"""Forecasts whose outcome is not due yet.

A row must not enter because its outcome is known: outcomes that can only come early if they are
positive would enter first and look like bias. So rows enter in the order of their due times, which
were fixed with the forecast, and a row that is due but unknown holds up the rows after it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from calibrant.errors import InvalidForecastsError
from calibrant.monitoring.events import added
from calibrant.options import shown

Key = str | int


@dataclass(slots=True)
class AwaitedForecast:
    """A forecast that waits for its outcome, its due time, or both."""

    prediction: float
    due: float
    outcome: float | None = None
    forecasts: int = 1
    """How many were made of the same event; `prediction` stands for all of them."""


@dataclass(slots=True)
class WaitingRoom:
    """Forecasts by key, in the order in which they were announced."""

    forecasts: dict[Key, AwaitedForecast] = field(default_factory=dict)
    _line: list[tuple[float, int, Key, AwaitedForecast]] = field(default_factory=list)
    """A heap by due time and announcement, in which those withdrawn may still stand."""
    _announced: Iterator[int] = field(default_factory=itertools.count)

    def add(self, key: Key, prediction: float, due: float, again: str | None = None) -> None:
        """Announce a forecast; `again` says which of several of one key counts, if there may be."""
        if not _storable(key):
            raise InvalidForecastsError(
                "a key must be a string or a whole number of at most 63 bits", shown(key)
            )
        forecast = AwaitedForecast(prediction, finite(due, "due"))
        if key in self.forecasts:
            if again is None:
                raise InvalidForecastsError(
                    "a key must not be waiting already",
                    repr(key),
                    "for several forecasts of one event set cluster_forecast",
                )
            self._add_again(key, forecast, again)
            return
        self.forecasts[key] = forecast
        heapq.heappush(self._line, (forecast.due, next(self._announced), key, forecast))

    def _add_again(self, key: Key, forecast: AwaitedForecast, how: str) -> None:
        known = self.forecasts[key]
        if known.outcome is not None:
            raise InvalidForecastsError("a key must not be resolved already", repr(key))
        if known.due != forecast.due:
            raise InvalidForecastsError(
                "due of a key must stay what it was", f"{forecast.due:g} after {known.due:g}"
            )
        known.forecasts += 1
        known.prediction = added(key, known.forecasts, known.prediction, forecast.prediction, how)

    def resolve(self, key: Key, outcome: float | None) -> None:
        """Note an outcome, or withdraw the forecast."""
        forecast = self.forecasts.get(key)
        if forecast is None or forecast.outcome is not None:
            raise InvalidForecastsError(
                "a key must belong to a forecast that waits for its outcome", repr(key)
            )
        if outcome is None:
            del self.forecasts[key]
        else:
            forecast.outcome = outcome

    def in_order(self) -> list[Key]:
        """Keys by due time, those of equal due time in the order of their announcement."""
        return sorted(self.forecasts, key=lambda key: self.forecasts[key].due)

    def release(self, now: float) -> Iterator[AwaitedForecast]:
        """Let go what is due and resolved, up to the first row that is due but unresolved."""
        moment = finite(now, "now")
        while self._line:
            due, _, key, forecast = self._line[0]
            waits = self.forecasts.get(key) is forecast
            if waits and (due > moment or forecast.outcome is None):
                return
            heapq.heappop(self._line)
            if waits:
                yield self.forecasts.pop(key)


def _storable(key: object) -> bool:
    """Whether a key comes back from JSON as it was: True would be a 1, long numbers are refused."""
    if isinstance(key, int):
        return not isinstance(key, bool) and abs(key) < 2**63
    return isinstance(key, str)


def finite(time: float, name: str) -> float:
    """Return a time on the caller's clock."""
    try:
        moment = float(time)
    except (OverflowError, TypeError, ValueError):
        moment = math.nan
    if not math.isfinite(moment):
        raise InvalidForecastsError(
            f"{name} must be a finite number on one clock", repr(time), "for instance Unix seconds"
        )
    return moment

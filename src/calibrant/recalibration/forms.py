"""The few functions that every calibrator comes down to, so that all of them can be exported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.stored import Stored
from calibrant.errors import InvalidStateError
from calibrant.regression import LEAST, MOST_SLOPE

# Log-odds stay within these ends: beyond them a double is exactly 0 or 1, or a database refuses.
MOST_LOG_ODDS = 36.0
# Databases refuse numbers below the normal range of doubles: this counts as next to 0.
TINY = 1e-300
# Log-odds that probabilities have; how near knots may be; values that sums of slopes reach.
MOST_KNOT, LEAST_STEP, MOST_VALUE = 37.0, 1e-9, 1e5


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A piecewise constant function: each value holds from its start to the next one."""

    start: Floats
    value: Floats
    kind: ClassVar[str] = "steps"

    @classmethod
    def joined(cls, start: Floats, value: Floats) -> Steps:
        """Join neighbouring steps of the same height; of equal starts the last counts."""
        start = np.where((start > 0) & (start < TINY), TINY, start)
        last = np.append(np.diff(start) > 0, True)
        start, value = start[last], value[last]
        new = np.append(True, np.diff(value) != 0)
        return cls(start[new], value[new])

    def __call__(self, prediction: Floats) -> Floats:
        """Value of the step that holds each prediction; below the first start, its value."""
        step = np.searchsorted(self.start, prediction, side="right") - 1
        return self.value[np.maximum(step, 0)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.kind, "start": self.start.tolist(), "value": self.value.tolist()}


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """A continuous piecewise linear function, constant beyond its first and last knot."""

    knot: Floats
    value: Floats
    kind: ClassVar[str] = "lines"

    @classmethod
    def between(cls, knot: npt.ArrayLike, value: npt.ArrayLike) -> Lines:
        """Connect points; knots must not decrease, and of equal ones the first counts."""
        knots = np.asarray(knot, dtype=np.float64)
        knots = np.where(knots < TINY, 0.0, knots)
        new = np.append(True, np.diff(knots) > 0)
        return cls(knots[new], np.asarray(value, dtype=np.float64)[new])

    def __call__(self, prediction: Floats) -> Floats:
        """Interpolate; the share of the way comes first, so that no slope can overflow."""
        if self.knot.size == 1:
            return np.full(prediction.shape, self.value[0])
        left = np.searchsorted(self.knot, prediction, side="right") - 1
        left = np.clip(left, 0, self.knot.size - 2)
        share = (prediction - self.knot[left]) / np.diff(self.knot)[left]
        return self.value[left] + np.clip(share, 0.0, 1.0) * np.diff(self.value)[left]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.kind, "knot": self.knot.tolist(), "value": self.value.tolist()}


@dataclass(frozen=True, slots=True)
class Logistic:
    """The function with log-odds intercept + low * log(p) - high * log(1 - p)."""

    intercept: float
    low: float
    high: float
    kind: ClassVar[str] = "logistic"

    def __call__(self, prediction: Floats) -> Floats:
        """Chance of the log-odds, never exactly 0 or 1."""
        inside = np.clip(prediction, LEAST, 1 - LEAST)
        log_odds = self.intercept + self.low * np.log(inside)
        log_odds -= self.high * np.log(1 - inside)
        return _chance(log_odds)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "intercept": self.intercept,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LogOddsCurve:
    """The function whose log-odds are a quadratic spline of log(p) - log(1 - p).

    Slopes are given at the knots, lie on a line between two of them, and stay beyond the first and
    the last. All slopes are at least 0, so that it increases.
    """

    log_odds: Floats
    """The knots, increasing."""
    slope: Floats
    value: float
    """New log-odds at the first knot."""
    kind: ClassVar[str] = "curve"

    @property
    def values(self) -> Floats:
        """New log-odds at the knots."""
        rises = np.diff(self.log_odds) * (self.slope[1:] + self.slope[:-1]) / 2
        return np.append(self.value, self.value + np.cumsum(rises))

    @property
    def pieces(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Start, value, slope and half of the bend of each piece: the first ends at knot 0."""
        bend = np.diff(self.slope) / np.diff(self.log_odds) / 2
        first = np.append(0, np.arange(self.log_odds.size))
        return self.log_odds[first], self.values[first], self.slope[first], np.r_[0.0, bend, 0.0]

    def __call__(self, prediction: Floats) -> Floats:
        """Chance of the log-odds, never exactly 0 or 1."""
        inside = np.clip(prediction, LEAST, 1 - LEAST)
        before = np.log(inside) - np.log(1 - inside)
        piece = np.searchsorted(self.log_odds, before, side="right")
        start, value, slope, bend = (part[piece] for part in self.pieces)
        beyond = before - start
        return _chance(value + beyond * (slope + bend * beyond))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "log_odds": self.log_odds.tolist(),
            "slope": self.slope.tolist(),
            "value": self.value,
        }


def _chance(log_odds: Floats) -> Floats:
    """Chance of log-odds, which are lost."""
    np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS, out=log_odds)
    np.exp(np.negative(log_odds, out=log_odds), out=log_odds)
    log_odds += 1
    return np.asarray(np.divide(1.0, log_odds, out=log_odds))


Form = Steps | Lines | Logistic | LogOddsCurve


def form_from(data: Stored) -> Form:
    """Read a form from plain data, and refuse one that somebody broke."""
    kind = data.choice("kind", (Steps.kind, Lines.kind, Logistic.kind, LogOddsCurve.kind))
    if kind == LogOddsCurve.kind:
        return _curve(data)
    if kind == Logistic.kind:
        return Logistic(data.number("intercept"), data.number("low"), data.number("high"))
    if kind == Steps.kind:
        return Steps(*_increasing(data, "start"))
    return Lines(*_increasing(data, "knot"))


def _increasing(data: Stored, name: str) -> tuple[Floats, Floats]:
    at, value = data.numbers(name, 0.0, 1.0), data.numbers("value", 0.0, 1.0)
    if at.shape != value.shape or at.size == 0 or not bool((np.diff(at) > 0).all()):
        raise InvalidStateError(
            f"{name} of {data.what} must increase, with one value for each", f"{at.size} places"
        )
    return at, value


def _curve(data: Stored) -> LogOddsCurve:
    """Read a curve; its knots are log-odds, which no probability has beyond 37."""
    knot, slope = (
        data.numbers("log_odds", -MOST_KNOT, MOST_KNOT),
        data.numbers("slope", 0.0, MOST_SLOPE),
    )
    apart = knot.size > 1 and bool((np.diff(knot) > LEAST_STEP).all())
    if knot.shape != slope.shape or not apart:
        raise InvalidStateError(
            f"knots of {data.what} must increase, with one slope for each", f"{knot.size} knots"
        )
    return LogOddsCurve(knot, slope, data.number("value", -MOST_VALUE, MOST_VALUE))

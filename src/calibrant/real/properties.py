"""What forecasts of real outcomes are forecasts of: means, quantiles, expectiles, coverage.

A property is known by its identification function V(z, y): a forecast z is right when V has mean
zero (Osband 1985; Gneiting and Resin 2021). Residuals here are minus V: positive where forecasts
are too low, as outcome minus prediction is for probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidOptionError
from calibrant.options import check_within, shown
from calibrant.words import number_text, percent_text

KINDS = ("mean", "median", "quantile=0.9", "expectile=0.8")


@runtime_checkable
class Property(Protocol):
    """A number that belongs to every distribution of outcomes, and can be forecast."""

    in_outcome_units: ClassVar[bool]
    """Whether residuals are in the units of the outcome, rather than probabilities."""

    @property
    def kind(self) -> str:
        """How users name it."""
        ...

    def residuals(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return minus the identification function: positive where forecasts are too low."""
        ...

    def losses(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return a loss that is least, on average, for the right forecast."""
        ...

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the constant forecast of least loss."""
        ...


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean: V = z - y, squared error."""

    in_outcome_units: ClassVar[bool] = True
    loss_name: ClassVar[str] = "mean squared error"

    @property
    def kind(self) -> str:
        """How users name it."""
        return "mean"

    def residuals(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return outcome minus forecast."""
        return outcome - forecast

    def losses(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return squared errors."""
        return np.square(outcome - forecast)

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the weighted mean."""
        return float(weight @ outcome / weight.sum())


@dataclass(frozen=True, slots=True)
class Quantile:
    """The quantile of a level: V = 1(y <= z) - level, pinball loss."""

    level: float
    in_outcome_units: ClassVar[bool] = False
    loss_name: ClassVar[str] = "pinball loss"

    @property
    def kind(self) -> str:
        """How users name it."""
        return f"quantile={number_text(self.level)}"

    def residuals(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return the level minus whether the outcome lies at or below the forecast."""
        return np.asarray(self.level - (outcome <= forecast), dtype=np.float64)

    def losses(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return pinball losses, which at the level 1/2 are half the absolute error."""
        return np.asarray(((outcome <= forecast) - self.level) * (forecast - outcome))

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the smallest number with enough weight at or below it."""
        return weighted_quantile(outcome, weight, self.level)


@dataclass(frozen=True, slots=True)
class Expectile:
    """The expectile of a level: V = `2 |1(y <= z) - level| (z - y)`, asymmetric squared error."""

    level: float
    in_outcome_units: ClassVar[bool] = True
    loss_name: ClassVar[str] = "asymmetric squared error"

    @property
    def kind(self) -> str:
        """How users name it."""
        return f"expectile={number_text(self.level)}"

    def residuals(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return outcome minus forecast, weighed by its side; the mean's at the level 1/2."""
        return 2 * self._sides(forecast, outcome) * (outcome - forecast)

    def losses(self, forecast: Floats, outcome: Floats) -> Floats:
        """Return squared errors weighed by their side; those of the mean at the level 1/2."""
        return 2 * self._sides(forecast, outcome) * np.square(outcome - forecast)

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Find the root of the residuals, which are linear between neighbouring outcomes."""
        order = np.argsort(outcome)
        y, w = outcome[order], weight[order]
        below_w, below_wy = np.cumsum(w), np.cumsum(w * y)
        above_w, above_wy = below_w[-1] - below_w, below_wy[-1] - below_wy
        # At z = y[i]: level * sum above (y - z) - (1 - level) * sum below (z - y), decreasing.
        at = self.level * (above_wy - above_w * y) - (1 - self.level) * (below_w * y - below_wy)
        first = max(int(np.searchsorted(-at, 0.0, side="left")) - 1, 0)
        up, down = self.level, 1 - self.level
        return float(
            (up * above_wy[first] + down * below_wy[first])
            / (up * above_w[first] + down * below_w[first])
        )

    def _sides(self, forecast: Floats, outcome: Floats) -> Floats:
        return np.where(outcome <= forecast, 1 - self.level, self.level)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of outcomes inside an interval: residual = level - 1(low <= y <= high).

    Positive where intervals are too narrow. It has no loss of its own: intervals that always and
    never cover can mix to any coverage, so judge the two ends as quantiles as well.
    """

    level: float
    in_outcome_units: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        """How users name it."""
        return "interval"


def property_of(kind: object) -> Mean | Quantile | Expectile:
    """Read how users name a property.

    Examples
    --------
    >>> property_of("quantile=0.9")
    Quantile(level=0.9)
    """
    if isinstance(kind, Mean | Quantile | Expectile):
        return kind
    if not isinstance(kind, str):
        raise InvalidOptionError("kind must be a name such as 'mean'", shown(kind))
    name, equals, text = kind.strip().partition("=")
    if name == "mean" and not equals:
        return Mean()
    if name == "median" and not equals:
        return Quantile(0.5)
    if name == "quantile":
        return Quantile(level_from(text, name))
    if name == "expectile":
        return Expectile(level_from(text, name))
    known = ", ".join(repr(known) for known in KINDS)
    raise InvalidOptionError(f"kind must be one of {known}", repr(kind))


def level_from(text: str, name: str) -> float:
    """Read the level of a quantile, strictly between 0 and 1."""
    article = "an" if name.startswith("e") else "a"
    try:
        level = float(text)
    except ValueError as error:
        raise InvalidOptionError(
            f"{article} {name} needs its level", repr(text), f"write {name}=0.9"
        ) from error
    hint = f"{percent_text(level / 100)} is {level / 100:g}" if 1 < level < 100 else ""
    if not 0 < level < 1:
        raise InvalidOptionError(f"the level of {article} {name} lies between 0 and 1", text, hint)
    return check_within("level", level)


def weighted_quantile(values: Floats, weight: Floats, level: float) -> float:
    """Smallest value with at least the share `level` of the weight at or below it."""
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    # A rounding error of the sum must not move the answer to the next value.
    at = int(np.searchsorted(reached, level * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(at, values.size - 1)]])

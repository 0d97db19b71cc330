"""What differs between kinds of forecasts, and nothing else.

A kind is known by its identification function V(z, y): a forecast z is right when V has mean zero
(Osband 1985; Gneiting and Resin 2021). Residuals are minus V: positive where forecasts are too
low, or intervals too narrow. To add a kind, write a subclass of `OfNumbers` or `OfShares` in a file
of its own and name it in `reading.py`. Bets and fits that `OfNumbers` inherits are those of means
and expectiles: override `bets` for another functional.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from calibrant._base.arrays import Flags, Floats
from calibrant._base.words import number_text, percent_text
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.kinds.scale import UNIT, Scale
from calibrant.kinds.vocabulary import EVENTS, Vocabulary

# The default tolerance is this much, or this share of the rarer outcome if that is less.
LARGEST_TOLERANCE, TOLERATED_SHARE = 0.02, 0.1
# Share of the outcomes, in the middle, whose width stands for how much outcomes differ.
MIDDLE = 0.9


class ColumnsOfRows(Protocol):
    """The columns of rows that a kind looks at."""

    @property
    def prediction(self) -> Floats:
        """Forecasts; of intervals the lower ends."""
        ...

    @property
    def outcome(self) -> Floats:
        """Outcomes."""
        ...

    @property
    def upper(self) -> Floats | None:
        """Upper ends of intervals."""
        ...

    @property
    def weights(self) -> Floats:
        """Weights, ones where there are none."""
        ...

    @property
    def scale(self) -> Scale:
        """Where forecasts lie between 0 and 1."""
        ...

    @property
    def coordinate(self) -> Floats:
        """What forecasts are told apart by."""
        ...

    @property
    def residual(self) -> Floats:
        """By how much each forecast was off."""
        ...

    def mean_of(self, values: Floats) -> float:
        """Return the weighted mean of one number a row."""
        ...


class Kind(ABC):
    """A kind of forecast."""

    in_outcome_units: ClassVar[bool] = False
    """Whether errors are in the units of the outcome, rather than probabilities."""
    loss_name: ClassVar[str]
    chance: float | None = None
    """Chance that an outcome lies at or below a right quantile, or inside a right interval; None
    for kinds that promise no share of outcomes."""
    summed: ClassVar[bool] = False
    """Whether sums by forecast hold all that is needed, so that the rows need not be known."""
    side: float = 0.5
    """What residuals of outcomes above the forecast are weighed by; others by the rest to 1."""
    has_ends: ClassVar[bool] = False
    """Whether a forecast has a lower and an upper end."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How users name it, with its level."""

    @property
    @abstractmethod
    def words(self) -> Vocabulary:
        """Nouns and number formats."""

    @abstractmethod
    def residuals(self, prediction: Floats, outcome: Floats, upper: Floats | None = None) -> Floats:
        """Return minus the identification function: positive where forecasts are too low."""

    @abstractmethod
    def losses(self, prediction: Floats, outcome: Floats, upper: Floats | None = None) -> Floats:
        """Return a loss that is least, on average, for the right forecast."""

    @abstractmethod
    def scale(self, rows: ColumnsOfRows, range_: object) -> Scale:
        """Find the scale of rows, within the range of outcomes if it is known."""

    @abstractmethod
    def forecast_and_observed(self, rows: ColumnsOfRows) -> tuple[float, float]:
        """Return what was forecast on average, and what was observed."""

    @abstractmethod
    def extent(self, rows: ColumnsOfRows) -> float:
        """Return what a tolerance in per cent is a share of."""

    @abstractmethod
    def default_tolerance(self, extent: float) -> float:
        """Return the largest acceptable error when nobody says."""

    @abstractmethod
    def default_reason(self, rows: ColumnsOfRows | None) -> str:
        """Say what the default tolerance is, in a sentence."""

    @abstractmethod
    def bets(self, rows: ColumnsOfRows) -> tuple[Floats, Floats]:
        """Return a number in [0, 1] for each row, after its mean if the forecast is right."""

    def compares_numbers(self, scale: Scale) -> bool:  # noqa: ARG002
        """Whether residuals are outcome less forecast, both in a known range."""
        return False

    def has_ratio(self, rows: ColumnsOfRows) -> bool:  # noqa: ARG002
        """Whether sums of outcomes can be compared with sums of forecasts."""
        return False

    def best(self, outcome: Floats, weight: Floats) -> float:  # noqa: ARG002
        """Return the constant forecast of least loss."""
        raise InvalidOptionError(f"no single number is the best {self.name}", self.name)

    def too(self, observed_more: bool) -> str:  # noqa: FBT001
        """Say in which direction forecasts are off."""
        return self.words.too_low if observed_more else self.words.too_high


class Continuous(Kind):
    """Forecasts of numbers that need not lie between 0 and 1."""

    heaviest: float = 1.0
    """What residuals are weighed by at most."""

    def scale(self, rows: ColumnsOfRows, range_: object) -> Scale:
        """Place forecasts in the range of outcomes, or in that of the forecasts."""
        if range_ is not None:
            scale = Scale.between(range_)
            scale.refuse_outside(rows.prediction, "y_pred")
            scale.refuse_outside(rows.outcome, "y_true")
            unit = scale.unit * self.heaviest if self.in_outcome_units else 1.0
            return Scale(scale.start, scale.end, unit, bounded=True)
        if not self.in_outcome_units:
            return Scale.of_coordinates(rows.coordinate, 1.0)
        largest = max(float(rows.residual.max()), -float(rows.residual.min()))
        if largest == 0:  # No row shows what residuals could be: as much as forecasts differ.
            largest = float(np.ptp(rows.coordinate)) or 1.0
        return Scale.of_coordinates(rows.coordinate, largest)


class OfNumbers(Continuous):
    """Forecasts in the units of the outcome: means and expectiles."""

    in_outcome_units = True

    def extent(self, rows: ColumnsOfRows) -> float:
        """Return the range of the outcomes, or of most of them.

        The range if it is known; otherwise the width of the middle 90 % of the outcomes, or their
        standard deviation where that has no width.
        """
        return self.extent_and_name(rows)[0]

    def extent_and_name(self, rows: ColumnsOfRows) -> tuple[float, str]:
        """Return what a tolerance in per cent is a share of, and what that is called."""
        if rows.scale.bounded:
            return rows.scale.width, "the range of outcomes"
        low, high = (
            weighted_quantile(rows.outcome, rows.weights, (1 + side * MIDDLE) / 2)
            for side in (-1, 1)
        )
        if high > low:
            return high - low, f"the width of the middle {percent_text(MIDDLE)} of the outcomes"
        mean = rows.mean_of(rows.outcome)
        deviation = float(np.sqrt(rows.mean_of(np.square(rows.outcome - mean))))
        if deviation > 0:
            return deviation, "the standard deviation of the outcomes"
        raise InvalidForecastsError(
            "outcomes must differ, or their range must be known",
            f"{number_text(mean)} in every row",
            "pass @range=(low, high), or a tolerance",
        )

    def default_tolerance(self, extent: float) -> float:
        """Return 2 % of the extent of the outcomes."""
        return LARGEST_TOLERANCE * extent

    def default_reason(self, rows: ColumnsOfRows | None) -> str:
        """Say what the default tolerance is a share of."""
        assert rows is not None  # noqa: S101  # forecasts of numbers are known by rows
        extent, name = self.extent_and_name(rows)
        return f"Default tolerance: 2 % of {name} ({number_text(extent)})."

    def forecast_and_observed(self, rows: ColumnsOfRows) -> tuple[float, float]:
        """Return the mean forecast, as it is and after the one shift that would be right.

        Of means the second is the mean outcome. The expectile of outcomes whose forecasts differ
        is not their mean expectile: how forecasts spread is no error of theirs.
        """
        forecast = rows.mean_of(rows.prediction)
        return forecast, forecast + self.best(rows.outcome - rows.prediction, rows.weights)

    def bets(self, rows: ColumnsOfRows) -> tuple[Floats, Floats]:
        """Return where residuals lie between the least and the largest that can be.

        With outcomes from a to b the residual t (y - z)+ - (1 - t) (z - y)+ has mean 0 and lies
        between -(1 - t) (z - a) and t (b - z): less the one end, over their distance, it lies in
        [0, 1]. At t = 1/2 that is the scaled outcome.
        """
        require_range(self, rows.scale if rows.scale.bounded else None)
        z, y, level = rows.prediction, rows.outcome, self.side
        down, up = (1 - level) * (z - rows.scale.start), level * (rows.scale.end - z)
        residual = np.where(y > z, level * (y - z), (1 - level) * (y - z))
        bet = np.clip((residual + down) / (down + up), 0.0, 1.0)
        return np.clip(down / (down + up), 0.0, 1.0), bet


class OfShares(Continuous):
    """Forecasts that promise a share of outcomes below or inside: quantiles and intervals."""

    level: float

    @property
    def chance(self) -> float:  # type: ignore[override]
        """The share of outcomes that is promised."""
        return self.level

    @abstractmethod
    def covered(self, prediction: Floats, outcome: Floats, upper: Floats | None) -> Flags:
        """Whether each outcome lies where the share was promised."""

    def residuals(self, prediction: Floats, outcome: Floats, upper: Floats | None = None) -> Floats:
        """Return the level minus whether the outcome lies below or inside."""
        return np.asarray(self.level - self.covered(prediction, outcome, upper), dtype=np.float64)

    def extent(self, rows: ColumnsOfRows) -> float:  # noqa: ARG002
        """Return 1: shares are probabilities."""
        return 1.0

    def default_tolerance(self, extent: float) -> float:  # noqa: ARG002
        """Return 0.02, or a tenth of the rarer side if that is less."""
        return min(LARGEST_TOLERANCE, TOLERATED_SHARE * min(self.level, 1 - self.level))

    def default_reason(self, rows: ColumnsOfRows | None) -> str:  # noqa: ARG002
        """Say what the default tolerance is."""
        return "Default tolerance: 2 points, or a tenth of the rarer side if less."

    def forecast_and_observed(self, rows: ColumnsOfRows) -> tuple[float, float]:
        """Return the share of outcomes that was promised, and the share observed."""
        covered = self.covered(rows.prediction, rows.outcome, rows.upper)
        return self.level, rows.mean_of(covered.astype(np.float64))

    def bets(self, rows: ColumnsOfRows) -> tuple[Floats, Floats]:
        """Return whether outcomes lie below or inside, after the level."""
        covered = self.covered(rows.prediction, rows.outcome, rows.upper)
        return np.full(rows.outcome.size, self.level), covered.astype(np.float64)

    def too(self, observed_more: bool) -> str:  # noqa: FBT001
        """More outcomes at or below a quantile than promised: it is too high."""
        return self.words.too_high if observed_more else self.words.too_low


@dataclass(frozen=True, slots=True)
class Binary(Kind):
    """The probability of an event: V = p - y, squared error."""

    loss_name = "Brier score"
    summed = True

    @property
    def name(self) -> str:
        """How users name it."""
        return "binary"

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats."""
        return EVENTS

    def residuals(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return outcome minus forecast."""
        return np.asarray(outcome - prediction)

    def losses(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return squared errors."""
        return np.square(outcome - prediction)

    def scale(self, rows: ColumnsOfRows, range_: object) -> Scale:  # noqa: ARG002
        """Return the scale of probabilities."""
        return UNIT

    def forecast_and_observed(self, rows: ColumnsOfRows) -> tuple[float, float]:
        """Return the mean forecast and the observed rate."""
        return rows.mean_of(rows.prediction), rows.mean_of(rows.outcome)

    def extent(self, rows: ColumnsOfRows) -> float:
        """Return the share of the rarer outcome."""
        rate = rows.mean_of(rows.outcome)
        rarer = min(rate, 1 - rate)
        return rarer if rarer > 0 else 1 / (np.count_nonzero(rows.weights) + 2)

    def default_tolerance(self, extent: float) -> float:
        """Return 0.02, or a tenth of the rarer outcome if that is less."""
        return min(LARGEST_TOLERANCE, TOLERATED_SHARE * extent)

    def default_reason(self, rows: ColumnsOfRows | None) -> str:  # noqa: ARG002
        """Say what the default tolerance is."""
        return "Default tolerance: 2 points, or a tenth of the rarer outcome if less."

    def bets(self, rows: ColumnsOfRows) -> tuple[Floats, Floats]:
        """Return outcomes after their forecasts."""
        return rows.prediction, np.asarray(rows.outcome, dtype=np.float64)

    def compares_numbers(self, scale: Scale) -> bool:  # noqa: ARG002
        """Return True: outcomes are 0 and 1, or between them."""
        return True

    def has_ratio(self, rows: ColumnsOfRows) -> bool:  # noqa: ARG002
        """Return True: events can be counted."""
        return True

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the observed rate."""
        return float(weight @ outcome / weight.sum())


BINARY = Binary()


def require_range(kind: Kind, scale: Scale | None) -> None:
    """Refuse means and expectiles without a range: no bet on what has no bounds is safe."""
    if kind.in_outcome_units and scale is None:
        raise InvalidOptionError(
            f"bets on a {kind.name.partition('=')[0]} need the range of the outcomes",
            "none",
            "pass @range=(low, high), or forecast a quantile",
        )


def weighted_quantile(values: Floats, weight: Floats, level: float) -> float:
    """Smallest value with at least the share `level` of the weight at or below it."""
    order = np.argsort(values)
    cumulative = np.cumsum(weight[order])
    # A rounding error of the sum must not move the answer to the next value.
    at = int(np.searchsorted(cumulative, level * cumulative[-1] * (1 - 1e-12)))
    return float(values[order[min(at, values.size - 1)]])

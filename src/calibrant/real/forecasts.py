"""Forecasts of real outcomes, checked: what each promised, and by how much it was off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant.arrays import Flags, Floats, Indices
from calibrant.data.input import (
    as_array,
    as_floats,
    first_rows,
    one_column,
    refuse_missing,
    refuse_other_labels,
)
from calibrant.data.rows import refuse_extreme_weights
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.sums import levels_of_numbers
from calibrant.options import shown
from calibrant.real.properties import (
    Coverage,
    Expectile,
    Mean,
    Quantile,
    property_of,
    weighted_quantile,
)
from calibrant.real.scale import MIDDLE, OutcomeScale
from calibrant.words import count_text, number_text, percent_text

# Ends of intervals are exact to this share of the largest of them.
ROUNDING = 2.0**-40
# Outcomes and forecasts in such units have losses that are squares, and sums of them.
LEAST_SIZE, MOST_SIZE = 1e-100, 1e100
# Share of outcomes that may equal a quantile or an end of an interval.
MOST_TIED = 0.01
AnyKind = Mean | Quantile | Expectile | Coverage


@dataclass(frozen=True)
class RealForecasts:
    """Rows of forecasts and real outcomes that were checked."""

    kind: AnyKind
    outcome: Floats
    forecast: Floats
    """The forecasts; of intervals the lower ends."""
    upper: Floats | None
    """The upper ends of intervals; None for forecasts of one number."""
    weight: Floats | None
    scale: OutcomeScale

    @classmethod
    def read(
        cls,
        y_true: object,
        y_pred: object,
        kind: object = "mean",
        *,
        upper: object = None,
        level: float | None = None,
        range_: object = None,
        sample_weight: object = None,
    ) -> RealForecasts:
        """Coerce and check what the caller holds."""
        refuse_other_labels(y_true=y_true, y_pred=y_pred, upper=upper, sample_weight=sample_weight)
        outcome = _quantity(y_true, "y_true")
        forecast = _quantity(y_pred, "y_pred", outcome.size)
        high = None if upper is None else _quantity(upper, "upper", outcome.size)
        weight = None
        if sample_weight is not None:
            weight = finite_numbers(sample_weight, "sample_weight", outcome.size)
            check_weights(weight)
        asked = _kind(kind, high, level)
        if high is not None:
            _refuse_crossed(forecast, high)
        found = cls(asked, outcome, forecast, high, weight, OutcomeScale(0, 1, 1, bounded=True))
        scaled = replace(found, scale=found.weighing.scale_within(range_))
        # What was found on the way to the scale does not depend on it.
        if "residual" in found.__dict__:
            scaled.__dict__.update(residual=found.residual)
        return scaled

    def scale_within(self, range_: object) -> OutcomeScale:
        """Find the scale of these rows, within the range of outcomes if it is known."""
        if isinstance(self.kind, Coverage):
            if range_ is not None:
                raise InvalidOptionError(
                    "range is for means, quantiles and expectiles", "a range of intervals"
                )
            return OutcomeScale.of_forecasts(self.place, 1.0)
        if range_ is not None:
            scale = OutcomeScale.between(range_)
            scale.refuse_outside(self.forecast, "y_pred")
            scale.refuse_outside(self.outcome, "y_true")
            if not self.kind.in_outcome_units:
                return replace(scale, unit=1.0)
            # An expectile weighs residuals by twice the level, or twice what it lacks to one.
            heaviest = 1.0
            if isinstance(self.kind, Expectile):
                heaviest = 2 * max(self.kind.level, 1 - self.kind.level)
            return replace(scale, unit=scale.unit * heaviest)
        if not self.kind.in_outcome_units:
            return OutcomeScale.of_forecasts(self.place, 1.0)
        largest = max(float(self.residual.max()), -float(self.residual.min()))
        if largest == 0:  # No row shows what residuals could be: as much as forecasts differ.
            largest = float(np.ptp(self.place)) or 1.0
        return OutcomeScale.of_forecasts(self.place, largest)

    def __len__(self) -> int:
        return self.outcome.size

    @cached_property
    def place(self) -> Floats:
        """What forecasts are told apart by: the forecast, or the width of an interval."""
        if self.upper is None:
            return self.forecast
        # Intervals of one width differ by the rounding errors of their ends, which are no width.
        ends = self.weighing.forecast, self.weighing.upper
        largest = max(float(np.abs(end).max()) for end in ends if end is not None)
        grain = 2.0 ** np.ceil(np.log2(largest * ROUNDING)) if largest > 0 else 1.0
        return np.asarray(np.round((self.upper - self.forecast) / grain) * grain)

    @cached_property
    def residual(self) -> Floats:
        """By how much each forecast was off: positive where it was too low, or too narrow."""
        if isinstance(self.kind, Coverage):
            return np.asarray(self.kind.level - self.reached)
        return self.kind.residuals(self.forecast, self.outcome)

    @cached_property
    def reached(self) -> Flags:
        """Whether each outcome lies at or below the forecast, or inside the interval."""
        if self.upper is None:
            return np.asarray(self.outcome <= self.forecast)
        return np.asarray((self.forecast <= self.outcome) & (self.outcome <= self.upper))

    @cached_property
    def position(self) -> Floats:
        """Where each forecast lies in the range of forecasts, in [0, 1]."""
        return self.scale.positions(self.place)

    @cached_property
    def charge(self) -> Floats:
        """Residuals in units of the scale, in [-1, 1]."""
        return self.residual if self.scale.unit == 1 else self.residual / self.scale.unit

    @cached_property
    def joint(self) -> Joint:
        """The Joint on which measures see the residuals: its `residual` is theirs.

        Kernels need places and charges only, so `positives` are what makes the charges right.
        For means of outcomes in a known range it is the Joint of both, scaled to [0, 1].
        """
        if self.weighing is not self:
            return self.weighing.joint
        if isinstance(self.kind, Mean) and self.scale.bounded:
            outcome = self.scale.positions(self.outcome)
            return Joint(levels_of_numbers(self.position, outcome, self.weight))
        least, most = float(self.residual.min()), float(self.residual.max())
        spread = most - least if most > least else 1.0
        number = self.residual - least
        number /= spread
        sums = levels_of_numbers(self.position, number, self.weight)
        charges = (sums.positives * spread + sums.weight * least) / self.scale.unit
        positives = sums.weight * sums.prediction + charges
        return Joint(replace(sums, positives=positives, binary=False))

    @property
    def weighing(self) -> RealForecasts:
        """The rows that have weight: others are no rows, however far outside they lie."""
        if self.weight is None or self.weight.all():
            return self
        return self.where(self.weight > 0)

    @property
    def weights(self) -> Floats:
        """Weights of the rows, ones where there are none."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def span(self) -> float:
        """What a tolerance in per cent is of: the range of outcomes, or of most of them.

        1 for probabilities; the range if it is known; otherwise the width of the middle 90 % of
        the outcomes, or their standard deviation where that has no width.
        """
        if not self.kind.in_outcome_units:
            return 1.0
        if self.scale.bounded:
            return self.scale.end - self.scale.start
        ends = [weighted_quantile(self.outcome, self.weights, q) for q in self._middle]
        if ends[1] > ends[0]:
            return ends[1] - ends[0]
        mean = float(np.average(self.outcome, weights=self.weights))
        deviation = float(np.sqrt(np.average(np.square(self.outcome - mean), weights=self.weights)))
        if deviation > 0:
            return deviation
        raise InvalidForecastsError(
            "outcomes must differ, or their range must be known",
            f"{number_text(mean)} in every row",
            "pass range=(low, high), or a tolerance",
        )

    @property
    def span_words(self) -> str:
        """Say what the span is."""
        if not self.kind.in_outcome_units:
            return "probability"
        if self.scale.bounded:
            return "the range of outcomes"
        ends = [weighted_quantile(self.outcome, self.weights, q) for q in self._middle]
        if ends[1] > ends[0]:
            return f"the width of the middle {percent_text(MIDDLE)} of the outcomes"
        return "the standard deviation of the outcomes"

    @property
    def _middle(self) -> tuple[float, float]:
        return (1 - MIDDLE) / 2, (1 + MIDDLE) / 2

    def where(self, keep: Flags | Indices) -> RealForecasts:
        """Keep some rows, on the same scale."""
        return RealForecasts(
            self.kind,
            self.outcome[keep],
            self.forecast[keep],
            None if self.upper is None else self.upper[keep],
            None if self.weight is None else self.weight[keep],
            self.scale,
        )

    def mean_of(self, values: Floats) -> float:
        """Return the weighted mean of one number a row."""
        return float(np.average(values, weights=self.weights))


def _kind(kind: object, upper: Floats | None, level: float | None) -> AnyKind:
    if upper is None:
        if kind == "interval":
            raise InvalidOptionError(
                "intervals need both ends", "one column", "pass y_pred=low, upper=high"
            )
        if level is not None:
            raise InvalidOptionError("level is for intervals", shown(level), "kind='quantile=0.9'")
        return property_of(kind)
    if kind not in ("interval", "mean"):
        raise InvalidOptionError("upper ends are for intervals", repr(kind))
    if level is None:
        raise InvalidOptionError(
            "intervals need the share of outcomes that they promise to hold",
            "none",
            "pass level=0.9",
        )
    if not 0 < float(level) < 1:
        raise InvalidOptionError("level must lie between 0 and 1", f"{level:g}")
    return Coverage(float(level))


def _quantity(values: object, name: str, size: int | None = None) -> Floats:
    """Read numbers in units whose squares are numbers as well."""
    numbers = finite_numbers(values, name, size)
    largest = max(float(numbers.max()), -float(numbers.min()))
    if largest > MOST_SIZE or 0 < largest < LEAST_SIZE:
        raise InvalidForecastsError(
            f"{name} must have squares that are numbers",
            f"{largest:.3g} as the largest in size",
            f"use {'larger' if largest > 1 else 'smaller'} units",
        )
    return numbers


def finite_numbers(values: object, name: str, size: int | None = None) -> Floats:
    """Read a column of numbers, none of them missing or infinite."""
    column = one_column(as_array(values, name), name)
    if column.dtype.kind in "UTS":
        raise InvalidForecastsError(f"{name} must hold numbers", f"text such as {str(column[0])!r}")
    numbers = as_floats(column, name)
    if numbers.size == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    if size is not None and numbers.size != size:
        raise InvalidForecastsError(
            f"{name} must have one entry per row", f"{numbers.size} for {size} rows"
        )
    # The sum of finite numbers tells in one pass that none is missing.
    with np.errstate(over="ignore"):
        total = numbers.sum()
    if not np.isfinite(total):
        refuse_missing(numbers, name)
        infinite = ~np.isfinite(numbers)
        if infinite.any():
            raise InvalidForecastsError(
                f"{name} must be finite",
                f"{infinite.sum()} infinite, first rows {first_rows(infinite)}",
            )
    return numbers


def check_weights(weight: Floats) -> None:
    """Refuse weights that are negative, all zero, or too large or small to be squared."""
    if (weight < 0).any() or not weight.any():
        raise InvalidForecastsError(
            "sample_weight must not be negative, nor all zero", f"a least one of {weight.min():g}"
        )
    refuse_extreme_weights(weight)


def refuse_ties(forecasts: RealForecasts) -> None:
    """Refuse quantiles and intervals that outcomes often equal, as counts and zeros do.

    A right quantile of such outcomes has more than its share of them at or below it, and would be
    called wrong. Rare ties, as by rounding, do no harm.
    """
    kept = forecasts.weighing
    if not isinstance(kept.kind, Quantile | Coverage):
        return
    tied = kept.outcome == kept.forecast
    if kept.upper is not None:
        tied |= kept.outcome == kept.upper
    ties, most = int(tied.sum()), MOST_TIED * len(kept)
    if ties > most + 3 * np.sqrt(most) + 1:
        what = "interval ends" if kept.upper is not None else "quantiles"
        raise InvalidForecastsError(
            f"forecasts of {what} must be of outcomes that rarely equal them",
            f"{ties} of {count_text(len(kept), 'row')} where y_true equals the forecast",
            "outcomes with ties, such as counts, cannot be judged by shares: audit their mean "
            "(kind='mean'), or the chance to exceed a threshold",
        )


def _refuse_crossed(low: Floats, high: Floats) -> None:
    crossed = low > high
    if crossed.any():
        raise InvalidForecastsError(
            "the lower end of an interval must not lie above the other one",
            f"{count_text(int(crossed.sum()), 'row')} where it does, first rows "
            f"{first_rows(crossed)}",
            "are the two ends swapped" if crossed.all() else "",
        )

"""Rows: any container in, clean float64 predictions, outcomes and weights out.

Range, NaN and label checks ride along with the compiled pass that sums the rows, so that good
input is read once. Only when that pass counts a bad row does `checked` look at the arrays again, to
clip what is a rounding error away from [0, 1] or to say what is wrong.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant._base.words import count_text
from calibrant.data.input import (
    PERCENT,
    SWAPPED,
    are_grids,
    are_numbered,
    as_array,
    as_floats,
    class_text,
    examples,
    first_rows,
    flattened,
    named_columns,
    one_column,
    one_hot_positions,
    refuse_missing,
    refuse_other_labels,
)
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError, mention
from calibrant.kinds import BINARY, INTERVAL, UNIT, Kind, Scale, read_kind

Outcomes = npt.NDArray[Any]
"""Single bytes, whole numbers or doubles, as they were given."""

# How far outside [0, 1] a prediction may lie and still be taken for a rounding error.
CLIP_FLOAT64 = 1e-9
CLIP_FLOAT32 = 1e-6
ROW_SUM_TOLERANCE = 1e-6
# Ends of intervals are exact to this share of the largest of them.
END_ROUNDING = 2.0**-40
# Outcomes and forecasts in such units have losses that are squares, and sums of them.
LEAST_SIZE, MOST_SIZE = 1e-100, 1e100
# Share of outcomes that may equal a quantile or an end of an interval.
MOST_TIED = 0.01


@dataclass(frozen=True, slots=True)
class RawRows:
    """Predictions, outcomes and weights as contiguous arrays of equal length, not yet checked."""

    prediction: Floats
    outcome: Outcomes
    weight: Floats | None
    clip: float = CLIP_FLOAT64
    whole: bool = False
    """Whether predictions came as whole numbers or truth values, as labels do."""

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object,
        sample_weight: object = None,
        pos_label: object = None,
    ) -> RawRows:
        """Coerce what the caller holds; values are checked by the pass that uses them."""
        if are_grids(y_true, y_proba):
            y_true, y_proba, sample_weight = flattened(y_true, y_proba, sample_weight)
        refuse_other_labels(y_true=y_true, y_proba=y_proba, sample_weight=sample_weight)
        prediction, clip, whole = _as_predictions(y_proba, pos_label)
        outcome = _as_outcomes(y_true, pos_label, prediction)
        weight = None
        if sample_weight is not None:
            weight = as_array(sample_weight, "sample_weight")
            weight = as_floats(one_column(weight, "sample_weight"), "sample_weight")
            refuse_extreme_weights(weight)
        _check_lengths(prediction, outcome, weight)
        return cls(prediction, outcome, weight, clip, whole)

    def checked(self) -> Rows:
        """Clip rounding errors, or raise an error that says what is wrong with the rows."""
        refuse_missing(self.outcome, "y_true")
        refuse_missing(self.prediction, "y_proba")
        if self.weight is not None:
            refuse_missing(self.weight, "sample_weight")
            _refuse_where(
                ~((self.weight >= 0) & (self.weight < np.inf)),
                self.weight,
                "@sample_weight must be finite and not negative",
            )
        _refuse_labels(self.outcome, self.prediction)
        outside = (self.prediction < -self.clip) | (self.prediction > 1 + self.clip)
        if outside.any():
            _refuse_range(self.prediction, outside, self.outcome)
        clipped = int(((self.prediction < 0) | (self.prediction > 1)).sum())
        prediction = np.clip(self.prediction, 0.0, 1.0) if clipped else self.prediction
        return Rows(prediction, self.outcome, self.weight, clipped, self.whole)

    def found_sound(self) -> Rows:
        """Take the word of a pass over the rows that nothing is wrong with them."""
        return Rows(self.prediction, self.outcome, self.weight, whole=self.whole)


@dataclass(frozen=True)
class Rows:
    """Rows that were checked, of any kind of forecast."""

    prediction: Floats
    """Forecasts; of intervals the lower ends. Probabilities lie in [0, 1]."""
    outcome: Outcomes
    weight: Floats | None
    """Not negative; None where all rows weigh the same."""
    clipped: int = 0
    """Predictions that lay outside [0, 1] by a rounding error and were set to its end."""
    whole: bool = False
    """Whether predictions came as whole numbers or truth values, as labels do."""
    upper: Floats | None = None
    """The upper ends of intervals; None for forecasts of one number."""
    kind: Kind = BINARY
    scale: Scale = UNIT
    """That of all rows, kept by every part of them."""

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object,
        sample_weight: object = None,
        pos_label: object = None,
    ) -> Rows:
        """Coerce and check probabilities and outcomes."""
        return RawRows.read(y_true, y_proba, sample_weight, pos_label).checked()

    @classmethod
    def of_kind(
        cls,
        y_true: object,
        y_pred: object,
        kind: object = "mean",
        *,
        upper: object = None,
        level: float | None = None,
        range_: object = None,
        sample_weight: object = None,
    ) -> Rows:
        """Coerce and check forecasts of numbers and their outcomes."""
        if isinstance(y_true, Rows):
            return y_true
        refuse_other_labels(y_true=y_true, y_pred=y_pred, upper=upper, sample_weight=sample_weight)
        outcome = quantity(y_true, "y_true")
        forecast = quantity(y_pred, "y_pred", outcome.size)
        high = None if upper is None else quantity(upper, "upper", outcome.size)
        weight = None
        if sample_weight is not None:
            weight = finite_numbers(sample_weight, "sample_weight", outcome.size)
            check_weights(weight)
        known = _kind_of_ends(kind, high, level)
        if high is not None:
            _refuse_crossed(forecast, high)
        found = cls(forecast, outcome, weight, upper=high, kind=known)
        scaled = replace(found, scale=known.scale(found.weighing, range_))
        # What was found on the way to the scale does not depend on it.
        if "residual" in found.__dict__:
            scaled.__dict__.update(residual=found.residual)
        return scaled

    def __len__(self) -> int:
        return self.outcome.size

    def where(self, keep: npt.NDArray[Any]) -> Rows:
        """Keep or reorder rows by a mask or an index, on the same scale."""
        return replace(
            self,
            prediction=self.prediction[keep],
            outcome=self.outcome[keep],
            weight=None if self.weight is None else self.weight[keep],
            upper=None if self.upper is None else self.upper[keep],
        )

    def with_forecasts(self, prediction: Floats, upper: Floats | None = None) -> Rows:
        """Return the same rows with other forecasts."""
        return replace(self, prediction=prediction, upper=upper)

    @cached_property
    def weighing(self) -> Rows:
        """The rows that have weight: others are ignored, however far outside they lie."""
        if self.weight is None or self.weight.all():
            return self
        return self.where(self.weight > 0)

    @property
    def weights(self) -> Floats:
        """Weights of the rows, ones where there are none."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def mean_of(self, values: Floats) -> float:
        """Return the weighted mean of one number a row."""
        return float(np.average(values, weights=self.weights))

    @cached_property
    def residual(self) -> Floats:
        """By how much each forecast was off: positive where it was too low, or too narrow."""
        return self.kind.residuals(self.prediction, self.outcome, self.upper)

    @property
    def losses(self) -> Floats:
        """Loss of each row, least on average for right forecasts."""
        return self.kind.losses(self.prediction, self.outcome, self.upper)

    @cached_property
    def coordinate(self) -> Floats:
        """What distinguishes forecasts: the forecast, or the width of an interval."""
        if self.upper is None:
            return self.prediction
        # Intervals of one width differ by the rounding errors of their ends, which are no width.
        ends = self.weighing.prediction, self.weighing.upper
        largest = max(float(np.abs(end).max()) for end in ends if end is not None)
        grain = 2.0 ** np.ceil(np.log2(largest * END_ROUNDING)) if largest > 0 else 1.0
        return np.asarray(np.round((self.upper - self.prediction) / grain) * grain)

    @cached_property
    def position(self) -> Floats:
        """Where each forecast lies in the range of forecasts, in [0, 1]."""
        return self.scale.positions(self.coordinate)

    @cached_property
    def scaled_residual(self) -> Floats:
        """Residuals in units of the scale, in [-1, 1]."""
        return self.residual if self.scale.unit == 1 else self.residual / self.scale.unit

    def checked(self) -> Rows:
        """Return the rows: they were checked before."""
        return self

    def found_sound(self) -> Rows:
        """Return the rows: they were checked before."""
        return self

    def refuse_ties(self) -> None:
        """Refuse quantiles and intervals that outcomes often equal, as counts and zeros do.

        A right quantile of such outcomes has more than its share of them at or below it, and would
        be called wrong. Rare ties, as by rounding, do no harm.
        """
        kept = self.weighing
        if kept.kind.chance is None:
            return
        tied = kept.outcome == kept.prediction
        if kept.upper is not None:
            tied |= kept.outcome == kept.upper
        ties, most = int(tied.sum()), MOST_TIED * len(kept)
        if ties > most + 3 * np.sqrt(most) + 1:
            what = "interval ends" if kept.upper is not None else "quantiles"
            raise InvalidForecastsError(
                f"forecasts of {what} must be of outcomes that rarely equal them",
                f"{ties} of {count_text(len(kept), 'row')} where @y_true equals the forecast",
                "outcomes with ties, such as counts, cannot be judged by shares: audit their mean "
                "(@kind='mean'), or the chance to exceed a threshold",
            )


def _kind_of_ends(kind: object, upper: Floats | None, level: float | None) -> Kind:
    """Read a kind beside the ends that were given."""
    ended = isinstance(kind, Kind) and kind.has_ends
    if upper is None:
        if kind == INTERVAL or ended:
            raise InvalidOptionError(
                "intervals need both ends", "one column", "pass @y_pred=low, upper=high"
            )
        return read_kind(kind, level)
    if ended:
        return read_kind(kind)
    if kind not in (INTERVAL, "mean"):
        raise InvalidOptionError("upper ends are for intervals", repr(kind))
    return read_kind(INTERVAL, level)


def quantity(values: object, name: str, size: int | None = None) -> Floats:
    """Read numbers in units whose squares are numbers as well."""
    numbers = finite_numbers(values, name, size)
    largest = max(float(numbers.max()), -float(numbers.min()))
    if largest > MOST_SIZE or 0 < largest < LEAST_SIZE:
        raise InvalidForecastsError(
            f"{mention(name)} must have squares that are numbers",
            f"{largest:.3g} as the largest in size",
            f"use {'larger' if largest > 1 else 'smaller'} units",
        )
    return numbers


def finite_numbers(values: object, name: str, size: int | None = None) -> Floats:
    """Read a column of numbers, none of them missing or infinite."""
    column = one_column(as_array(values, name), name)
    if column.dtype.kind in "UTS":
        raise InvalidForecastsError(
            f"{mention(name)} must hold numbers", f"text such as {str(column[0])!r}"
        )
    numbers = as_floats(column, name)
    if numbers.size == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    if size is not None and numbers.size != size:
        raise InvalidForecastsError(
            f"{mention(name)} must have one entry per row", f"{numbers.size} for {size} rows"
        )
    # The sum of finite numbers tells in one pass that none is missing.
    with np.errstate(over="ignore"):
        total = numbers.sum()
    if not np.isfinite(total):
        refuse_missing(numbers, name)
        infinite = ~np.isfinite(numbers)
        if infinite.any():
            raise InvalidForecastsError(
                f"{mention(name)} must be finite",
                f"{infinite.sum()} infinite, first rows {first_rows(infinite)}",
            )
    return numbers


def check_weights(weight: Floats) -> None:
    """Refuse weights that are negative, all zero, or too large or small to be squared."""
    if (weight < 0).any() or not weight.any():
        raise InvalidForecastsError(
            "@sample_weight must not be negative, nor all zero", f"a least one of {weight.min():g}"
        )
    refuse_extreme_weights(weight)


def _refuse_crossed(low: Floats, high: Floats) -> None:
    crossed = low > high
    if crossed.any():
        raise InvalidForecastsError(
            "the lower end of an interval must not lie above the other one",
            f"{count_text(int(crossed.sum()), 'row')} where it does, first rows "
            f"{first_rows(crossed)}",
            "are the two ends swapped" if crossed.all() else "",
        )


def refuse_extreme_weights(weight: Floats) -> None:
    """Refuse weights without a positive, finite sum, and those whose squares vanish or overflow.

    Missing, infinite and negative weights are left to others, who say in which row they are.
    """
    with np.errstate(over="ignore"):
        total, squares = float(weight.sum()), float(weight @ weight)
    least = float(weight.min(initial=np.inf, where=weight != 0))
    if least >= 0 and weight.max(initial=0.0) < np.inf:  # not for NaN
        refuse_sums_of_weights(total, squares, weight, vanishing=least * least == 0)


def refuse_sums_of_weights(
    total: float, squares: float, weight: Floats, *, vanishing: bool
) -> None:
    """Refuse weights by their sum, that of their squares, and whether a square is zero."""
    if not 0 < total < np.inf:
        raise InvalidForecastsError(
            "the weights must have a positive, finite sum, so they cannot all be zero",
            f"a sum of {total:g}",
        )
    if squares == np.inf or vanishing:
        apart = (weight.min(initial=np.inf, where=weight > 0) / weight.max()) ** 2 == 0
        raise InvalidForecastsError(
            "the squares of the weights must be representable",
            f"weights from {weight.min():g} to {weight.max():g}",
            f"{'set those below 1e-150 times the largest one to 0, and ' if apart else ''}"
            "divide the weights by their mean",
        )


def predictions_alone(y_proba: object, unit: float = 1.0, pos_label: object = None) -> Floats:
    """Predictions without outcomes, divided by a unit, in [0, 1]."""
    if not np.ndim(as_array(y_proba, "y_proba")):
        raise InvalidForecastsError("@y_proba must have one entry per row", "a single number")
    prediction, clip, _ = _as_predictions(y_proba, pos_label)
    raw = RawRows(
        prediction / unit if unit != 1 else prediction, np.zeros(prediction.size), None, clip
    )
    _check_lengths(raw.prediction, raw.outcome, None)
    low, high = float(raw.prediction.min()), float(raw.prediction.max())
    sound = low >= 0 and high <= 1  # not for NaN
    return raw.prediction if sound else raw.checked().prediction


def chances(log_odds: object) -> Floats:
    """Log-odds as probabilities, in their shape; missing ones stay missing, others are finite."""
    from scipy.special import expit

    values = np.ma.asarray(log_odds if np.ma.isMA(log_odds) else as_array(log_odds, "y_proba"))
    values = np.ma.array(as_floats(values.data, "y_proba"), mask=np.ma.getmaskarray(values))
    wrong = np.isinf(np.ma.filled(values, 0.0))
    if wrong.any():
        raise InvalidForecastsError(
            "log-odds must be finite",
            f"{count_text(int(wrong.sum()), 'infinite one')}",
            "forecasts of exactly 0 and 1 are given as probabilities",
        )
    probabilities = expit(values.data)
    return np.ma.array(probabilities, mask=values.mask) if values.mask.any() else probabilities


def positive_column(values: object, pos_label: object = None) -> int:
    """Find the column of outcome 1 among two: the second one, or by the names of a frame."""
    columns = named_columns(values)
    if columns is None or len(columns) != 2:
        return 1
    positive = "1" if pos_label is None else _outcome_text(pos_label)
    names = [_outcome_text(name) for name in columns]
    known = pos_label is not None or set(names) == {"0", "1"}
    if known and names.count(positive) == 1:
        return names.index(positive)
    if are_numbered(columns):
        return 1
    outcomes = "the outcomes 0 and 1" if pos_label is None else f"@pos_label={shown(pos_label)}"
    raise InvalidForecastsError(
        "two columns with names must be named like the outcomes",
        f"{shown(columns[0])} and {shown(columns[1])} for {outcomes}",
        "pass the column of the positive outcome alone",
    )


def _outcome_text(label: object) -> str:
    """Text by which labels of two outcomes are compared: true is 1."""
    text = class_text(label)
    return {"false": "0", "0.0": "0", "true": "1", "1.0": "1"}.get(text.lower(), text)


def _as_predictions(y_proba: object, pos_label: object) -> tuple[Floats, float, bool]:
    """Predictions, how far outside [0, 1] they may lie, and whether they came as whole numbers."""
    scores = as_array(y_proba, "y_proba")
    whole = scores.dtype.kind in "biu"
    clip = CLIP_FLOAT64
    if scores.dtype.kind == "f" and scores.dtype.itemsize < 8:
        clip = CLIP_FLOAT32
    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = _column_of_two(scores, positive_column(y_proba, pos_label))
    elif scores.ndim == 2 and scores.shape[1] > 2:
        raise InvalidForecastsError(
            "@y_proba must hold one probability per row, or two that sum to one",
            f"shape {scores.shape}",
            "choose one class: @y_proba[:, k] with @pos_label set to its label",
        )
    return as_floats(one_column(scores, "y_proba"), "y_proba"), clip, whole


def _column_of_two(scores: npt.NDArray[Any], column: int) -> npt.NDArray[Any]:
    """P(1) of a (n, 2) array, after checking that the rows are distributions."""
    if scores.dtype.kind not in "biuf":
        scores = as_floats(scores, "y_proba")
    sums = as_floats(scores.sum(axis=1), "y_proba")
    off = ~(np.abs(sums - 1) <= ROW_SUM_TOLERANCE) & ~np.isnan(sums)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InvalidForecastsError(
            "two columns of @y_proba must be the chances of 0 and of 1 and sum to one",
            f"{off.sum()} rows that do not, first row {row + 1}: {scores[row].tolist()}",
            "pass the column of the positive outcome alone",
        )
    return scores[:, column]


def _as_outcomes(y_true: object, pos_label: object, prediction: Floats) -> Outcomes:
    labels = as_array(y_true, "y_true")
    one_hot = one_hot_positions(labels, 2) if pos_label is None else None
    if one_hot is not None:
        return np.asarray(one_hot == positive_column(y_true), dtype=np.int64)
    labels = one_column(labels, "y_true")
    if pos_label is not None:
        return _matches(labels, pos_label)
    kind = labels.dtype.kind
    # Single bytes are read as they are: widened they would take as much room as predictions.
    if kind == "b" or labels.dtype == np.uint8:
        return np.ascontiguousarray(labels).view(np.uint8)
    if kind in "iu":
        return np.ascontiguousarray(labels, dtype=np.int64)
    if kind == "f":
        return np.ascontiguousarray(labels, dtype=np.float64)
    if kind == "O":
        refuse_missing(labels, "y_true")
        real = bool | int | float | Decimal | np.bool_ | np.integer | np.floating
        if all(isinstance(v, real) for v in labels.tolist()):
            return as_floats(labels, "y_true")
    raise InvalidForecastsError(
        "@y_true must be 0 and 1, or come with @pos_label",
        f"labels {examples(labels)}",
        _swap_hint(prediction) or "name the label of the positive outcome with @pos_label",
    )


def _matches(labels: npt.NDArray[Any], pos_label: object) -> npt.NDArray[np.uint8]:
    from collections import Counter

    from calibrant.data.labels import plain, refuse_missing_words

    if isinstance(pos_label, list | tuple | set | dict) or getattr(pos_label, "ndim", None):
        raise InvalidOptionError("@pos_label must be one label", shown(pos_label))
    refuse_missing(labels, "y_true")
    positive = np.asarray(labels == pos_label)
    if positive.shape != labels.shape:
        positive = np.zeros(labels.shape, dtype=bool)
    if labels.dtype.kind in "OUT":
        refuse_missing_words(Counter(labels.tolist()), "y_true", pos_label)
    if not positive.any() and len(set(labels.tolist())) > 1:
        raise InvalidForecastsError(
            f"@pos_label {plain(pos_label)!r} must be one of the labels",
            f"labels {examples(labels)}",
        )
    return np.ascontiguousarray(positive).view(np.uint8)


def _check_lengths(prediction: Floats, outcome: Outcomes, weight: Floats | None) -> None:
    if prediction.size == 0 or outcome.size == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    if prediction.size != outcome.size:
        raise InvalidForecastsError(
            "@y_true and @y_proba must have the same length",
            f"{outcome.size} and {prediction.size}",
        )
    if weight is not None and weight.size != prediction.size:
        raise InvalidForecastsError(
            "@sample_weight must have one entry per row",
            f"{weight.size} for {prediction.size} rows",
        )


def _refuse_where(bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], what: str) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        raise InvalidForecastsError(
            what,
            f"{count_text(rows.size, 'row')} where it is not, first row {rows[0] + 1}: "
            f"{values[rows[0]]}",
        )


def _refuse_labels(outcome: Outcomes, prediction: Floats) -> None:
    if not ((outcome < 0) | (outcome > 1)).any():
        return
    labels = np.unique(outcome)
    hint = _swap_hint(prediction)
    others = labels[(labels != 0) & (labels != 1)]
    if not hint and labels.size == 2:
        hint = f"name the label of the positive outcome, for instance @pos_label={labels[1]:g}"
    if not hint and labels.size == 3 and others.size == 1:
        hint = (
            f"if {others[0]:g} stands for a missing outcome leave those rows out, "
            "in frames and files with @na_label"
        )
    raise InvalidForecastsError(
        "@y_true must hold 0 and 1, or mean outcomes between them",
        f"labels {examples(_whole_if_they_are(labels))}",
        hint or "name the label of the positive outcome with @pos_label",
    )


def _whole_if_they_are(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Write 1 and 2 without decimals, though files are read as doubles."""
    exact = np.isfinite(labels) & (labels == np.round(labels)) & (np.abs(labels) < 2**53)
    return labels.astype(np.int64) if exact.all() else labels


def _refuse_range(prediction: Floats, outside: npt.NDArray[np.bool_], outcome: Outcomes) -> None:
    low, high = float(prediction.min()), float(prediction.max())
    between = outcome[(outcome > 0) & (outcome < 1)]
    if between.size and np.array_equal(prediction, np.round(prediction)):
        hint = SWAPPED
    else:
        hint = _sentinel_hint(prediction, outside) or range_hint(low, high)
    raise InvalidForecastsError(
        "@y_proba must be probabilities in [0, 1]",
        f"{outside.sum()} of {outside.size} outside, from {low:g} to {high:g}, "
        f"first rows {first_rows(outside)}",
        hint,
    )


def _sentinel_hint(prediction: Floats, outside: npt.NDArray[np.bool_]) -> str:
    """Guess that one number beside probabilities means that there is none."""
    odd = prediction[outside]
    # One of them may be a slip; most of them are what the column holds.
    alike = bool((odd == odd[0]).all()) and 1 < odd.size < outside.size / 2
    return f"{odd[0]:g} may stand for a missing value: leave those rows out" if alike else ""


def range_hint(low: float, high: float) -> str:
    """Guess what numbers that are no probabilities are."""
    if low < 0 and high <= 1:
        return "a negative number may stand for a missing value: leave those rows out"
    if low >= 1 and high <= 10:
        return "these look like ratings: turn them into probabilities first"
    if low >= 0 and 2 < high <= 100:
        return PERCENT
    if low < 0:
        return "these look like scores or log-odds: turn them into probabilities first"
    return "probabilities end at 1"


def refuse_swap(rows: RawRows | Rows) -> None:
    """Refuse mean outcomes beside predictions that are labels, and warn if all are 0.0 or 1.0.

    Both are the likely sign of a swap, and the second may be certain forecasts of mean outcomes.
    """
    several = np.unique(rows.outcome).size > 3
    if several and np.isin(rows.prediction, (0.0, 1.0)).all():
        if rows.whole:
            raise InvalidForecastsError(
                "@y_true must be outcomes and @y_proba probabilities",
                "probabilities in @y_true and only 0 and 1 in @y_proba",
                SWAPPED,
            )
        warn_of_swap("@y_true", "@y_proba", "arguments")


def warn_of_swap(outcome: str, prediction: str, what: str) -> None:
    """Warn that outcomes look like forecasts, and forecasts like outcomes."""
    warnings.warn(
        f"{outcome} holds numbers between 0 and 1, and {prediction} only 0 and 1: are the two "
        f"{what} swapped? They were read as mean outcomes and certain forecasts",
        CalibrantWarning,
        stacklevel=2,
    )


def _swap_hint(prediction: Floats) -> str:
    if np.isin(prediction, (0.0, 1.0)).all():
        return SWAPPED
    return ""

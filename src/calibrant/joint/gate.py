"""The gate: any container in, clean float64 predictions, outcomes and weights out.

Range, NaN and label checks ride along with the compiled pass that sums the rows, so that good
input is read once. Only when that pass counts a bad row does `cure` look at the arrays again, to
clip what is a rounding error away from [0, 1] or to say what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError
from calibrant.options import shown

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Outcomes = npt.NDArray[np.uint8] | npt.NDArray[np.int64] | npt.NDArray[np.float64]

# How far outside [0, 1] a prediction may lie and still be taken for a rounding error.
CLIP_FLOAT64 = 1e-9
CLIP_FLOAT32 = 1e-6
ROW_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Rows:
    """Predictions, outcomes and weights as contiguous arrays of equal length, not yet checked."""

    prediction: Floats
    outcome: Outcomes
    weight: Floats | None
    clip: float = CLIP_FLOAT64
    clipped: int = 0

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object,
        sample_weight: object = None,
        pos_label: object = None,
    ) -> Rows:
        """Coerce what the caller holds; values are checked by the pass that uses them."""
        scores = _as_array(y_proba, "y_proba")
        prediction, clip = _as_predictions(scores)
        outcome = _as_outcomes(_as_array(y_true, "y_true"), pos_label, prediction)
        weight = None
        if sample_weight is not None:
            weight = _as_floats(_one_column(_as_array(sample_weight, "sample_weight"), "weights"))
        _check_lengths(prediction, outcome, weight)
        return cls(prediction, outcome, weight, clip)

    def where(self, keep: npt.NDArray[Any]) -> Rows:
        """Keep or reorder rows by a mask or an index."""
        weight = None if self.weight is None else self.weight[keep]
        return replace(
            self, prediction=self.prediction[keep], outcome=self.outcome[keep], weight=weight
        )

    def cure(self) -> Rows:
        """Clip rounding errors, or raise an error that says what is wrong with the rows."""
        _refuse_missing(self.outcome, "y_true")
        _refuse_missing(self.prediction, "y_proba")
        if self.weight is not None:
            _refuse_missing(self.weight, "sample_weight")
            _refuse_where(
                ~((self.weight >= 0) & (self.weight < np.inf)),
                self.weight,
                "sample_weight must be finite and not negative",
            )
        _refuse_labels(self.outcome, self.prediction)
        outside = (self.prediction < -self.clip) | (self.prediction > 1 + self.clip)
        if outside.any():
            _refuse_range(self.prediction, outside, self.outcome)
        beyond = (self.prediction < 0) | (self.prediction > 1)
        return replace(
            self, prediction=np.clip(self.prediction, 0.0, 1.0), clipped=int(beyond.sum())
        )


def _as_array(values: object, name: str) -> npt.NDArray[Any]:
    """Any list, array, series, column or tensor as a numpy array; missing values become NaN."""
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        with_none = np.asarray(values.data.astype(object))
        with_none[np.ma.getmaskarray(values)] = None
        return with_none
    if isinstance(values, np.ndarray):
        return np.asarray(values)  # a matrix would stay a matrix whatever is taken of it
    if isinstance(values, str | bytes | dict | set) or values is None:
        raise InvalidForecastsError(
            f"{name} must be an array, a list, a series or a tensor", type(values).__name__
        )
    if hasattr(values, "detach"):  # a torch tensor, perhaps on another device or with a gradient
        return _from_tensor(values)
    if not isinstance(values, Sequence):
        values = _from_frame_library(values)
    return _from_other(values, name)


def _from_other(values: Any, name: str) -> npt.NDArray[Any]:
    """Take lists, and arrays of other libraries, by either protocol that numpy knows."""
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return _from_dlpack(values, name)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidForecastsError(f"{name} must be rectangular", str(error)) from error
    except TypeError as error:  # arrays on a graphics card refuse to be copied in passing
        if not hasattr(values, "__dlpack__"):
            raise InvalidForecastsError(f"{name} must be an array", str(error)) from error
        return _from_dlpack(values, name)


def _from_dlpack(values: Any, name: str) -> npt.NDArray[Any]:
    """Take an array of another library, and ask it for a copy on the host if need be."""
    host: dict[str, Any] = (
        {"device": "cpu"} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}
    )
    try:
        return np.from_dlpack(values, **host)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidForecastsError(
            f"{name} must be an array that the host can read",
            f"{type(values).__name__}: {error}",
            "copy it to the host first",
        ) from error


def _from_tensor(tensor: Any) -> npt.NDArray[Any]:
    on_host = tensor.detach().cpu()
    if "bfloat16" in str(on_host.dtype):  # numpy has no such type
        on_host = on_host.float()
    return np.asarray(on_host.numpy())


def _from_frame_library(values: object) -> object:
    """Columns and frames of pandas, Polars, Arrow and their kin, through narwhals."""
    import narwhals.stable.v2 as nw

    native = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.Series):
        if native.is_null().any():
            return np.array([None if is_missing(v) else v for v in native.to_list()], object)
        return native.to_numpy()
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    return values


def read_labels(values: object, name: str, rows: Rows) -> npt.NDArray[Any]:
    """Labels of the rows, of any kind that can be compared, none of them missing."""
    labels = read_column(values, name, rows.prediction.size)
    _refuse_missing(labels, name, "give those rows a label, or drop them")
    if labels.dtype.kind == "O":
        refuse_unhashable(labels, name)
        labels = labels.astype(str)
    return labels


def refuse_unhashable(labels: npt.NDArray[Any], name: str) -> None:
    """Refuse entries that are no labels: lists, tables, numbers too long to be written."""
    for row, label in enumerate(labels.tolist()):
        try:
            hash(label), str(label)
        except (TypeError, ValueError) as error:
            raise InvalidForecastsError(
                f"{name} must hold labels, such as words or numbers",
                f"{shown(label)} in row {row}",
            ) from error


def read_table(values: object, name: str) -> npt.NDArray[Any]:
    """Read a table of any container as an array of two dimensions."""
    table = _as_array(values, name)
    if table.ndim != 2:
        raise InvalidForecastsError(f"{name} must be a table", f"shape {table.shape}")
    return table


def read_full_column(values: object, name: str) -> npt.NDArray[Any]:
    """Read a column of any container, none of whose entries is missing."""
    column = read_column(values, name)
    _refuse_missing(column, name)
    return column


def read_column(values: object, name: str, size: int | None = None) -> npt.NDArray[Any]:
    """One value of any kind for each row; missing ones are None or NaN."""
    column = _one_column(_as_array(values, name), name)
    if size is not None and column.size != size:
        raise InvalidForecastsError(
            f"{name} must have one entry per row", f"{column.size} for {size} rows"
        )
    return column


def read_numbers(values: object, name: str) -> Floats:
    """Read one number, or a column of them, as doubles."""
    return np.atleast_1d(_as_floats(_as_array(values, name)))


def _one_column(values: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise InvalidForecastsError(f"{what} must be one column", f"shape {values.shape}")
    return values


def _as_floats(values: npt.NDArray[Any]) -> Floats:
    """Contiguous native float64; None becomes NaN."""
    if values.dtype.kind in "cmMV":  # numpy would drop the imaginary part, or count the days
        raise InvalidForecastsError(
            "predictions and weights must be numbers", f"type {values.dtype}"
        )
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidForecastsError(
            "predictions and weights must be numbers", _examples(values), str(error)
        ) from error


def _as_predictions(scores: npt.NDArray[Any]) -> tuple[Floats, float]:
    clip = CLIP_FLOAT64
    if scores.dtype.kind == "f" and scores.dtype.itemsize < 8:
        clip = CLIP_FLOAT32
    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = _second_column(scores)
    elif scores.ndim == 2 and scores.shape[1] > 2:
        raise InvalidForecastsError(
            "y_proba must hold one probability per row, or two that sum to one",
            f"shape {scores.shape}",
            "choose one class: y_proba[:, k] with pos_label set to its label",
        )
    return _as_floats(_one_column(scores, "y_proba")), clip


def _second_column(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """P(1) of a (n, 2) array, after checking that the rows are distributions."""
    if scores.dtype.kind not in "biuf":
        scores = _as_floats(scores)
    sums = _as_floats(scores.sum(axis=1))
    off = ~(np.abs(sums - 1) <= ROW_SUM_TOLERANCE) & ~np.isnan(sums)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InvalidForecastsError(
            "two columns of y_proba must be the chances of 0 and of 1 and sum to one",
            f"{off.sum()} rows that do not, first row {row}: {scores[row].tolist()}",
            "pass the column of the positive outcome alone",
        )
    return scores[:, 1]


def _as_outcomes(labels: npt.NDArray[Any], pos_label: object, prediction: Floats) -> Outcomes:
    labels = _one_column(labels, "y_true")
    if pos_label is not None:
        return _matches(labels, pos_label)
    kind = labels.dtype.kind
    if kind == "b":
        return np.ascontiguousarray(labels).view(np.uint8)
    if kind in "iu":
        return np.ascontiguousarray(labels, dtype=np.int64)
    if kind == "f":
        return np.ascontiguousarray(labels, dtype=np.float64)
    if kind == "O":
        _refuse_missing(labels, "y_true")
        real = bool | int | float | np.bool_ | np.integer | np.floating
        if all(isinstance(v, real) for v in labels.tolist()):
            return _as_floats(labels)
    raise InvalidForecastsError(
        "y_true must be 0 and 1, or come with pos_label",
        f"labels {_examples(labels)}",
        _swap_hint(prediction) or "name the label of the positive outcome, pos_label=...",
    )


def _matches(labels: npt.NDArray[Any], pos_label: object) -> npt.NDArray[np.uint8]:
    _refuse_missing(labels, "y_true")
    positive = np.asarray(labels == pos_label)
    if positive.shape != labels.shape:
        positive = np.zeros(labels.shape, dtype=bool)
    if not positive.any() and len(set(labels.tolist())) > 1:
        raise InvalidForecastsError(
            f"pos_label {pos_label!r} must be one of the labels", f"labels {_examples(labels)}"
        )
    return np.ascontiguousarray(positive).view(np.uint8)


def _check_lengths(prediction: Floats, outcome: Outcomes, weight: Floats | None) -> None:
    if prediction.size == 0 or outcome.size == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    if prediction.size != outcome.size:
        raise InvalidForecastsError(
            "y_true and y_proba must have the same length", f"{outcome.size} and {prediction.size}"
        )
    if weight is not None and weight.size != prediction.size:
        raise InvalidForecastsError(
            "sample_weight must have one entry per row",
            f"{weight.size} for {prediction.size} rows",
        )


def is_missing(value: object) -> bool:
    """Recognise None, NaN and the missing markers of pandas."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def _refuse_missing(
    values: npt.NDArray[Any],
    name: str,
    hint: str = "drop those rows, or find their values; an unresolved outcome is not a 0",
) -> None:
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if missing.any():
        raise InvalidForecastsError(
            f"{name} must not hold missing values",
            f"{missing.sum()} of {missing.size}, first rows {_first_rows(missing)}",
            hint,
        )


def _refuse_where(bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], what: str) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        raise InvalidForecastsError(
            what, f"{rows.size} rows that are not, first row {rows[0]}: {values[rows[0]]}"
        )


def _refuse_labels(outcome: Outcomes, prediction: Floats) -> None:
    if not ((outcome < 0) | (outcome > 1)).any():
        return
    labels = np.unique(outcome)
    hint = _swap_hint(prediction)
    if not hint and labels.size == 2:
        hint = f"name the label of the positive outcome, for instance pos_label={labels[1]:g}"
    raise InvalidForecastsError(
        "y_true must hold 0 and 1, or mean outcomes between them",
        f"labels {_examples(labels)}",
        hint or "name the label of the positive outcome, pos_label=...",
    )


def _refuse_range(prediction: Floats, outside: npt.NDArray[np.bool_], outcome: Outcomes) -> None:
    low, high = float(prediction.min()), float(prediction.max())
    between = outcome[(outcome > 0) & (outcome < 1)]
    if between.size and np.array_equal(prediction, np.round(prediction)):
        hint = "y_true holds probabilities and y_proba labels: are the two arguments swapped"
    else:
        hint = range_hint(low, high)
    raise InvalidForecastsError(
        "y_proba must be probabilities in [0, 1]",
        f"{outside.sum()} of {outside.size} outside, from {low:g} to {high:g}, "
        f"first rows {_first_rows(outside)}",
        hint,
    )


def range_hint(low: float, high: float) -> str:
    """Guess what numbers that are no probabilities are."""
    if low >= 0 and 2 < high <= 100:
        return "these look like percentages: divide by 100 (on the command line --scale percent)"
    if low < 0:
        return "these look like scores or log-odds: turn them into probabilities first"
    return "probabilities end at 1"


def refuse_swap(rows: Rows) -> None:
    """Refuse mean outcomes beside predictions that are all 0 or 1: the likely sign of a swap."""
    several = np.unique(rows.outcome).size > 3
    if several and np.isin(rows.prediction, (0.0, 1.0)).all():
        raise InvalidForecastsError(
            "y_true must be outcomes and y_proba probabilities",
            "probabilities in y_true and only 0 and 1 in y_proba",
            "are the two arguments swapped? The truth comes first",
        )


def _swap_hint(prediction: Floats) -> str:
    if np.isin(prediction, (0.0, 1.0)).all():
        return "y_proba holds only 0 and 1: are the two arguments swapped"
    return ""


def _first_rows(bad: npt.NDArray[np.bool_]) -> str:
    return ", ".join(map(str, np.flatnonzero(bad)[:3]))


def _examples(labels: npt.NDArray[Any]) -> str:
    distinct = list(dict.fromkeys(map(shown, labels.ravel().tolist())))
    return ", ".join(distinct[:4]) + (f" and {len(distinct) - 4} more" if len(distinct) > 4 else "")

"""The gate for more than two outcomes: a table of probabilities, labels, the order of classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_flag, check_within, shown
from calibrant.data.input import (
    DROP,
    PERCENT,
    ROUNDED_OR_SCORES,
    SWAPPED,
    are_numbered,
    as_array,
    as_floats,
    class_text,
    named_columns,
    one_hot_positions,
    read_full_column,
    read_numbers,
    read_table,
    refuse_unhashable,
)
from calibrant.data.rows import CLIP_FLOAT32, CLIP_FLOAT64, refuse_extreme_weights
from calibrant.errors import InvalidForecastsError, InvalidOptionError

# How far from one a row may sum, by the bytes of a number: what rounding does to a softmax.
SUM_TOLERANCE = {2: 1e-2, 4: 1e-4, 8: 1e-6}
# The same where probabilities were rounded to be written: in files, and in what reads a calibrator.
ROUNDED_SUM_TOLERANCE = 1e-3
MOST_SHOWN = 5


def read_probabilities(
    y_proba: object, tolerance: float | None, *, logits: bool
) -> tuple[Floats, int, float]:
    """Return the table, how many entries were clipped, and how far from one a row sums at most."""
    raw = read_table(y_proba, "y_proba")
    table = read_numbers(raw, "y_proba")
    if raw.shape[1] < 2:
        raise InvalidForecastsError(
            "@y_proba must have one column per class, at least two", f"shape {raw.shape}"
        )
    if raw.shape[0] == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    _refuse_missing_rows(table)
    if check_flag("logits", logits):
        return _softmax(table), 0, 0.0
    size = raw.dtype.itemsize if raw.dtype.kind == "f" else 8
    clip = CLIP_FLOAT32 if size < 8 else CLIP_FLOAT64
    clipped = 0
    if table.min() < 0 or table.max() > 1:
        _refuse_range(table, clip)
        clipped = int(((table < 0) | (table > 1)).sum())
        table = np.clip(table, 0.0, 1.0)
    allowed = SUM_TOLERANCE.get(size, SUM_TOLERANCE[8]) if tolerance is None else tolerance
    return table, clipped, _checked_sums(table, allowed)


def read_classes(y_proba: object, classes: Sequence[Any] | None, count: int) -> tuple[Any, ...]:
    """Names of the classes: those given, those of the columns of a frame, or 0, 1, 2, ..."""
    columns = named_columns(y_proba)
    if classes is None:
        return tuple(range(count)) if columns is None else columns
    if not _are_names(classes):
        raise InvalidOptionError("@classes must be a list of names", shown(classes))
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in classes)
    if len(names) != count:
        raise InvalidForecastsError(
            "@classes must name every column of @y_proba, in their order",
            f"{len(names)} names for {count} columns",
        )
    if len(set(names)) < count:
        raise InvalidForecastsError("@classes must differ from each other", _shown(names))
    return names


def column_order(values: object, classes: tuple[Any, ...]) -> Indices | None:
    """Position of the column of each class in a frame with names; None where they have none."""
    columns = named_columns(values)
    if columns is None or tuple(columns) == classes:
        return None
    index = {class_text(name): i for i, name in enumerate(columns)}
    alike = _alike(columns, classes)
    if are_numbered(columns):
        if not alike or list(index) == list(map(class_text, classes)):
            return None
        raise InvalidForecastsError(  # names, or just numbers of the columns
            "@classes must stand in the order of the columns of @y_proba",
            f"{_shown(classes)} for the columns {_shown(columns)}",
            "leave classes out, or reorder the columns",
        )
    if not alike:
        raise InvalidForecastsError(
            "columns with names must be named like the classes",
            f"columns {_shown(columns)} for the classes {_shown(classes)}",
            "rename the columns, or pass them without names in the order of the classes",
        )
    return np.array([index[class_text(name)] for name in classes], dtype=np.intp)


def _alike(columns: Sequence[Any], classes: Sequence[Any]) -> bool:
    return set(map(class_text, columns)) == set(map(class_text, classes))


def _are_names(classes: object) -> bool:
    if isinstance(classes, np.ndarray):
        return classes.ndim > 0
    return isinstance(classes, Collection) and not isinstance(classes, str)


def read_positions(y_true: object, classes: tuple[Any, ...], *, reordered: bool = False) -> Indices:
    """Position of the label of each row among the classes.

    Labels are looked up by name, as text where the names are text. Where no name is a number, whole
    numbers are positions, unless the columns stood in another order than the classes. A table with
    one 1 in each row holds a column for each class: by name if the names are theirs.
    """
    table = as_array(y_true, "y_true")
    one_hot = one_hot_positions(table, len(classes))
    if one_hot is not None:
        # Classes that are numbers because nobody named them are no names to look for.
        named = not are_numbered(classes) or _alike(named_columns(y_true) or (), classes)
        order = column_order(y_true, classes) if named else None
        return one_hot if order is None else np.argsort(order)[one_hot]
    labels = read_full_column(table, "y_true")
    if labels.dtype.kind == "f" and np.array_equal(labels, np.round(labels)):
        labels = labels.astype(np.int64)
    count = len(classes)
    if labels.dtype.kind in "iu" and classes == tuple(range(count)) and _within(labels, count):
        return labels.astype(np.intp)
    distinct, code = _distinct(labels)
    position = {name: index for index, name in enumerate(classes)}
    found = [position.get(label, -1) for label in distinct]
    if -1 in found:  # columns of Polars and Arrow have text for names
        texts = {class_text(name): index for index, name in enumerate(classes)}
        as_text = [texts.get(class_text(label), -1) for label in distinct]
        found = found if -1 in as_text else as_text
    whole = all(isinstance(label, int) for label in distinct)
    if -1 in found and whole and not _any_number(classes):
        if reordered:
            raise InvalidForecastsError(
                "@y_true must hold names where classes and columns stand in another order",
                f"labels {_shown(distinct)} for the classes {_shown(classes)}",
            )
        found = [label if 0 <= label < count else -1 for label in distinct]
    if -1 in found:
        _refuse_labels([x for x, i in zip(distinct, found, strict=True) if i < 0], classes)
    return np.asarray(np.array(found, dtype=np.intp)[code])


def read_row_weights(sample_weight: object, rows: int) -> Floats | None:
    """Weights of the rows, finite and not negative."""
    if sample_weight is None:
        return None
    weight = as_floats(read_full_column(sample_weight, "sample_weight"), "sample_weight")
    if weight.size != rows:
        raise InvalidForecastsError(
            "@sample_weight must have one entry per row", f"{weight.size} for {rows} rows"
        )
    if not ((weight >= 0) & (weight < np.inf)).all() or not weight.any():
        raise InvalidForecastsError(
            "weights must be finite, not negative and not all zero",
            f"{weight.min():g} to {weight.max():g}",
        )
    refuse_extreme_weights(weight)
    return weight


def _refuse_missing_rows(table: Floats) -> None:
    if np.isnan(table.sum()):
        rows = np.flatnonzero(np.isnan(table).any(axis=1))
        if rows.size:
            raise InvalidForecastsError(
                "@y_proba must not hold missing values (NaN)",
                f"{rows.size} of {table.shape[0]} rows, first rows {_first(rows)}",
                DROP,
            )


def _refuse_range(table: Floats, clip: float) -> None:
    low, high = float(table.min()), float(table.max())
    if low >= -clip and high <= 1 + clip:
        return
    rows = np.flatnonzero(((table < -clip) | (table > 1 + clip)).any(axis=1))
    sums = table.sum(axis=1)
    if low >= 0 and np.allclose(sums, 100, rtol=0.02):
        hint = PERCENT
    elif low >= 0 and np.array_equal(table, np.round(table)):
        hint = "these look like counts: divide each row by its sum"
    else:
        hint = "if these are scores before a softmax, pass logits=True"
    raise InvalidForecastsError(
        "@y_proba must be probabilities in [0, 1]",
        f"{rows.size} rows outside, from {low:g} to {high:g}, first rows {_first(rows)}",
        hint,
    )


def _checked_sums(table: Floats, tolerance: float) -> float:
    check_within("sum_tolerance", tolerance, 0.0, 0.5)
    gap = np.abs(table.sum(axis=1) - 1)
    worst = float(gap.max())
    if worst > tolerance:
        rows = np.flatnonzero(gap > tolerance)
        row = int(rows[0])
        raise InvalidForecastsError(
            f"each row of @y_proba must sum to one within {tolerance:g}",
            f"{rows.size} rows that do not, first row {row + 1} with sum {table[row].sum():.6g}",
            f"scores of independent labels are not classes; {ROUNDED_OR_SCORES}",
        )
    return worst


def _softmax(scores: Floats) -> Floats:
    from scipy.special import softmax

    highest = scores.max(axis=1)
    bad = np.flatnonzero(~np.isfinite(highest))
    if bad.size:
        raise InvalidForecastsError(
            "the largest logit of a row must be finite",
            f"{bad.size} rows where it is not, first rows {_first(bad)}",
        )
    return np.asarray(softmax(scores, axis=1))


def _within(positions: npt.NDArray[Any], count: int) -> bool:
    return positions.size > 0 and bool(positions.min() >= 0) and bool(positions.max() < count)


def _distinct(labels: npt.NDArray[Any]) -> tuple[list[Any], Indices]:
    """Distinct labels and the number of each row's; objects need not be comparable."""
    if labels.dtype.kind != "O":
        distinct, code = np.unique(labels, return_inverse=True)
        return distinct.tolist(), code.reshape(-1)
    refuse_unhashable(labels, "y_true")
    number = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    return list(number), np.array([number[label] for label in labels.tolist()], dtype=np.intp)


def _any_number(classes: tuple[Any, ...]) -> bool:
    return any(
        isinstance(name, int | float | np.number) or (isinstance(name, str) and name.isdecimal())
        for name in classes
    )


def _refuse_labels(unknown: list[Any], classes: tuple[Any, ...]) -> None:
    hint = ""
    if any(isinstance(label, str) for label in unknown) and classes == tuple(range(len(classes))):
        hint = "name the classes in the order of the columns: @classes=[...]"
    elif unknown == [len(classes)]:
        hint = "labels start at 0; for labels 1, 2, ... pass @classes=[1, 2, ...]"
    elif any(isinstance(label, float) for label in unknown):
        hint = SWAPPED
    raise InvalidForecastsError(
        f"@y_true must hold labels among the classes {_shown(classes)}",
        f"labels {_shown(unknown)}",
        hint,
    )


def _shown(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_SHOWN]))
    more = len(names) - MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _first(rows: Indices) -> str:
    return ", ".join(str(row + 1) for row in rows[:3])

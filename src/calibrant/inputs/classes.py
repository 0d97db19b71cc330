"""Forecasts of more than two classes: columns named like the classes, or lists in one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.data.classes import ROUNDED_SUM_TOLERANCE
from calibrant.data.input import as_array, as_floats
from calibrant.errors import InvalidForecastsError
from calibrant.inputs.roles import Roles
from calibrant.joint.classes import ClassForecasts


def read_class_columns(
    columns: Mapping[str, Any], roles: Roles, *, percent: bool = False
) -> ClassForecasts:
    """Check columns that were read as the roles say; the roles hold the weights."""
    classes = roles.classes or ()
    names = list(map(str, classes))
    if set(names) <= set(columns):
        table = np.stack([as_floats(as_array(columns[name], name), name) for name in names], axis=1)
    else:
        lists = as_array(columns[roles.prediction], roles.prediction)
        table = _rows_of_lists(lists, len(names), roles.prediction)
    return ClassForecasts.read(
        _labels(columns[roles.outcome], classes),
        table / 100 if percent else table,
        classes=list(classes),
        sample_weight=roles.weight,
        sum_tolerance=ROUNDED_SUM_TOLERANCE,
    )


def without_words(column: Any, words: Sequence[object]) -> Any:
    """Mask the labels that mean that nobody knows."""
    if not words:
        return column
    labels = np.ma.asarray(column)
    unknown = np.isin(labels.data.astype(str), list(map(str, words)))
    return np.ma.array(labels.data, mask=np.ma.getmaskarray(labels) | unknown)


def _rows_of_lists(column: Any, count: int, name: str) -> Floats:
    """Stack lists of equal length; other things are refused."""
    rows = [np.asarray([] if row is None else row, dtype=float) for row in column.tolist()]
    sizes = {row.size if row.ndim == 1 else 0 for row in rows}
    if sizes != {count}:
        raise InvalidForecastsError(
            f"there must be columns named like the classes, or lists of {count} in {name!r}",
            f"entries of length {', '.join(map(str, sorted(sizes)))}",
        )
    return np.stack(rows)


def _labels(column: Any, classes: Sequence[Any]) -> Any:
    """Labels that are numbers match names that look like them; otherwise they are positions."""
    labels = as_array(column, "y_true")
    if labels.dtype.kind in "iu":
        as_text = labels.astype(str)
        if set(np.unique(as_text).tolist()) <= set(classes):
            return as_text
    return labels

"""Predictions that a calibrator is given: read and checked, and returned in the shape they had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import refuse_unknown, shown
from calibrant.data.classes import column_order, read_probabilities
from calibrant.data.input import as_floats, read_table
from calibrant.data.rows import chances, positive_column, predictions_alone
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration.columns import shape_of
from calibrant.recalibration.export import LOGIT, PERCENT, SCALES, UNIT


def is_number(X: object) -> bool:  # noqa: N803
    """Whether one prediction is given, not a container of some."""
    return isinstance(X, int | float | np.number) or getattr(X, "shape", None) == ()


def read_predictions(y_proba: object, scale: str = UNIT, pos_label: object = None) -> Floats:
    """Read predictions alone through the gate, as probabilities in [0, 1]."""
    if scale == LOGIT:
        return predictions_alone(chances(y_proba))
    return predictions_alone(y_proba, 100.0 if scale == PERCENT else 1.0, pos_label)


def read_rows(
    y_proba: object, classes: tuple[Any, ...], scale: str = UNIT
) -> tuple[Floats, Indices | None]:
    """Read rows of probabilities of some classes, in their order.

    Where the columns of a frame stand in another order, that order comes with them.
    """
    if isinstance(y_proba, ClassForecasts):
        _refuse_other_classes(y_proba.classes, classes)
        return y_proba.probability, None
    table = read_table(y_proba, "y_proba")
    if table.shape[1] != len(classes):
        _refuse_other_classes((f"{table.shape[1]} columns",), classes)
    order = column_order(y_proba, classes)
    if scale == PERCENT:
        table = as_floats(table, "y_proba") / 100
    probability = read_probabilities(table, None, logits=False)[0]
    return (probability if order is None else probability[:, order]), order


def shaped(recalibrated: Floats, original: object, pos_label: object = None) -> Floats:
    """Return predictions of two outcomes in the shape of those given: one column, or two."""
    shape = shape_of(original)
    if shape[1:] == (2,):
        both = np.column_stack([1 - recalibrated, recalibrated])
        return both if positive_column(original, pos_label) else both[:, ::-1]
    return recalibrated.reshape(shape)


def refuse_pos_label(pos_label: object) -> None:
    """Refuse a label for outcome 1 where there are classes."""
    if pos_label is not None:
        raise InvalidOptionError(
            "@pos_label is for two outcomes", shown(pos_label), "leave it out with classes"
        )


def refuse_scale(scale: str, classes: tuple[Any, ...] | None) -> None:
    """Refuse units that nobody knows, and log-odds of classes."""
    refuse_unknown("scale", scale, SCALES)
    if scale == LOGIT and classes is not None:
        raise InvalidOptionError(
            "log-odds are of two outcomes", "a calibrator of classes", "pass softmax of the scores"
        )


def _refuse_other_classes(names: Sequence[Any], classes: tuple[Any, ...]) -> None:
    if tuple(names) != classes:
        raise InvalidForecastsError(
            "probabilities must be of the classes that the calibrator was fitted to",
            f"{', '.join(map(str, names[:5]))} for {', '.join(map(str, classes[:5]))}",
        )

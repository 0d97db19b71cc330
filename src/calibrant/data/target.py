"""The target of a classifier: one label of a class for each row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Indices
from calibrant.data.input import as_array, refuse_missing
from calibrant.errors import CalibrantWarning, InvalidForecastsError


def read_target(y: object, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Indices]:
    """Return labels of classes, the classes among them, and the number of the class of each row."""
    if y is None:
        raise InvalidForecastsError(f"{name} requires y to be passed, but the target y is None")
    labels = as_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        _warn_of_column()
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InvalidForecastsError(
            "y should be a 1d array of labels, one for each row",
            f"an array of shape {labels.shape}",
        )
    if labels.dtype.kind == "c":
        raise InvalidForecastsError(
            "y must hold labels", "complex numbers", "Complex data not supported"
        )
    refuse_missing(labels, "y")
    if labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise InvalidForecastsError("y must hold labels", "infinity (inf)")
        if not np.array_equal(labels, np.round(labels)):
            raise InvalidForecastsError(
                "y must hold labels of classes",
                "Unknown label type: continuous",
                "probabilities and amounts are no classes",
            )
    try:
        classes, code = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InvalidForecastsError("y must hold labels of one kind", str(error)) from error
    if classes.size < 2:
        raise InvalidForecastsError(
            "y must hold two classes or more", "one class" if classes.size else "no rows: 0 samples"
        )
    return labels, classes, code.reshape(-1).astype(np.intp)


def _warn_of_column() -> None:
    """Warn as scikit-learn does, in its own category where it is installed."""
    try:
        from sklearn.exceptions import DataConversionWarning as Kind
    except ImportError:
        Kind = CalibrantWarning  # noqa: N806
    warnings.warn("A column-vector y was passed when a 1d array was expected.", Kind, stacklevel=4)

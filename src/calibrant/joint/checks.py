"""What a Joint refuses to be made of."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidForecastsError
from calibrant.joint.sums import Sums


def check_counts(prediction: Floats, counts: Floats, positives: Floats) -> None:
    """Refuse aggregates that no rows can have."""
    if not prediction.shape == counts.shape == positives.shape or prediction.ndim != 1:
        raise InvalidForecastsError(
            "prediction, count and positives must be columns of the same length",
            f"shapes {prediction.shape}, {counts.shape}, {positives.shape}",
        )
    if not ((prediction >= 0) & (prediction <= 1)).all():
        raise InvalidForecastsError(
            "predictions must be in [0, 1]", f"{prediction.min():g} to {prediction.max():g}"
        )
    for name, column in (("count", counts), ("positives", positives)):
        if not (np.isfinite(column) & (column >= 0) & (column == np.floor(column))).all():
            raise InvalidForecastsError(
                f"{name} must hold whole numbers of rows",
                f"{column[~(column == np.floor(column)) | ~(column >= 0)][:3].tolist()}",
                "for weights use Joint.from_samples(outcome, prediction, sample_weight=weight)",
            )
    if (positives > counts).any():
        raise InvalidForecastsError(
            "positives must not exceed count", f"{int((positives > counts).sum())} rows that do"
        )


def check_levels(levels: Sums) -> None:
    """Refuse a stored table that somebody changed: kernels trust what a Joint holds."""
    prediction = levels.prediction
    low, high = levels.ends()
    sound = (
        prediction.size > 0
        and prediction[0] >= 0
        and prediction[-1] <= 1
        and bool((np.diff(prediction) > 0).all())
        and bool(((low <= prediction) & (prediction <= high)).all())
        and bool(np.isfinite(levels.positives).all())
        and all(
            bool(((column > 0) & (column < np.inf)).all())
            for column in (levels.weight, levels.rows, levels.weight_squares)
        )
    )
    if not sound:
        raise InvalidForecastsError(
            "a stored Joint must hold increasing predictions in [0, 1] and positive weights",
            f"a table of {prediction.size} levels that does not",
        )

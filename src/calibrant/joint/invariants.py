"""What a Joint refuses to be made of."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidForecastsError


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

"""What a Joint refuses to be made of."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidForecastsError, InvalidStateError
from calibrant.joint.sums import LevelSums
from calibrant.options import power_of_two
from calibrant.stored import restoring

# Sums of the same rows in another order agree this well.
SUMS_AGREE = 1e-6


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


def check_levels(levels: LevelSums, row_count: int, resolution: int | None) -> None:
    """Refuse a stored table that somebody changed: kernels trust what a Joint holds."""
    prediction, weight, rows = levels.prediction, levels.weight, levels.rows
    low, high = levels.ends()
    squares, slack = levels.weight_squares, 1 + SUMS_AGREE
    counts = (weight, rows, squares)
    with np.errstate(all="ignore"), restoring("a stored Joint"):
        power_of_two(resolution or 1)
        rules = {
            "predictions that increase in [0, 1]": prediction.size > 0
            and bool(((prediction >= 0) & (prediction <= 1)).all())
            and bool((np.diff(prediction) > 0).all()),
            "weights and rows that are positive": all(
                bool(((column > 0) & (column < np.inf)).all()) for column in counts
            ),
            "as many whole rows as it says": bool((rows == np.floor(rows)).all())
            and float(rows.sum()) == row_count
            and levels.clipped <= row_count,
            "positives from 0 to the weight": bool(
                ((levels.positives >= 0) & (levels.positives <= weight * slack)).all()
            ),
            "squares that fit the weights": bool(
                ((squares <= weight**2 * slack) & (weight**2 <= rows * squares * slack)).all()
            ),
            "ends around its predictions": bool(
                ((low >= 0) & (low <= prediction) & (prediction <= high) & (high <= 1)).all()
            ),
            "one level in each cell": resolution is None
            or bool((np.diff(np.minimum(prediction * resolution, resolution - 1) // 1) > 0).all()),
        }
    for rule, holds in rules.items():
        if not holds:
            raise InvalidStateError(
                f"a stored Joint must hold {rule}",
                f"a table of {prediction.size} levels that does not",
            )

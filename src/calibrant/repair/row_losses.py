"""What each row loses by a score: for two outcomes and for classes alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import Score, as_score
from calibrant.errors import InvalidOptionError
from calibrant.regression import LEAST
from calibrant.repair.folds import Units


def _log(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(table)


def _brier(table: Floats) -> Floats:
    return np.asarray((table**2).sum(axis=1, keepdims=True) - 2 * table + 1)


def _spherical(table: Floats) -> Floats:
    return np.asarray(1 - table / np.sqrt((table**2).sum(axis=1, keepdims=True)))


# The loss of a row of probabilities for each class that might happen.
CLASS_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "log": _log,
    "brier": _brier,
    "spherical": _spherical,
}


def read_score(score: object, *, classes: bool) -> Score:
    """Read a score by which maps are compared."""
    if classes and not (isinstance(score, str) and score in CLASS_SCORES):
        raise InvalidOptionError(
            f"the score of classes must be one of {', '.join(CLASS_SCORES)}", f"{score!r:.60}"
        )
    return as_score(score)


def loss_table(score: Score, prediction: Floats, *, cut: bool = False) -> Floats:
    """Loss of each row for every outcome that might happen, one column each.

    Cut ones are finite: a forecast of 0 counts as 2^-53.
    """
    if prediction.ndim == 2:
        return CLASS_SCORES[score.name](np.maximum(prediction, LEAST) if cut else prediction)
    inside = np.clip(prediction, LEAST, 1 - LEAST) if cut else prediction
    return np.column_stack(score.losses(inside))


def losses(score: Score | None, units: Units, prediction: Floats) -> Floats:
    """Loss of each row to choose by, where a forecast of 0 or 1 that failed costs 37 at most.

    Kinds of numbers have one loss each, whatever the score.
    """
    if not units.kind.summed or score is None:
        return units.rows(prediction).losses
    return _happened(units, loss_table(score, prediction, cut=True))


def mean_loss(units: Units, score: Score, prediction: Floats) -> float:
    """Mean score; infinite where the score of a row is."""
    lost = _happened(units, loss_table(score, prediction))
    return float(units.weight @ lost) / float(units.weight.sum())


def failed_rows(units: Units, prediction: Floats) -> int:
    """Count rows in which what happened had a forecast of exactly 0."""
    if prediction.ndim == 2:
        failed = _happened(units, prediction) == 0
    else:
        failed = np.abs(units.outcome - prediction) == 1
    return int(units.count[failed].sum())


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, or None."""
    return value if np.isfinite(value) else None


def _happened(units: Units, table: Floats) -> Floats:
    """Take the entry of each row for what happened."""
    at = units.outcome.astype(np.intp)[:, np.newaxis]
    return np.asarray(np.take_along_axis(table, at, axis=1)[:, 0])

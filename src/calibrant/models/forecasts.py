"""What a fitted model forecasts: probabilities of its classes, whatever it answers with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.regression import softmax_of

# Scores beyond are squeezed, so that no two of them become the same probability.
MOST_LOG_ODDS = 30.0


def refuse_no_forecasts(model: object) -> None:
    """Refuse a model that gives neither probabilities nor scores."""
    if model is None or not hasattr(model, "fit"):
        raise InvalidOptionError(
            "estimator must be a classifier with fit", type(model).__name__, "such as a model"
        )
    if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        raise InvalidOptionError(
            "estimator must have predict_proba or decision_function", type(model).__name__
        )


def raw_forecasts(model: Any, X: Any, classes: npt.NDArray[Any]) -> tuple[Floats, bool]:  # noqa: N803
    """Return a column for each class, or one column of scores; and whether they are scores."""
    if hasattr(model, "predict_proba"):
        raw = np.asarray(model.predict_proba(X), dtype=np.float64)
        scores = False
    else:
        raw = np.asarray(model.decision_function(X), dtype=np.float64)
        scores = True
        raw = raw[:, np.newaxis] if raw.ndim == 1 else raw
    known = np.asarray(getattr(model, "classes_", classes))
    width = 1 if scores and len(known) == 2 else len(known)
    if raw.ndim != 2 or raw.shape[1] != width:
        raise InvalidForecastsError(
            "a model must give one column for each class",
            f"shape {raw.shape} for {len(known)} classes",
        )
    if np.array_equal(known, classes):
        return raw, scores
    return _in_columns(raw, known, classes), scores


def probabilities(raw: Floats, shrink: float | None) -> Floats:
    """Turn what a model gives into probabilities; scores are read as log-odds, shrunk."""
    if shrink is None:
        return raw
    scores = np.clip(raw / shrink, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    if raw.shape[1] == 1:
        chance = 1 / (1 + np.exp(-scores[:, 0]))
        return np.column_stack([1 - chance, chance])
    return softmax_of(scores)


def shrinkage(raw: Floats) -> float:
    """How much to shrink scores by, so that the largest is not yet certain."""
    return max(1.0, float(np.abs(raw).max()) / MOST_LOG_ODDS)


def _in_columns(raw: Floats, known: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
    """Put the columns of a model's own classes where those of all classes stand."""
    missing = [label for label in classes.tolist() if label not in known.tolist()]
    if missing:
        raise InvalidForecastsError(
            "the model must know every class of y",
            f"a model of {', '.join(map(str, known[:5]))} and the class {missing[0]}",
            "fit it to rows of all classes",
        )
    order = [known.tolist().index(label) for label in classes.tolist()]
    return raw[:, order]

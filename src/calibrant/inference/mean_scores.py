"""The Brier score and the log loss of forecasts, with an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.decisions import mean_score
from calibrant.errors import InferenceRefusedError
from calibrant.inference.estimates import Estimate
from calibrant.inference.interval import confidence_interval


def brier_score(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean squared error of the forecasts, with an interval.

    Between 0 and 1, smaller is better; 1/4 for a forecast of 1/2 every time.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    Estimate

    Notes
    -----
    Known flaw: it mixes calibration and sharpness; `score_decomposition` takes them apart. The
    interval is that of `confidence_interval`, helped where events are few.

    Examples
    --------
    >>> score = brier_score([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3])
    >>> round(score.value, 3)
    0.075
    """
    arguments = (y_true, y_proba, sample_weight, pos_label, clusters)
    return _score("brier", *arguments, confidence=confidence)


def log_loss(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean log loss of the forecasts, with an interval.

    Smaller is better; log 2 for a forecast of 1/2 every time.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    Estimate
        Infinite, with a warning and a reason instead of an interval, where a forecast of 0 or 1
        proved wrong.

    Notes
    -----
    Natural logarithms. Known flaw: a single forecast of nearly 0 or 1 that proves wrong can
    outweigh all others.

    Examples
    --------
    >>> score = log_loss([0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3])
    >>> round(score.value, 3)
    0.299
    """
    arguments = (y_true, y_proba, sample_weight, pos_label, clusters)
    return _score("log", *arguments, confidence=confidence)


def _score(
    name: str,
    y_true: object,
    y_proba: object,
    sample_weight: object,
    pos_label: object,
    clusters: object,
    *,
    confidence: float,
) -> Estimate:
    rows: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
    try:
        found = confidence_interval(
            y_true, y_proba, measure=name, clusters=clusters, confidence=confidence, **rows
        )
    except InferenceRefusedError as error:
        value = mean_score(y_true, y_proba, score=name, **rows)
        if np.isfinite(value):
            raise
        return Estimate(value, np.nan, np.nan, error.got)
    return Estimate(found.value, max(0.0, found.low), found.high)

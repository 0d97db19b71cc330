"""Brier score and log loss of classes, and the three parts they are made of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import refuse_unknown
from calibrant._base.words import count_text
from calibrant.decisions import ScoreDecomposition
from calibrant.errors import CalibrantWarning
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.multiclass.decisions import RECALIBRATE, RECALIBRATIONS

SCORES = ("brier", "log")


def score_decomposition(
    y_true: object,
    y_proba: object = None,
    *,
    score: str = "brier",
    recalibration: str = "class_wise",
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> ScoreDecomposition:
    r"""Split the mean score of classes into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    score : {"brier", "log"}, default="brier"
        The sum of squared errors over the classes, between 0 and 2 (for two classes twice the
        Brier score of one), or minus the log of the chance given to what happened.
    recalibration : {"class_wise", "top_label", "canonical"}, default="class_wise"
        How the recalibration is estimated, as in `fixed_decision_loss`.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    ScoreDecomposition
        `score` is the mean score itself.

    Notes
    -----
    The parts are differences of mean scores: of the forecasts, of the recalibrated forecasts and
    of the shares of the classes. "canonical" leaves none of them negative, and is meaningless
    where rows hardly ever repeat. The other two repair only what they see: miscalibration may come
    out negative. For two classes "class_wise" is the isotonic decomposition of one outcome. Known
    flaw: estimated on the rows it is judged on, miscalibration is too large on average.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score. Broecker (2009), Reliability,
    sufficiency, and the decomposition of proper scores.

    Examples
    --------
    >>> labels = [0, 1, 1, 2, 0, 2]
    >>> table = [[0.6, 0.3, 0.1]] * 3 + [[0.2, 0.2, 0.6]] * 3
    >>> print(score_decomposition(labels, table, recalibration="canonical"))
    Brier score 0.583333 = miscalibration 0.138889 - discrimination 0.222222 + uncertainty 0.666667
    (pooling canonical)
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    refuse_unknown("score", score, SCORES)
    refuse_unknown("recalibration", recalibration, RECALIBRATIONS)
    shares = np.broadcast_to(forecasts.prevalence, forecasts.probability.shape)
    total = _mean(forecasts, forecasts.probability, score, warn=True)
    recalibrated = _mean(forecasts, RECALIBRATE[recalibration](forecasts), score)
    uncertainty = _mean(forecasts, shares, score)
    return ScoreDecomposition(
        total, total - recalibrated, uncertainty - recalibrated, uncertainty, score, recalibration
    )


def _mean(forecasts: ClassForecasts, table: Floats, score: str, *, warn: bool = False) -> float:
    """Mean score of a table of probabilities for the labels."""
    hit = table[np.arange(len(forecasts)), forecasts.label]
    if score == "brier":
        losses = (table**2).sum(axis=1) - 2 * hit + 1
    else:
        with np.errstate(divide="ignore"):
            losses = -np.log(hit)
        impossible = int(np.isinf(losses).sum())
        if warn and impossible:
            warnings.warn(
                f"the log loss is infinite: {count_text(impossible, 'row')} had a class that was "
                "given probability 0",
                CalibrantWarning,
                stacklevel=3,
            )
    return float(forecasts.mass @ losses)

"""Intervals for mean scores: they are plain means, so the normal law does."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import DecisionTask, Score, as_score, row_losses
from calibrant.decisions.scores import SCORES
from calibrant.errors import InferenceRefusedError
from calibrant.inference.cases import Cases
from calibrant.inference.evidence import Evidence


def score_of(measure: object) -> Score | None:
    """Return the proper score that a name, a Score or a decision task stands for, if it is one."""
    if isinstance(measure, Score | DecisionTask) or (
        isinstance(measure, str) and measure in SCORES
    ):
        return as_score(measure)
    return None


def mean_and_reach(cases: Cases, losses: Floats, confidence: float) -> tuple[float, float]:
    """Weighted mean of losses, and how far it may lie from the population's."""
    from scipy.special import ndtri

    if not np.isfinite(losses).all():
        raise InferenceRefusedError(
            "an interval needs finite scores",
            "the log score of a forecast of 0 or 1 that proved wrong",
            "use the Brier score",
        )
    total = float(cases.weight.sum())
    mean = float(cases.total(losses)) / total
    variance = float(cases.covariance((losses - mean)[:, np.newaxis])[0, 0])
    return mean, float(ndtri((1 + confidence) / 2) * np.sqrt(variance) / total)


def score_interval(
    evidence: Evidence, score: Score, confidence: float
) -> tuple[float, float, float]:
    """Mean score with the ends of a normal interval, robust to clusters."""
    cases = evidence.cases()
    losses = row_losses(score, cases.outcome, cases.prediction)
    mean, reach = mean_and_reach(cases, losses, confidence)
    return mean, mean - reach, mean + reach

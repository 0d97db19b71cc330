"""Intervals for mean scores: plain means, nearly normal, helped where events are few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.decisions import SCORES, DecisionTask, Score, as_score
from calibrant.errors import InferenceRefusedError
from calibrant.inference.cases import Cases


def score_of(measure: object) -> Score | None:
    """Return the proper score that a name, a Score or a decision task stands for, if it is one."""
    if isinstance(measure, Score | DecisionTask) or (
        isinstance(measure, str) and measure in SCORES
    ):
        return as_score(measure)
    return None


def mean_and_half_width(
    cases: Cases, if_not: Floats, if_so: Floats, forecasts: Sequence[Floats], confidence: float
) -> tuple[float, float]:
    """Weighted mean of losses by outcome, and how far it may lie from the population's.

    Where few events were seen the sample hides its own spread: as in Wilson's interval z^2 more
    events are mixed in, where the forecasts expect them (those forecasts that make it wider). Few
    clusters widen the interval as Student's t does.
    """
    from scipy.special import ndtri

    losses = np.where(cases.outcome == 1, if_so, if_not)
    if not np.isfinite(losses).all():
        raise InferenceRefusedError(
            "an interval needs finite scores",
            "the log loss of a forecast of 0 or 1 that proved wrong",
            "use the Brier score",
        )
    total = float(cases.weight.sum())
    mean = float(cases.total(losses)) / total
    centred = losses - mean
    variance = float(cases.covariance(centred[:, np.newaxis])[0, 0])
    z = float(ndtri((1 + confidence) / 2))
    hidden = z**2 * max(_of_an_event(cases, if_so - if_not, q) for q in forecasts)
    deviation = float(np.sqrt(variance + hidden * cases.design_effect(centred)))
    return mean, z * cases.widening(1 - confidence) * deviation / total


def _of_an_event(cases: Cases, jump: Floats, forecast: Floats) -> float:
    """Mean square of what an event adds to the total loss, events falling as a forecast says.

    Where a jump is infinite a forecast of 0 or 1 is taken at its word.
    """
    finite = np.isfinite(jump)
    chance = np.where(finite, forecast * (1 - forecast), 0.0)
    if not chance.any():  # All forecasts are sure, which makes none of them right.
        chance = finite.astype(np.float64)
    rows = float((cases.weight**2 / cases.square) @ chance)
    if rows <= 0:
        return 0.0
    return float(cases.square @ (chance * np.where(chance > 0, jump, 0.0) ** 2)) / rows


def score_interval(cases: Cases, score: Score, confidence: float) -> tuple[float, float, float]:
    """Mean score with the ends of a normal interval, robust to clusters and to few events."""
    if_not, if_so = score.losses(cases.prediction)
    mean, half_width = mean_and_half_width(cases, if_not, if_so, [cases.prediction], confidence)
    # A mean of losses that are never negative is not negative either.
    least = 0.0 if min(if_not.min(), if_so.min()) >= 0 else -np.inf
    return mean, max(least, mean - half_width), mean + half_width

"""Proper losses on the scale on which corrections of forecasts are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import refuse_unknown
from calibrant.errors import InvalidOptionError

# Forecasts of 0 and 1 have infinite log-odds; beyond this they are as good as certain.
LARGEST_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class DualLoss:
    """A proper loss on a scale t of its own, on which it is `scale` (psi(t) - y t).

    psi is convex. Its derivative `mean` turns t into a probability, and `dual` turns it back; its
    second derivative `curvature` is at most `smoothness`.
    """

    name: str
    psi: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]
    dual: Callable[[Floats], Floats]
    smoothness: float
    scale: float = 1.0


def _half_square(t: Floats) -> Floats:
    return t**2 / 2


def _same(t: Floats) -> Floats:
    return t


def _softplus(logit: Floats) -> Floats:
    return np.logaddexp(0.0, logit)


def _sigmoid(logit: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))


def _bernoulli_variance(logit: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit) - np.logaddexp(0.0, logit)))


def _log_odds(probability: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logit = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(logit, -LARGEST_LOGIT, LARGEST_LOGIT))


SQUARED = DualLoss("squared", _half_square, _same, np.ones_like, _same, 1.0, 2.0)
LOG = DualLoss("log", _softplus, _sigmoid, _bernoulli_variance, _log_odds, 0.25)


def as_dual_loss(loss: str | DualLoss) -> DualLoss:
    """Read a loss by name."""
    named = {"squared": SQUARED, "log": LOG}
    if isinstance(loss, DualLoss):
        if not 0 < loss.smoothness < np.inf:
            raise InvalidOptionError("smoothness must be positive", repr(loss.smoothness))
        return loss
    refuse_unknown("loss", loss, named)
    return named[loss]

"""What the default test looks at beside the smooth error: slope and intercept, and shape.

The smooth error sums residuals over wide ranges of forecasts. Errors whose sign changes within
such a range cancel in it: a slope that is off, or waves. Two statistics see those.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant.inference.statistic import Statistic
from calibrant.joint import Joint

# Log-odds of forecasts beyond this share of 0 and 1 are taken there: a certain forecast has no
# variance, and its log-odds no number.
MOST_CERTAIN = 1e-9
# Less than this share of what could be there is a rounding error.
NO_VARIATION = 1e-10


def slope_scores(joint: Joint, residual_masses: Floats) -> Floats:
    """Rao's score statistic of intercept and slope in the log-odds, for each residual mass.

    The derivatives of the likelihood of expit(a + b logit p) at a = 0, b = 1 are the sums of the
    residual mass and of residual mass times log-odds; the statistic is their square in units of
    their covariance under calibration. With one forecast only the intercept is left.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45.
    """
    from scipy.special import logit

    v = joint.prediction
    design = np.stack([np.ones_like(v), logit(np.clip(v, MOST_CERTAIN, 1 - MOST_CERTAIN))])
    variance = v * (1 - v) * joint.weight_squares / joint.total**2
    if not variance.any():
        return np.zeros(len(residual_masses))
    design[1] -= np.average(design[1], weights=variance)
    spread = (design**2) @ variance
    scores = residual_masses @ design.T
    # The centred log-odds are uncorrelated with the intercept.
    varying = spread > NO_VARIATION * spread[0]
    with np.errstate(over="ignore"):  # an event that was as good as impossible
        return np.asarray((scores[:, varying] ** 2 / spread[varying]).sum(axis=1))


def line_scores(position: Floats, variance: Floats) -> Callable[[Joint, Floats], Floats]:
    """Score statistic of intercept and slope over positions, given the variance of each level."""
    design = np.stack([np.ones_like(position), position])
    if variance.any():
        design[1] -= np.average(position, weights=variance)
    spread = (design**2) @ variance
    varying = spread > NO_VARIATION * spread[0]

    def scores(_: Joint, residual_masses: Floats) -> Floats:
        return np.asarray(
            ((residual_masses @ design[varying].T) ** 2 / spread[varying]).sum(axis=1)
        )

    return scores


def shape_gains(joint: Joint, residual_masses: Floats) -> Floats:
    """Mean log-likelihood that isotonic regression gains over the forecasts, for each row.

    A certain forecast that failed makes it infinite. Where rows of a level differ in weight their
    draws may weigh more than the level; pools beyond 0 and 1 then count as 0 and 1.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8): the miscalibration of the log loss.
    """
    v, mass = joint.prediction, joint.mass
    certain = (v <= 0) | (v >= 1)
    with np.errstate(divide="ignore"):
        odds, never = np.log(v) - np.log1p(-v), np.log1p(-v)
    # ones log p + zeros log(1 - p), where p is neither 0 nor 1
    odds[certain] = never[certain] = 0.0
    own = residual_masses @ odds + mass @ (v * odds + never)
    failed = (np.abs(residual_masses[:, certain]) > NO_VARIATION * mass[certain]).any(axis=1)
    return np.where(failed, np.inf, kernels.isotonic_log_gains(v, mass, residual_masses) - own)


def squared_shape_gains(joint: Joint, residual_masses: Floats) -> Floats:
    """Brier score that isotonic regression gains over the forecasts, for each row.

    For residuals whose signs were flipped, which belong to no outcomes: they have no likelihood,
    but squares. With the likelihood of clipped pools 11 % of calibrated samples of 30 clusters were
    rejected at the level 0.05, because near 0 and 1 flipped noise lacks the skewness of events;
    squares give those ends their small share.
    """
    v, mass = joint.prediction, joint.mass
    gains = kernels.isotonic_square_gains(v, mass, residual_masses)
    return np.asarray(gains - mass @ v**2 - 2 * residual_masses @ v)


SLOPE = Statistic.of_function("slope_and_intercept", slope_scores)
SHAPE = Statistic.of_function("shape", shape_gains)
CLUSTERED_SHAPE = Statistic.of_function("shape", squared_shape_gains)

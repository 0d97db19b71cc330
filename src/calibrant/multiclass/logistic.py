"""Between scores and distributions, and logistic regression shrunk towards leaving them alone."""

from __future__ import annotations

import numpy as np

from calibrant.errors import InvalidOptionError
from calibrant.joint.gate import Floats
from calibrant.multiclass.forecasts import ClassForecasts

# Probabilities are kept this far from 0 before a logarithm is taken.
LEAST = 2.0**-53
# No temperature is believed beyond this, or below its inverse.
MOST = 100.0


def log_of(probability: Floats) -> Floats:
    """Logarithms of probabilities that are kept from 0."""
    return np.log(np.maximum(probability, LEAST))


def onto_simplex(table: Floats) -> Floats:
    """Nearest point (Euclidean) with entries that are not negative and sum to one, by rows.

    Held, Wolfe, Crowder (1974), Validation of subgradient optimization, Mathematical Programming.
    """
    falling = -np.sort(-table, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    count = np.arange(1, table.shape[1] + 1)
    kept = (falling * count > excess).sum(axis=1)
    shift = np.take_along_axis(excess, kept[:, np.newaxis] - 1, axis=1) / kept[:, np.newaxis]
    return np.asarray(np.maximum(table - shift, 0.0))


def softmax_of(score: Floats) -> Floats:
    """Probabilities in proportion to the exponentials of scores."""
    lifted = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(lifted / lifted.sum(axis=1, keepdims=True))


def temperature_slope(score: Floats, forecasts: ClassForecasts) -> float:
    """Factor of the scores that minimises the log loss: the root of a monotone function."""
    from scipy.optimize import brentq

    rows = np.arange(len(forecasts))
    mass = forecasts.mass
    happened = float(mass @ score[rows, forecasts.label])

    def derivative(log_slope: float) -> float:
        expected = (softmax_of(score * np.exp(log_slope)) * score).sum(axis=1)
        return float(mass @ expected) - happened

    end = np.log(MOST)
    if np.ptp(score, axis=1).max() == 0 or abs(derivative(0.0)) == 0:
        return 1.0
    if derivative(-end) >= 0:
        return 1 / MOST
    if derivative(end) <= 0:
        return MOST
    return float(np.exp(brentq(derivative, -end, end, xtol=1e-10)))


def fit_scores(
    score: Floats, forecasts: ClassForecasts, penalty: float, *, diagonal: bool
) -> tuple[Floats, Floats]:
    """Matrix W and shift b that minimise the mean log loss of softmax(score W + b), penalised.

    The penalty is that of the mean squares of b and of the free entries of W - I: the problem is
    strictly convex in what can be told apart, and no rows at all mean no change.
    """
    from scipy.optimize import minimize

    if not 0 < penalty < np.inf:
        raise InvalidOptionError("penalty must be positive and finite", repr(penalty))
    count = score.shape[1]
    mass = forecasts.mass[:, np.newaxis]
    rows = np.arange(len(forecasts))
    hit = np.zeros_like(score)
    hit[rows, forecasts.label] = 1.0
    entries = count if diagonal else count * count

    def unpacked(change: Floats) -> tuple[Floats, Floats]:
        matrix = np.diag(change[:entries]) if diagonal else change[:entries].reshape(count, count)
        return np.eye(count) + matrix, change[entries:]

    def loss(change: Floats) -> tuple[float, Floats]:
        weight, shift = unpacked(change)
        moved = score * np.diag(weight) + shift if diagonal else score @ weight + shift
        top = moved.max(axis=1, keepdims=True)
        lifted = np.exp(moved - top)
        total = lifted.sum(axis=1, keepdims=True)
        log_loss = mass * (np.log(total) + top - moved[rows, forecasts.label][:, np.newaxis])
        pull = mass * (lifted / total - hit)
        slope = (pull * score).sum(axis=0) if diagonal else (score.T @ pull).ravel()
        scale = np.concatenate([np.full(entries, 1 / entries), np.full(count, 1 / count)])
        value = float(log_loss.sum() + penalty * (scale @ change**2))
        return value, np.concatenate([slope, pull.sum(axis=0)]) + 2 * penalty * scale * change

    start = np.zeros(entries + count)
    options = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return unpacked(np.asarray(found.x))

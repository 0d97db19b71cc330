"""Logistic regression of many outcomes, shrunk towards leaving scores alone."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_positive
from calibrant.regression.binary import LEAST, MOST_SLOPE

# A fit ends when no entry of the gradient of the mean loss is larger.
GRADIENT = 1e-6


def log_of(probability: Floats) -> Floats:
    """Logarithms of probabilities that are kept from 0."""
    return np.log(np.maximum(probability, LEAST))


def softmax_of(score: Floats) -> Floats:
    """Probabilities in proportion to the exponentials of scores."""
    lifted = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.asarray(lifted / lifted.sum(axis=-1, keepdims=True))


def temperature_slope(score: Floats, label: Indices, mass: Floats) -> float:
    """Factor of the scores that minimises the log loss: the root of a monotone function."""
    from scipy.optimize import brentq

    happened = float(mass @ score[np.arange(label.size), label])

    def derivative(log_slope: float) -> float:
        expected = (softmax_of(score * np.exp(log_slope)) * score).sum(axis=1)
        return float(mass @ expected) - happened

    end = np.log(MOST_SLOPE)
    if np.ptp(score, axis=1).max() == 0 or abs(derivative(0.0)) == 0:
        return 1.0
    if derivative(-end) >= 0:
        return 1 / MOST_SLOPE
    if derivative(end) <= 0:
        return MOST_SLOPE
    return float(np.exp(brentq(derivative, -end, end, xtol=1e-10)))


def fit_scores(
    score: Floats, label: Indices, mass: Floats, penalty: float, *, diagonal: bool
) -> tuple[Floats, Floats]:
    """Matrix W and shift b that minimise the mean log loss of softmax(score W + b), penalised.

    The penalty is that of the mean squares of b and of the free entries of W - I: the problem is
    strictly convex, and no rows at all mean no change.
    """
    from scipy.optimize import minimize

    check_positive("penalty", penalty)
    problem = _Regression(score, label, mass, penalty, diagonal=diagonal)
    start = np.zeros(problem.scale.size)
    # Log-probabilities of many classes are nearly dependent: a matrix needs its exact curvature.
    how = {"method": "trust-ncg", "hessp": problem.curvature}
    if not diagonal:
        how = {"method": "trust-exact", "hess": problem.bends}
    found = minimize(problem.loss, start, jac=True, options={"gtol": GRADIENT}, **how)
    matrix, shift = problem.unpacked(np.asarray(found.x))
    return np.eye(score.shape[1]) + matrix, shift


class _Regression:
    """Penalised log loss of softmax(score (I + M) + b) as a function of M and b."""

    def __init__(
        self, score: Floats, label: Indices, mass: Floats, penalty: float, *, diagonal: bool
    ) -> None:
        self.score, self.diagonal, self.penalty = score, diagonal, penalty
        self.label, self.rows = label, np.arange(label.size)
        self.mass = mass[:, np.newaxis]
        self.count = score.shape[1]
        entries = self.count if diagonal else self.count**2
        self.scale = np.concatenate(
            [np.full(entries, 1 / entries), np.full(self.count, 1 / self.count)]
        )

    def unpacked(self, change: Floats) -> tuple[Floats, Floats]:
        """Matrix and shift of a vector of changes."""
        entries, shift = change[: -self.count], change[-self.count :]
        matrix = np.diag(entries) if self.diagonal else entries.reshape(self.count, self.count)
        return matrix, shift

    def loss(self, change: Floats) -> tuple[float, Floats]:
        """Penalised mean log loss and its gradient."""
        scored = self.score + self._score_change(change)
        top = scored.max(axis=1, keepdims=True)
        lifted = np.exp(scored - top)
        total = lifted.sum(axis=1, keepdims=True)
        hit = scored[self.rows, self.label][:, np.newaxis]
        log_loss = float((self.mass * (np.log(total) + top - hit)).sum())
        pull = lifted / total
        pull[self.rows, self.label] -= 1
        gradient = self._packed(self.mass * pull) + 2 * self.penalty * self.scale * change
        return log_loss + self.penalty * float(self.scale @ change**2), gradient

    def curvature(self, change: Floats, direction: Floats) -> Floats:
        """Second derivative times a direction."""
        chance = softmax_of(self.score + self._score_change(change))
        step = self._score_change(direction)
        pull = self.mass * chance * (step - (chance * step).sum(axis=1, keepdims=True))
        return self._packed(pull) + 2 * self.penalty * self.scale * direction

    def bends(self, change: Floats) -> Floats:
        """All second derivatives, for a full matrix."""
        chance = softmax_of(self.score + self._score_change(change))
        with_one = np.column_stack([self.score, np.ones(self.rows.size)])
        size = with_one.shape[1]
        whole = np.empty((size, self.count, size, self.count))
        for a in range(self.count):
            for b in range(a, self.count):
                spread = chance[:, a] * (float(a == b) - chance[:, b]) * self.mass[:, 0]
                block = with_one.T @ (with_one * spread[:, np.newaxis])
                whole[:, a, :, b] = whole[:, b, :, a] = block
        square = whole.reshape(change.size, change.size)
        square[np.diag_indices(change.size)] += 2 * self.penalty * self.scale
        return square

    def _score_change(self, change: Floats) -> Floats:
        """Find what a change adds to the scores."""
        matrix, shift = self.unpacked(change)
        added = self.score * np.diag(matrix) if self.diagonal else self.score @ matrix
        return np.asarray(added + shift)

    def _packed(self, pull: Floats) -> Floats:
        """Gradient of the entries, from that of the scores."""
        slope = (pull * self.score).sum(axis=0) if self.diagonal else self.score.T @ pull
        return np.concatenate([np.ravel(slope), pull.sum(axis=0)])

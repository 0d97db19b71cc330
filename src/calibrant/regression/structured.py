"""Logistic regression of many outcomes around a temperature, each part with a penalty of its own.

Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
arXiv 2511.03685: scores are first divided by the best temperature, which is not penalised; then a
shift, a factor for each class and maybe a full matrix are added, with ridges that grow with the
count of numbers that each learns, K or K (K - 1), and fall with the count of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.errors import ConvergenceError
from calibrant.regression.softmax import softmax_of

# Rows are worked on in blocks of about so many entries: what comes between stays in the cache.
BLOCK = 2**18
# A fit ends when the gradient of the mean loss, in units in which it bends by one, is this short.
GRADIENT = 1e-7
MOST_STEPS = 2000
# So often a fit is begun in units that are ten times smaller.
MOST_STARTS = 4
# No second derivative at the start counts for less than this share of the largest.
FLAT = 1e-4


@dataclass(frozen=True, slots=True)
class Parts:
    """Which numbers are learned."""

    factors: bool = False
    matrix: bool = False
    """A full matrix; its diagonal are the factors."""


SHIFT = Parts()
VECTOR = Parts(factors=True)
MATRIX = Parts(factors=True, matrix=True)


def fit_structured(
    score: Floats, label: Indices, mass: Floats, rows: float, parts: Parts, strength: float = 1.0
) -> tuple[Floats, Floats]:
    """Weights and shifts that minimise the penalised mean log loss of softmax(score W + shift).

    Parameters
    ----------
    score : array of shape (n, K)
        Scores, divided by their temperature.
    label : array of shape (n,)
        Number of the class that happened.
    mass : array of shape (n,)
        Weights, which sum to one.
    rows : float
        Number of rows behind them.
    parts : Parts
        What is learned. Without factors W is one for each class.
    strength : float, default=1.0
        The ridges are strength K / rows for shifts and factors less one, strength K (K - 1) / rows
        for what is off the diagonal.

    Returns
    -------
    weight : array of shape (K,) or (K, K)
        Factor of each class, or a matrix with a column for each new score.
    shift : array of shape (K,)
        What is added.
    """
    from scipy.optimize import minimize

    problem = _ScoreProblem(score, label, mass, rows, parts, strength)
    # Units in which the loss bends by about one in every direction, where it starts; where it is
    # flat there it may bend later, so that none is much longer than others.
    bends = problem.bends()
    unit = 1 / np.sqrt(np.maximum(bends, FLAT * bends.max()))

    def loss(change: Floats) -> tuple[float, Floats]:
        value, gradient = problem.loss(unit * change)
        return value, unit * gradient

    at, first_unit = np.zeros(unit.size), unit
    for _ in range(MOST_STARTS):
        found = minimize(
            loss,
            at / unit,
            jac=True,
            method="L-BFGS-B",
            options={
                "gtol": GRADIENT, "ftol": 0.0, "maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS
            },
        )  # fmt: skip
        # Near the optimum a loss can be flat to its last digit, which the method calls abnormal.
        gradient = np.abs(first_unit / unit * found.jac).max()
        if gradient <= 1e3 * GRADIENT:
            break
        # Its first step was too long to find a shorter one: go on in smaller units.
        at, unit = unit * np.asarray(found.x), unit / 10
    else:
        raise ConvergenceError(
            "a regression of classes must converge",
            f"a gradient of {gradient:.2g} after {found.nit} steps",
            "look at the predictions: are they probabilities",
        )
    return problem.unpacked(unit * np.asarray(found.x))


class _ScoreProblem:
    """Penalised log loss of softmax(score (I + M) + b) as a function of M and b."""

    def __init__(
        self,
        score: Floats,
        label: Indices,
        mass: Floats,
        rows: float,
        parts: Parts,
        strength: float,
    ) -> None:
        self.score, self.label, self.mass, self.parts = score, label, mass, parts
        self.count = score.shape[1]
        near = strength * self.count / rows
        ridge = [np.full(self.count, near)]
        if parts.matrix:
            table = np.full((self.count, self.count), near * (self.count - 1))
            np.fill_diagonal(table, near)
            ridge.append(table.ravel())
        elif parts.factors:
            ridge.append(np.full(self.count, near))
        self.ridge = np.concatenate(ridge)

    def unpacked(self, change: Floats) -> tuple[Floats, Floats]:
        """Weight and shift of a vector of changes."""
        shift, rest = change[: self.count], change[self.count :]
        if self.parts.matrix:
            return np.eye(self.count) + rest.reshape(self.count, self.count), shift
        return 1 + (rest if self.parts.factors else np.zeros(self.count)), shift

    def loss(self, change: Floats) -> tuple[float, Floats]:
        """Penalised mean log loss and its gradient."""
        weight, shift = self.unpacked(change)
        value = float(self.ridge @ change**2)
        gradient = 2 * self.ridge * change
        for block in self._blocks():
            score, label, mass = self.score[block], self.label[block], self.mass[block]
            scores = score @ weight if self.parts.matrix else score * weight
            scores += shift
            rows = np.arange(label.size)
            scores -= scores.max(axis=1, keepdims=True)
            hit = scores[rows, label]
            np.exp(scores, out=scores)
            total = scores.sum(axis=1)
            value += float(mass @ (np.log(total) - hit))
            scores *= (mass / total)[:, np.newaxis]
            scores[rows, label] -= mass
            gradient += self._packed(score, scores)
        return value, gradient

    def bends(self) -> Floats:
        """Second derivatives by each number alone, at the start."""
        found = 2 * self.ridge
        for block in self._blocks():
            score, mass = self.score[block], self.mass[block]
            chance = softmax_of(score)
            chance *= 1 - chance
            chance *= mass[:, np.newaxis]
            found += self._packed(score**2, chance)
        return found

    def _packed(self, score: Floats, pull: Floats) -> Floats:
        """Add up what pulls at the shifts and, times the scores, at factors or matrix."""
        shift = pull.sum(axis=0)
        if self.parts.matrix:
            return np.concatenate([shift, (score.T @ pull).ravel()])
        if self.parts.factors:
            return np.concatenate([shift, np.einsum("ij,ij->j", score, pull)])
        return np.asarray(shift)

    def _blocks(self) -> Iterator[slice]:
        size = max(1, BLOCK // self.count)
        for start in range(0, self.label.size, size):
            yield slice(start, start + size)


def blend_shares(chance: Floats, mass: Floats) -> Floats:
    """Shares of several forecasts whose mixture has the least log loss: a convex problem.

    `chance` has a column for each forecast: what it gave to the outcome that happened.
    """
    from scipy.optimize import minimize

    # Logarithms of shares: a share next to nothing may yet be what a few rows live by.
    def loss(log_share: Floats) -> tuple[float, Floats]:
        share = softmax_of(log_share)
        mixed = np.maximum(chance @ share, np.finfo(np.float64).tiny)
        pull = 1 - (mass / mixed) @ chance
        return -float(mass @ np.log(mixed)), share * (pull - share @ pull)

    found = minimize(
        loss,
        np.zeros(chance.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-10, "ftol": 0.0, "maxiter": MOST_STEPS},
    )
    return softmax_of(np.asarray(found.x))

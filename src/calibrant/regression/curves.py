"""Logistic regression on an increasing curve of the log-odds: a quadratic spline, maybe smoothed.

The slope of a quadratic spline is a line between its knots. So the spline increases exactly if its
slopes at the knots are not negative: bounds on coefficients, and the fit stays convex.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.joint import Joint
from calibrant.regression.binary import (
    COARSE,
    MOST_SLOPE,
    Portion,
    Targets,
    curvature_of,
    fit_parts,
    log_odds,
    softplus,
)

# The outer knots have this share of the weight beyond them: a few forecasts next to 0 or 1 must
# not rule a curve.
OUTSIDE = 0.01
# Knots that are nearer to each other, as a share of their range, say the same.
APART = 1e-3
# Log-odds within such a range are one point, around which a curve is straight.
NARROW = 1e-6
# Cells that are added up together: a part of the levels, whatever their number.
CELLS_AT_ONCE = 2**6
# Log-odds of 1 - 2^-53, rounded down.
MOST_KNOT = 36.7
# Penalties that the rule looks at, on the roughness of the curve over the range of its knots.
PENALTIES = tuple(10.0**power for power in range(1, -7, -1))


@dataclass(frozen=True, slots=True)
class CurveFit:
    """Log-odds as a function of log-odds: knots, the slopes at them, the value at the first."""

    knot: Floats
    slope: Floats
    value: float
    penalty: float = 0.0
    freedom: float = np.nan
    """Numbers that it learned, in effect: the trace of the smoother."""


def terms_of(log_odds: Floats, knot: Floats) -> Floats:
    """Constant one, and integrals of the hat function of each knot from the first knot on.

    A curve with the coefficients value and slopes has these slopes at the knots, lines of slope
    between them, and is straight beyond.
    """
    terms = np.zeros((knot.size + 1, log_odds.size))
    terms[0] = 1.0
    terms[1] = np.minimum(log_odds - knot[0], 0.0)
    for i, width in enumerate(np.diff(knot), 1):
        inside = np.clip(log_odds - knot[i - 1], 0.0, width)
        rising = inside * inside
        rising *= 1 / (2 * width)
        inside -= rising
        terms[i] += inside
        terms[i + 1] += rising
    terms[-1] += np.maximum(log_odds - knot[-1], 0.0)
    return terms


def knots_of(joint: Joint, count: int) -> Floats:
    """Log-odds at quantiles of the predictions, evenly spaced, apart from each other.

    The first and the last have 1 % of the weight outside; where most predictions are equal they
    are the first and the last prediction.
    """
    reached, ends = np.cumsum(joint.weight), log_odds(joint.prediction[[0, -1]])
    share = np.linspace(OUTSIDE, 1 - OUTSIDE, count) * reached[-1]
    # Sums of weights may differ in their last digits with the order of rows.
    at = np.searchsorted(reached, share * (1 - 1e-9))
    found = log_odds(joint.prediction[np.minimum(at, len(joint) - 1)])
    if found[0] == found[-1]:
        found = np.concatenate([ends[:1], found, ends[1:]])
    if found[-1] - found[0] < NARROW:
        middle = (found[0] + found[-1]) / 2
        return np.asarray(np.clip([middle - 1, middle + 1], -MOST_KNOT, MOST_KNOT))
    least = APART * (found[-1] - found[0])
    kept = [found[0]]
    for knot in found[1:-1]:
        if knot - kept[-1] > least and found[-1] - knot > least:
            kept.append(knot)
    return np.array([*kept, found[-1]])


def fit_curve(joint: Joint, knot: Floats, smoothing: tuple[float, float]) -> CurveFit:
    """Find the increasing curve of least log loss; straight where there are but two predictions."""
    problem = _CurveProblem.of(joint, smoothing)
    straight = len(joint) < knot.size + 1
    start = np.ones(2 if straight else knot.size + 1)
    start[0] = knot[0]
    start = problem.solved(knot, start, straight=straight)
    start = problem.refined(knot, start, straight=straight)
    slope = np.full(knot.size, start[1]) if straight else start[1:]
    return CurveFit(knot, slope, float(start[0]))


def fit_spline(joint: Joint, knot: Floats, smoothing: tuple[float, float], rows: float) -> CurveFit:
    """Find the increasing smoothing spline whose penalty has the least corrected AIC.

    The penalty is the integral of the squared second derivative, over the range of the knots
    scaled to one. AIC is twice the log loss of n rows plus twice the freedom k: the trace of the
    matrix that takes outcomes to fitted values, of the slopes that are not held at a bound. Its
    correction for few rows is 2 k (k + 1) / (n - k - 1).
    """
    problem = _CurveProblem.of(joint, smoothing)
    start = np.append(knot[0], np.ones(knot.size))
    best, least = (start, PENALTIES[0], 2.0), np.inf
    for penalty in PENALTIES:
        start = problem.solved(knot, start, penalty)
        loss, freedom = problem.judged(knot, start, penalty)
        spare = max(rows - freedom - 1, 1e-9)
        criterion = 2 * rows * loss + 2 * freedom + 2 * freedom * (freedom + 1) / spare
        if criterion < least:
            best, least = (start, penalty, freedom), criterion
    found, penalty, freedom = best
    found = problem.refined(knot, found, penalty)
    return CurveFit(knot, found[1:], float(found[0]), penalty, freedom)


@dataclass(frozen=True, slots=True)
class _CurveProblem:
    """Log-odds, weights and ones: of the levels or, of many levels, of cells of equal weight."""

    data: Targets
    score: Floats
    weight: Floats
    ones: Floats

    @classmethod
    def of(cls, joint: Joint, smoothing: tuple[float, float]) -> _CurveProblem:
        data = Targets.of(joint, smoothing)
        if len(joint) > 2 * COARSE:
            return cls(data, *_in_cells(data))
        return cls(data, log_odds(joint.prediction), *data.shares(slice(None)))

    def solved(
        self, knot: Floats, start: Floats, penalty: float = 0.0, *, straight: bool = False
    ) -> Floats:
        """Fit levels or cells."""
        part = Portion(self.weight, self.ones, _terms(self.score, knot, straight=straight))
        return _fitted([part], knot, start, penalty)

    def refined(
        self, knot: Floats, start: Floats, penalty: float = 0.0, *, straight: bool = False
    ) -> Floats:
        """Fit many levels, from what cells of them have."""
        if self.data.prediction.size == self.score.size:
            return start

        def terms(prediction: Floats) -> tuple[Floats, None]:
            return _terms(log_odds(prediction), knot, straight=straight), None

        return _fitted(self.data.parts(terms), knot, start, penalty)

    def judged(self, knot: Floats, at: Floats, penalty: float) -> tuple[float, float]:
        """Mean log loss and freedom of a fit."""
        terms = terms_of(self.score, knot)
        score = at @ terms
        loss = float(self.weight @ softplus(score) - self.ones @ score)
        half = np.tanh(score / 2) / 2
        curvature = curvature_of(terms, self.weight * (0.25 - half**2))
        free = np.append(True, (at[1:] > 0) & (at[1:] < MOST_SLOPE))
        curvature, pull = (
            part[np.ix_(free, free)] for part in (curvature, penalty * roughness(knot))
        )
        penalized = curvature + pull
        penalized[np.diag_indices_from(penalized)] *= 1 + 1e-12
        penalized[np.diag_indices_from(penalized)] += 1e-18
        return loss, float(np.trace(np.linalg.solve(penalized, curvature)))


def _in_cells(data: Targets) -> tuple[Floats, Floats, Floats]:
    """Mean log-odds of cells of equal weight, and their shares; many levels at a time."""
    reached = np.cumsum(data.weight)
    # Sums of weights may differ in their last digits with the order of rows.
    share = np.arange(COARSE) * (reached[-1] / (COARSE * (1 - 1e-9)))
    first = np.unique(np.searchsorted(reached, share))
    del reached
    ends = np.append(first[CELLS_AT_ONCE::CELLS_AT_ONCE], data.prediction.size)
    found = []
    for cells, end in zip(range(0, first.size, CELLS_AT_ONCE), ends, strict=True):
        start = first[cells]
        block = slice(int(start), int(end))
        weight, ones = data.shares(block)
        leaning = weight * log_odds(data.prediction[block])
        of_cell = first[cells : cells + CELLS_AT_ONCE] - start
        found.append([np.add.reduceat(part, of_cell) for part in (leaning, weight, ones)])
    leaning, weight, ones = np.concatenate(found, axis=1)
    return leaning / weight, weight, ones


def _terms(score: Floats, knot: Floats, *, straight: bool) -> Floats:
    return np.stack([np.ones_like(score), score - knot[0]]) if straight else terms_of(score, knot)


def _fitted(parts: Iterable[Portion], knot: Floats, start: Floats, penalty: float) -> Floats:
    low, high = np.zeros(start.size), np.full(start.size, MOST_SLOPE)
    low[0], high[0] = -np.inf, np.inf
    pull = roughness(knot) * penalty if penalty else None
    return fit_parts(parts, (low, high), start, pull)


def roughness(knot: Floats) -> Floats:
    """Matrix of twice the integral of the squared second derivative, of value and slopes."""
    step = np.diff(knot)
    rises = np.diff(np.eye(knot.size), axis=0)
    square = rises.T @ (rises / step[:, np.newaxis]) * (knot[-1] - knot[0]) ** 3
    found = np.zeros((knot.size + 1, knot.size + 1))
    found[1:, 1:] = 2 * square
    return found

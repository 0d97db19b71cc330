"""Logistic regression of two outcomes, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import BLOCK, Flags, Floats, blocks
from calibrant.errors import ConvergenceError
from calibrant.joint import Joint

MOST_STEPS = 200
# The loss that one more step would gain; the step that is taken then squares it.
ENOUGH = 1e-12
# Below this gain a short step needs no check of the loss.
NEAR, SMALL = 1e-6, 0.05
# Losses that differ by no more are the same.
ROUNDING = 1e-15
# The first step moves no log-odds by more, because far from the optimum the curvature says little.
FIRST_STEP_LIMIT = 8.0
# A step must keep so much of what it promises to gain, lest steps go to and fro for ever.
KEPT = 0.05
# A step that goes too far or uphill is held shorter: by so little first, and then so often.
FIRST_DAMPING, MOST_TRIES = 1e-3, 40
# A coefficient this near to its bound is at it, and is not pulled from it by so small a slope.
AT_BOUND, PULLED = 1e-12, 1e-14
# Shares of the diagonal that are added to a curvature until its step goes downhill.
RIDGES = tuple(10.0**power for power in range(-12, 1, 2))


class Loss(Protocol):
    """A convex loss of coefficients."""

    def value(self, at: Floats) -> float:
        """Return the loss."""
        ...

    def moments(self, at: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature."""
        ...

    def farthest(self, step: Floats) -> float:
        """Largest move of a row's log-odds."""
        ...

    def mean_square(self) -> Floats:
        """Mean square of the moves of rows, as a matrix."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and largest coefficients."""

    low: Floats
    high: Floats


def minimise(loss: Loss, bounds: Bounds, start: Floats) -> Floats:
    """Find the coefficients of least loss, from some within the bounds."""
    at, gain, damping = start, np.inf, _Damping(loss)
    value: float | None = None
    for _ in range(MOST_STEPS):
        slope, curvature = loss.moments(at)
        step, gain, settled = _step(at, slope, curvature, bounds)
        arrived = settled and gain <= ENOUGH
        if gain <= NEAR and np.abs(step).sum() <= SMALL:
            at, value = at + step, None
        elif not arrived:  # else a long way over a plain leads to nothing lower
            value = loss.value(at) if value is None else value
            lower = _lower(loss, bounds, damping, (at, slope, curvature), value)
            if lower is None:
                break
            at, before, value = lower[0], value, lower[1]
            # What seems to be left to gain may be rounding.
            arrived = settled and gain <= NEAR and before - value <= ROUNDING
        if arrived:
            return at
    if abs(gain) <= NEAR:  # else rounding alone makes a gain negative
        return at
    raise ConvergenceError(
        "a logistic regression must converge",
        f"a step that still gains {gain:.2g} after {MOST_STEPS}",
        "look at the predictions: are they probabilities",
    )


class _Damping:
    """What holds steps short where the curvature says little (Levenberg 1944, Marquardt 1963).

    It is added to the curvature, times the mean square by which a step moves log-odds.
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.strength = self._least = 0.0
        self._largest_step, self._step_limit = 0.0, FIRST_STEP_LIMIT

    @cached_property
    def _mean_square(self) -> Floats:
        return self.loss.mean_square()

    def added_to(self, curvature: Floats) -> Floats:
        return curvature + self.strength * self._mean_square if self.strength else curvature

    def allows(self, step: Floats) -> bool:
        """Whether no row's log-odds move too far."""
        self._largest_step = self.loss.farthest(step)
        return self._largest_step <= self._step_limit

    def rise(self, gain: float) -> None:
        """Hold steps shorter, after one that went too far or uphill."""
        if not self.strength:
            self._least = FIRST_DAMPING * abs(gain) / max(self._largest_step, SMALL) ** 2
        self.strength = max(10 * self.strength, self._least)

    def fall(self) -> None:
        """Let the next step go twice as far, after one downhill."""
        self._step_limit *= 2
        self.strength = self.strength / 10 if self.strength > self._least else 0.0


def _lower(
    loss: Loss,
    bounds: Bounds,
    damping: _Damping,
    here: tuple[Floats, Floats, Floats],
    value: float,
) -> tuple[Floats, float] | None:
    """Find lower coefficients, and their loss, from some with their slope and curvature."""
    at, slope, curvature = here
    for _ in range(MOST_TRIES):
        step, gain, _ = _step(at, slope, damping.added_to(curvature), bounds)
        if damping.allows(step):
            found = loss.value(at + step)
            if value - found >= KEPT * gain - ROUNDING:
                damping.fall()
                return at + step, found
        damping.rise(gain)
    return None


def _step(
    at: Floats, slope: Floats, curvature: Floats, bounds: Bounds
) -> tuple[Floats, float, bool]:
    """Newton's step within bounds, twice what its parabola gains, and whether it meets no new one.

    A coefficient that meets a bound is held there, and the others go on; one that is pulled away
    from its bound when they have arrived is let go again (Lawson and Hanson 1974).
    """
    low, high = bounds.low, bounds.high
    step, settled = np.zeros_like(at), True
    free = ~((at <= low) & (slope > 0) | (at >= high) & (slope < 0))
    for _ in range(3 * at.size):
        more, there = np.zeros_like(at), at + step
        if free.any():
            pull = (slope + curvature @ step)[free]
            more[free] = _downhill(curvature[np.ix_(free, free)], pull)
        distance = np.where(more > 0, high - there, np.where(more < 0, there - low, np.inf))
        met = free & (np.abs(more) >= distance - AT_BOUND)
        if met.any():
            share = np.divide(distance, np.abs(more), out=np.full_like(at, np.inf), where=met)
            nearest = min(1.0, max(float(share.min()), 0.0))
            first = share <= nearest
            step += nearest * more
            step[first] = np.where(more > 0, high - at, low - at)[first]
            free &= ~first
            settled = settled and not step[first].any()
            continue
        step += more
        if free.all():
            break
        pull = slope + curvature @ step
        inward = np.where(at + step <= low, -pull, np.where(at + step >= high, pull, -np.inf))
        inward[free] = -np.inf
        if inward.max() <= PULLED:
            break
        free[inward.argmax()] = True
    return step, float(-2 * slope @ step - step @ curvature @ step), settled


def _downhill(curvature: Floats, slope: Floats) -> Floats:
    """Newton's step without bounds; rounding must not send it uphill where terms are alike."""
    diagonal = np.diag(curvature)
    for ridge in RIDGES:
        damped = curvature + np.diag(ridge * diagonal + 1e-18)
        step = -np.linalg.solve(damped, slope)
        if slope @ step <= 0:
            break
    return np.asarray(step)


# Predictions nearer to 0 or 1 than this have the log-odds of this.
LEAST = 2.0**-53
# No slope is believed that multiplies log-odds by more than this, or divides them.
MOST_SLOPE = 100.0
# Terms that the compiled sums know.
MOST_COMPILED = 3
# Fits on more levels than this start where a fit on so many cells ended.
COARSE = 2**11


Terms = Sequence[Floats | None] | Floats
"""Terms of log-odds, one array for each, or all as the rows of one."""


class Portion(NamedTuple):
    """Some rows of a regression: weights, the part of them with outcome 1, terms, a given part."""

    weight: Floats
    ones: Floats
    terms: Terms
    offset: Floats | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """Levels with their weights and the part of these that counts as outcome 1.

    Shares and terms are made for a block of levels at a time: of ten million levels they would
    take more memory than the levels.
    """

    prediction: Floats
    weight: Floats
    positives: Floats
    total: float
    smoothing: tuple[float, float]
    """What outcomes 0 and 1 count as."""

    @classmethod
    def of(cls, joint: Joint, smoothing: tuple[float, float]) -> Targets:
        """Read a Joint; outcomes 0 and 1 count as the two values of the smoothing."""
        return cls(joint.prediction, joint.weight, joint.positives, joint.total, smoothing)

    def shares(self, block: slice) -> tuple[Floats, Floats]:
        """Shares of the weight, and the part of them with outcome 1."""
        zero, one = self.smoothing
        weight, ones = self.weight[block] / self.total, self.positives[block] / self.total
        if self.smoothing != (0.0, 1.0):
            ones = one * ones + zero * (weight - ones)
        return weight, ones

    def in_cells(self) -> Targets:
        """Add up the levels of each cell and take its mean prediction: somewhere to start."""
        sums = np.zeros((3, COARSE + 1))
        for block in blocks(self.prediction.size):
            prediction = self.prediction[block]
            cell = (prediction * COARSE).astype(np.intp)
            weight, ones = self.shares(block)
            first = np.flatnonzero(np.diff(cell, prepend=-1))  # levels are in order
            columns = np.stack([weight, ones, weight * prediction])
            sums[:, cell[first]] += np.add.reduceat(columns, first, axis=1)
        weight, ones, moment = sums[:, sums[0] > 0]
        return Targets(moment / weight, weight, ones, 1.0, (0.0, 1.0))

    def parts(self, terms_of: Callable[[Floats], tuple[Terms, Floats | None]]) -> Iterable[Portion]:
        """Blocks of levels, with what a model makes of their predictions."""
        parts = _Portions(self, terms_of)
        return list(parts) if self.prediction.size <= BLOCK else parts

    def solved(self, model: Model, start: Floats) -> Floats:
        """Find the coefficients of a model."""
        bounds = np.array(model.low), np.array(model.high)
        return fit_parts(self.parts(model.of), bounds, start)


@dataclass(frozen=True, slots=True)
class _Portions:
    """Blocks of levels, made anew each time they are walked over."""

    data: Targets
    terms_of: Callable[[Floats], tuple[Terms, Floats | None]]

    def __iter__(self) -> Iterator[Portion]:
        for block in blocks(self.data.prediction.size):
            yield Portion(*self.data.shares(block), *self.terms_of(self.data.prediction[block]))


def log_odds(prediction: Floats, least: float = LEAST) -> Floats:
    """Log-odds, finite also for 0 and 1."""
    if prediction.size <= BLOCK or prediction.ndim > 1:
        low, high = log_terms(prediction, least)
        return low + high
    found = np.empty(prediction.size)
    for block in blocks(prediction.size):
        found[block] = sum(log_terms(prediction[block], least))
    return found


def chance_of(score: Floats) -> Floats:
    """Probabilities of log-odds."""
    tail = np.exp(-np.abs(score))
    return np.asarray(np.where(score < 0, tail, 1.0) / (1 + tail))


def softplus(score: Floats) -> Floats:
    """Log of one plus the exponential: the log loss of outcome 0."""
    tail = np.abs(score)
    np.negative(tail, out=tail)
    np.log1p(np.exp(tail, out=tail), out=tail)
    tail += np.maximum(score, 0.0)
    return tail


def log_terms(prediction: Floats, least: float = LEAST) -> tuple[Floats, Floats]:
    """Return log(p) and -log(1 - p)."""
    inside = np.clip(prediction, least, 1 - least)
    return np.log(inside), -np.log(1 - inside)


@dataclass(frozen=True, slots=True)
class Model:
    """Which terms a regression has: the terms of a design, their bounds, a fixed part."""

    terms: tuple[str, ...]
    """Of "one", "log_odds", "log_low", "log_high"."""
    start: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    offset: str = ""
    """A term whose coefficient is one."""

    def of(self, prediction: Floats) -> tuple[list[Floats | None], Floats | None]:
        """Terms of some predictions, and the given part; None is the constant one."""
        low, high = log_terms(prediction)
        made = {"one": None, "log_odds": low + high, "log_low": low, "log_high": high, "": None}
        return [made[name] for name in self.terms], made[self.offset]


def solve(joint: Joint, model: Model, smoothing: tuple[float, float] = (0.0, 1.0)) -> list[float]:
    """Find the coefficients of least log loss; the problem is convex."""
    return Solver.of(joint, smoothing).solve(model)


@dataclass(frozen=True, slots=True)
class Solver:
    """Rows prepared once, for several models."""

    data: Targets
    in_cells: Targets | None
    """The same in cells, where there are many levels: somewhere to start."""

    @classmethod
    def of(cls, joint: Joint, smoothing: tuple[float, float] = (0.0, 1.0)) -> Solver:
        """Read a Joint; outcomes 0 and 1 count as the two values of the smoothing."""
        data = Targets.of(joint, smoothing)
        many = len(joint) > 2 * COARSE
        return cls(data, data.in_cells() if many else None)

    def solve(self, model: Model) -> list[float]:
        """Find the coefficients of least log loss; the problem is convex."""
        start = np.array(model.start)
        if self.in_cells is not None:
            start = self.in_cells.solved(model, start)
        return [float(value) for value in self.data.solved(model, start)]


def fit_logistic(
    weight: Floats,
    ones: Floats,
    terms: Terms,
    bounds: tuple[Floats, Floats],
    start: Floats,
    offset: Floats | None = None,
    penalty: Floats | None = None,
) -> Floats:
    """Minimise the log loss of weights, a part of each with outcome 1, over coefficients of terms.

    Parameters
    ----------
    weight, ones : array of shape (n,)
        Weights, which sum to one, and the part of them with outcome 1.
    terms : sequence of arrays of shape (n,)
        Log-odds are the sum of coefficients times terms; None stands for the constant one. Many
        terms are faster as the rows of one array.
    bounds : pair of arrays
        Least and largest coefficients.
    start : array
        Coefficients to start from, within the bounds.
    offset : array of shape (n,), optional
        Part of the log-odds that is given.
    penalty : array of shape (k, k), optional
        Half of the quadratic form of this matrix is added to the loss.

    Returns
    -------
    array
        The coefficients: the problem is convex. Newton's steps go downhill; a coefficient at a
        bound stays while it presses against it.
    """
    return fit_parts([Portion(weight, ones, terms, offset)], bounds, start, penalty)


def fit_parts(
    parts: Iterable[Portion],
    bounds: tuple[Floats, Floats],
    start: Floats,
    penalty: Floats | None = None,
) -> Floats:
    """Do the same for rows in parts, which are walked over once for each step."""
    return minimise(_LogLoss(parts, penalty), Bounds(*bounds), start)


@dataclass(frozen=True, slots=True)
class _LogLoss:
    """Mean log loss of rows in parts, perhaps with a penalty."""

    parts: Iterable[Portion]
    penalty: Floats | None

    def value(self, at: Floats) -> float:
        total = 0.0
        for part in self.parts:
            score = _score(part.terms, part.offset, at)
            # Log-odds that are far out on the side of their outcome must not cancel.
            missed = np.where(score > 0, part.weight - part.ones, part.ones)
            far = np.abs(score)
            # BLAS would start threads for so short a product.
            total += float((part.weight * softplus(-far) + missed * far).sum())
        return total if self.penalty is None else total + float(at @ self.penalty @ at) / 2

    def moments(self, at: Floats) -> tuple[Floats, Floats]:
        slope, curvature = np.zeros(at.size), np.zeros((at.size, at.size))
        for part in self.parts:
            found = _moments_of(part, _score(part.terms, part.offset, at))
            slope += found[0]
            curvature += found[1]
        if self.penalty is None:
            return slope, curvature
        return slope + self.penalty @ at, curvature + self.penalty

    def farthest(self, step: Floats) -> float:
        return max(float(np.abs(_score(part.terms, None, step)).max()) for part in self.parts)

    def mean_square(self) -> Floats:
        sums = (curvature_of(part.terms, np.ones(part.weight.size)) for part in self.parts)
        return np.asarray(sum(sums) / sum(part.weight.size for part in self.parts))


def _score(terms: Terms, offset: Floats | None, at: Floats) -> Floats:
    total: Floats | float = 0.0 if offset is None else offset
    if isinstance(terms, np.ndarray):
        return np.asarray(at @ terms + total)
    for term, coefficient in zip(terms, at, strict=True):
        total = total + (coefficient if term is None else coefficient * term)
    return np.asarray(total)


def _moments_of(part: Portion, score: Floats) -> tuple[Floats, Floats]:
    """Slope and curvature of the loss of some rows; a few terms are compiled."""
    weight, ones, terms, _ = part
    if len(terms) <= MOST_COMPILED:
        slope, curvature = kernels.logistic_moments(weight, ones, score, list(terms))
        return slope, curvature.reshape(len(terms), -1)
    from scipy.special import expit

    chance = expit(score)
    spread = weight * chance
    slope = _slope(terms, spread - ones)
    return slope, curvature_of(terms, spread * (1 - chance))


def _slope(terms: Terms, excess: Floats) -> Floats:
    if isinstance(terms, np.ndarray):
        return np.asarray(terms @ excess)
    return np.array([_dot(term, excess) for term in terms])


def _dot(term: Floats | None, values: Floats) -> float:
    return float(values.sum() if term is None else term @ values)


def curvature_of(terms: Terms, spread: Floats) -> Floats:
    """Products of all pairs of terms, added up with the spread of each row."""
    if isinstance(terms, np.ndarray):
        root = terms * np.sqrt(spread)
        return np.asarray(root @ root.T)
    size = len(terms)
    curvature = np.empty((size, size))
    for i, first in enumerate(terms):
        weighted = spread if first is None else first * spread
        for j, second in enumerate(terms[: i + 1]):
            curvature[i, j] = curvature[j, i] = _dot(second, weighted)
    return curvature


def platt_targets(joint: Joint) -> tuple[float, float]:
    """Targets of Platt for outcomes 0 and 1: the rule of succession for each class."""
    scale = joint.row_count / joint.total
    events = float(joint.positives.sum())
    ones, zeros = events * scale, max(0.0, joint.total - events) * scale
    return 1 / (zeros + 2), (ones + 1) / (ones + 2)


def one_class(joint: Joint) -> bool:
    """Whether only one outcome was seen."""
    ones = float(joint.positives.sum())
    return ones <= 0 or not (joint.positives < joint.weight).any()


def separated(joint: Joint) -> bool:
    """Whether a threshold parts the outcomes, so that the best slope is infinite."""
    first_zero, last_zero = _ends(joint.positives < joint.weight)
    first_one, last_one = _ends(joint.positives > 0)
    return last_zero <= first_one or last_one <= first_zero


def _ends(mask: Flags) -> tuple[int, int]:
    """First and last index at which the mask is set."""
    return int(mask.argmax()), mask.size - 1 - int(mask[::-1].argmax())

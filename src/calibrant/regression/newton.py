"""Newton's method for a convex loss of coefficients within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import ConvergenceError

MOST_STEPS = 200
# The loss that one more step would gain; the step that is taken then squares it.
ENOUGH = 1e-12
# Below this gain a short step needs no check of the loss.
NEAR, SMALL = 1e-6, 0.05
# Losses that differ by no more are the same.
ROUNDING = 1e-15
# The first step moves no log-odds by more, because far from the optimum the curvature says little.
MOST_MOVE = 8.0
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
        self._moved, self._most_move = 0.0, MOST_MOVE

    @cached_property
    def _mean_square(self) -> Floats:
        return self.loss.mean_square()

    def added_to(self, curvature: Floats) -> Floats:
        return curvature + self.strength * self._mean_square if self.strength else curvature

    def allows(self, step: Floats) -> bool:
        """Whether no row's log-odds move too far."""
        self._moved = self.loss.farthest(step)
        return self._moved <= self._most_move

    def rise(self, gain: float) -> None:
        """Hold steps shorter, after one that went too far or uphill."""
        if not self.strength:
            self._least = FIRST_DAMPING * abs(gain) / max(self._moved, SMALL) ** 2
        self.strength = max(10 * self.strength, self._least)

    def fall(self) -> None:
        """Let the next step go twice as far, after one downhill."""
        self._most_move *= 2
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
        room = np.where(more > 0, high - there, np.where(more < 0, there - low, np.inf))
        met = free & (np.abs(more) >= room - AT_BOUND)
        if met.any():
            share = np.divide(room, np.abs(more), out=np.full_like(at, np.inf), where=met)
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
        held = curvature + np.diag(ridge * diagonal + 1e-18)
        step = -np.linalg.solve(held, slope)
        if slope @ step <= 0:
            break
    return np.asarray(step)

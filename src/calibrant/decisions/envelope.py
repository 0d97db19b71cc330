"""Which action is best at which probability: the upper envelope of payoff lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Best actions by probability, and the kinks between them.

    An action pays (1 - p) u0 + p u1 on average: a line in p of slope u1 - u0. A kink is a
    probability at which actions tie: where the best one changes, and also 0 and 1, where a line
    may touch the best one that is worse everywhere else.
    """

    action: Indices
    """The best action on each stretch of probabilities; of equal ones the first."""
    kink: Floats
    """0, the thresholds between the stretches, 1."""
    low: Floats
    """Slope below each kink; at 0 the smallest among the actions that tie there."""
    high: Floats
    """Slope above each kink; at 1 the largest among the actions that tie there."""
    first: Indices
    """The action that was named first of those that tie at each kink."""
    last: Indices
    """The one that was named last."""
    radius: Floats
    """How close to a kink a probability counts as being on it."""

    @property
    def threshold(self) -> Floats:
        """Where the best action changes."""
        return self.kink[1:-1]

    def best(self, probability: Floats, ties: str) -> Indices:
        """Find the best action at each probability; where some tie, the first or last named."""
        chosen = self.action[np.searchsorted(self.threshold, probability, side="right")]
        near = nearest(self.kink, probability)
        tied = np.abs(probability - self.kink[near]) <= self.radius[near]
        return np.where(tied, (self.first if ties == "first" else self.last)[near], chosen)

    def kinks_on(self, prediction: Floats) -> Floats:
        """Move kinks to the nearest level where one is within the radius."""
        level = prediction[nearest(prediction, self.kink)]
        return np.where(np.abs(level - self.kink) <= self.radius, level, self.kink)


def nearest(points: Floats, wanted: Floats) -> Indices:
    """Index of the nearest of some ascending points."""
    after = np.minimum(np.searchsorted(points, wanted), points.size - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(wanted - points[before]) < np.abs(points[after] - wanted), before, after)


def envelope_of(
    payoffs: Floats, tolerance: float, threshold: Floats | None = None
) -> tuple[Envelope, npt.NDArray[np.bool_]]:
    """Find the envelope of payoffs u[action, outcome], and which actions are never best.

    `threshold` gives the thresholds of actions that are known to be best in the order given:
    computing them again from the payoffs would change their last digits.
    """
    if threshold is None:
        action, threshold = _walk(payoffs)
    else:
        action = np.arange(threshold.size + 1)
    kink = np.concatenate([[0.0], threshold, [1.0]])
    slope = payoffs[:, 1] - payoffs[:, 0]
    slack = tolerance * float(np.ptp(payoffs[action], axis=0).max())
    # A line comes closest to the envelope at the kinks whose slopes surround its own.
    closest = np.stack([np.searchsorted(slope[action], slope, side) for side in ("left", "right")])
    best = action[np.minimum(closest, action.size - 1)]
    gaps = _expected(payoffs[best], kink[closest]) - _expected(payoffs, kink[closest])
    tied = np.asarray(gaps <= slack)
    # The best lines touch their own kinks, whatever rounding did to their slopes.
    tied[:, action] = True
    closest[:, action] = np.arange(action.size), np.arange(1, action.size + 1)
    ties_at = closest[tied]
    named = np.broadcast_to(np.arange(len(payoffs)), tied.shape)[tied]
    first, last = np.full(kink.size, len(payoffs)), np.full(kink.size, -1)
    np.minimum.at(first, ties_at, named)
    np.maximum.at(last, ties_at, named)
    envelope = Envelope(
        action,
        kink,
        np.append(slope[named[ties_at == 0]].min(), slope[action]),
        np.append(slope[action], slope[named[ties_at == action.size]].max()),
        first,
        last,
        np.concatenate([[0.0], tolerance * threshold, [0.0]]),
    )
    return envelope, ~np.asarray(tied.any(axis=0))


def _expected(payoffs: Floats, probability: Floats) -> Floats:
    return payoffs[..., 0] * (1 - probability) + payoffs[..., 1] * probability


def _walk(payoffs: Floats) -> tuple[Indices, Floats]:
    """Follow the best action from probability 0 to 1: stretches and thresholds between them."""
    if_not, if_so = payoffs.T
    start = np.flatnonzero(if_not == if_not.max())
    actions = [int(start[np.argmax(if_so[start])])]
    thresholds = [0.0]
    while True:
        lost = if_not[actions[-1]] - if_not
        gained = if_so - if_so[actions[-1]]
        steeper = np.flatnonzero(lost + gained > 0)
        if not steeper.size:
            break
        crossing = lost[steeper] / (lost[steeper] + gained[steeper])
        soonest = steeper[crossing == crossing.min()]
        if crossing.min() >= 1:
            break
        steepest = int(soonest[np.argmax(if_so[soonest])])
        if crossing.min() <= thresholds[-1]:  # three lines meet, to rounding
            actions[-1] = steepest
        else:
            actions.append(steepest)
            thresholds.append(float(crossing.min()))
    return np.array(actions), np.array(thresholds[1:])

"""Intervals that need the noise of the whole joint distribution: of forecasts, not of biases alone.

The loss against monotone recalibration and the lower distance are suprema of means, but of means
that also depend on how often each forecast was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices, in_parts
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import (
    ConfidenceInterval,
    find_interval,
    interval_between,
    upper_quantile,
)
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.measures.smooth import mover_batch, smooth_calibration_error

# Thresholds and cuts are looked at between so many cells of about equal weight.
CELLS = 128
NARROW_CELLS = 2**10


def loss_interval(
    evidence: Evidence, statistic: Statistic, settings: Settings
) -> ConfidenceInterval:
    """Interval of the decision loss against monotone recalibration.

    For threshold t the loss is the largest mean of (y - t) over forecasts between t and a cut, up
    to its sign; over all tasks with payoffs in [0, 1] it is the concave majorant at 1/2 of twice
    that. Both are suprema, so sample and population differ by at most the same functional of noise.
    """
    joint = evidence.joint
    cell = _cells(joint)
    last = np.flatnonzero(np.diff(cell, append=cell[-1] + 1))[:-1]
    cut = np.concatenate([[0.0], (joint.prediction[last] + joint.prediction[last + 1]) / 2, [1.0]])
    found = []
    for mass, ones in _noise(evidence, settings, cell):
        found.append(_majorants(cut, mass, ones))
    half_width = upper_quantile(np.concatenate(found), settings.confidence)
    half_width *= evidence.widening(1 - settings.confidence)
    value = statistic.value(evidence.full_joint)
    highest = 1.0 if statistic.options.get("payoffs", "unit") == "unit" else 2.0
    return interval_between(
        evidence, statistic, settings, value, value - half_width, value + half_width, highest
    )


def _majorants(cut: Floats, mass: Floats, ones: Floats) -> Floats:
    """Concave majorants at 1/2 of twice the largest noise at each threshold, one for each draw."""
    walks = [
        np.concatenate([np.zeros((len(part), 1)), np.cumsum(part, axis=1)], axis=1)
        for part in (ones, mass)
    ]
    top = np.zeros_like(walks[0])
    for index, threshold in enumerate(cut):
        path = walks[0] - threshold * walks[1]
        top[:, index] = 2 * np.abs(path - path[:, [index]]).max(axis=1)
    low, high = np.flatnonzero(cut <= 1 / 2), np.flatnonzero(cut >= 1 / 2)
    best = np.zeros(len(top))
    for left in low:
        width = np.maximum(cut[high] - cut[left], 1e-300)
        share = np.where(cut[high] > cut[left], (1 / 2 - cut[left]) / width, 1.0)
        between = top[:, [left]] * (1 - share) + top[:, high] * share
        np.maximum(best, between.max(axis=1), out=best)
    return best


def distance_interval(
    evidence: Evidence, statistic: Statistic, settings: Settings
) -> ConfidenceInterval:
    """Interval of the lower distance: the better of two, each with half of the level.

    Through the smooth error: from half of its lower end to twice its upper end. And directly: the
    distance is a supremum of means of (y - p) w(p) + h(p), with w of slope 2 and within [-1, 1],
    and h of slope 2. So it moves by at most the earth mover's norm of the noise of biases and twice
    the distance that the noise of forecasts moves.
    """
    half = Settings.read(
        confidence=(1 + settings.confidence) / 2, draws=settings.draws, rng=settings.rng
    )
    smooth = find_interval(evidence, Statistic.of(smooth_calibration_error), half)
    levels = evidence.joint
    # Tests of slope 2 hardly vary within so narrow cells.
    joint = levels.rounded(NARROW_CELLS) if len(levels) > NARROW_CELLS else levels
    gaps = np.diff(joint.prediction)
    found = []
    for mass, ones in _noise(evidence, half, level_of(levels.prediction, joint)):
        distance = np.abs(np.cumsum(mass, axis=1)[:, :-1]) @ gaps
        biases = mover_batch(joint, np.ascontiguousarray(ones - mass * joint.prediction))
        found.append(biases + 2 * distance)
    half_width = upper_quantile(np.concatenate(found), half.confidence)
    half_width *= evidence.widening(1 - half.confidence)
    value = statistic.value(evidence.full_joint)
    low, high = max(smooth.low / 2, value - half_width), min(2 * smooth.high, value + half_width)
    return interval_between(evidence, statistic, settings, value, low, high)


def _cells(joint: Joint) -> Indices:
    """Cell of each level, cells of about equal weight in the order of the levels."""
    middle = np.cumsum(joint.mass) - joint.mass / 2
    cell = np.minimum((middle * CELLS).astype(np.intp), CELLS - 1)
    return np.unique(cell, return_inverse=True)[1]


def _noise(
    evidence: Evidence, settings: Settings, cell: Indices
) -> Iterator[tuple[Floats, Floats]]:
    """Noise of the mass and of the events in cells of levels, a row for each draw.

    Each row (or cluster) times a standard normal number, less the mean, as for biases; where few
    events were seen z^2 more are mixed in, as in Wilson's interval.
    """
    from scipy.special import ndtri

    joint, rng = evidence.joint, settings.rng
    count = int(cell[-1]) + 1
    mass = np.bincount(cell, joint.mass, count)
    ones = np.bincount(cell, joint.mass * joint.outcome, count)
    hidden = float(ndtri((1 + settings.confidence) / 2)) * evidence.unit * np.sqrt(mass)
    cases = evidence.cases()
    index = 2 * cell[level_of(cases.prediction, joint)] + (cases.outcome == 1)
    for sums in _drawn(cases, index, 2 * count, settings.draws, rng):
        drawn = sums / joint.total
        events, every = drawn[:, 1::2], drawn[:, ::2] + drawn[:, 1::2]
        mean = every.sum(axis=1, keepdims=True)
        extra = hidden * rng.standard_normal(events.shape)
        yield every - mean * mass, events - mean * ones + extra


def _drawn(
    cases: Any, index: Indices, size: int, draws: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Draw sums over cells of weights times normal numbers, one for each row or cluster."""
    if cases.cluster is None:
        deviation = np.sqrt(np.bincount(index, cases.square, size))
        for count in in_parts(draws, size):
            yield rng.standard_normal((count, size)) * deviation
        return
    from scipy.sparse import coo_array

    clusters = int(cases.cluster.max()) + 1
    sums = coo_array((cases.weight, (cases.cluster, index)), shape=(clusters, size)).tocsr()
    scale = np.sqrt(clusters / max(clusters - 1, 1))
    for count in in_parts(draws, max(clusters, size)):
        yield np.ascontiguousarray((sums.T @ (scale * rng.standard_normal((clusters, count)))).T)

"""Isotonic recalibration of means, quantiles and expectiles: exact, in O(n log n).

The increasing function g of the forecast that has the least mean loss is the same for every loss
that is consistent for the property: g is at most c on the longest run of least forecasts whose
residuals at c have the least sum (Jordan, Muehlemann, Ziegel 2022). So one pass over the rows, with
c the middle of the outcomes, cuts the forecasts into those with g <= c and those with g > c, which
do not know of each other any more; as many passes as the logarithm of the number of outcomes find
the outcome at which g lies, or the two neighbouring ones that it lies between. Quantiles are done
then. Residuals of expectiles are linear between neighbours, which makes g a weighted mean there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Flags, Floats, Indices
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.kinds import Kind

# Sums of residuals that differ by less than this share of all weight are equal: a level such as
# 0.9 is no double, and its multiples must not decide ties.
SAME_SUM = 1e-12


@dataclass(frozen=True, slots=True)
class IsotonicFit:
    """Recalibrated forecasts, by level."""

    forecast: Floats
    """The distinct forecasts, ascending."""
    value: Floats
    """What each becomes; never decreasing."""
    level: Indices
    """Level of each row."""

    @property
    def at_rows(self) -> Floats:
        """What the forecast of each row becomes."""
        return self.value[self.level]

    @property
    def pools(self) -> int:
        """How many different values there are."""
        return 1 + int(np.count_nonzero(np.diff(self.value)))


def isotonic_fit(forecasts: Rows) -> IsotonicFit:
    """Find the increasing function of the forecast that has the least mean loss.

    Rows without weight have no say. Of quantiles that are equally good it takes the least, as
    `Quantile.best` does.
    """
    kind = forecasts.kind
    if kind.has_ends:
        raise InvalidOptionError(
            "isotonic recalibration is for means, quantiles and expectiles",
            "intervals",
            "recalibrate each end as a quantile",
        )
    weight = forecasts.weights
    forecast, level = np.unique(forecasts.prediction, return_inverse=True)
    weighted = np.bincount(level, weight, forecast.size) > 0
    rows = np.flatnonzero(weight > 0)
    # Equal forecasts in the order of outcomes: sums do not depend on the order of rows.
    rows = rows[np.lexsort((weight[rows], forecasts.outcome[rows], level[rows]))]
    outcome, weight = forecasts.outcome[rows], weight[rows]
    first = np.flatnonzero(np.diff(level[rows], prepend=-1))
    if kind.chance is None and kind.side == 0.5:
        value = _means(outcome, weight, first)
    else:
        value = _by_halving(kind, outcome, weight, first)
    if (
        not weighted.all()
    ):  # Levels without weight take the value of the level before, or the first.
        known = np.maximum(np.cumsum(weighted) - 1, 0)
        value = value[known]
    return IsotonicFit(forecast, value, level)


def _means(outcome: Floats, weight: Floats, first: Indices) -> Floats:
    """Pool adjacent violators, by level."""
    total = np.add.reduceat(weight, first)
    # Sums of residuals keep digits that sums of outcomes far from 0 would lose.
    middle = float(weight @ outcome / weight.sum())
    sums = np.add.reduceat(weight * (outcome - middle), first)
    start = kernels.isotonic_pools(total, sums)
    means = np.add.reduceat(sums, start) / np.add.reduceat(total, start) + middle
    return np.repeat(means, np.diff(np.append(start, total.size)))


def _by_halving(kind: Kind, outcome: Floats, weight: Floats, first: Indices) -> Floats:
    """Cut levels at the middle of the outcomes that are left to them until one is left."""
    outcomes = np.unique(outcome)
    of_row = np.repeat(np.arange(first.size), np.diff(np.append(first, outcome.size)))
    low = np.zeros(first.size, dtype=np.intp)
    high = np.full(first.size, outcomes.size - 1)
    while (low < high).any():
        middle = (low + high) // 2
        residual = weight * kind.residuals(outcomes[middle[of_row]], outcome)
        below = _at_most(np.add.reduceat(residual, first), low, float(np.abs(residual).sum()))
        high = np.where(below, middle, high)
        low = np.where(below | (low == high), low, middle + 1)
    if kind.chance is not None:
        return np.asarray(outcomes[low])
    # Outcomes from this one on are above g, all others below. Blocks with other outcomes need no
    # pooling with each other, so that one call serves all.
    side = np.where(outcome >= outcomes[low[of_row]], kind.side, 1 - kind.side)
    return _means(outcome, weight * side, first)


def _at_most(sums: Floats, block: Indices, scale: float) -> Flags:
    """Mark, in each block of levels, the longest run from its start that has the least sum."""
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    size = np.diff(np.append(starts, block.size))
    total = np.cumsum(sums)
    total -= np.repeat(total[starts] - sums[starts], size)
    least = np.minimum(np.minimum.reduceat(total, starts), 0.0)
    rank = np.arange(1, block.size + 1)
    good = total <= np.repeat(least, size) + SAME_SUM * scale
    last = np.maximum.reduceat(np.where(good, rank, 0), starts)
    return np.asarray(rank <= np.repeat(last, size))

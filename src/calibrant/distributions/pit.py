"""Probability integral transforms: uniform if distributions are right; histogram and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, in_parts
from calibrant._base.notebook import brief, card
from calibrant._base.words import count_text, percent_text, pvalue_text
from calibrant.inference import MOST_OUTCOMES_DRAWN

# Terms of the series of Kuiper's distribution; the next one is below rounding.
TERMS = 40
# Sums of the same shares in another order differ by less.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PitTest:
    """Whether transforms are uniform, as those of right distributions are."""

    statistic: float
    """Kuiper's: the largest difference between the share of transforms in a range and its width."""
    low: float
    high: float
    """The range in which the difference is largest."""
    share: float
    """Share of the transforms in that range."""
    pvalue: float
    exact: bool
    """Whether the p-value has exactly its level, rather than that of very many rows."""
    rows: int
    draws: int | None = None
    """Simulations behind the p-value; None where a formula gave it."""

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        return card(self.sentence)

    @property
    def sentence(self) -> str:
        """Say whether distributions look right, and where they do not."""
        details = f"{pvalue_text(self.pvalue, self.draws)}, {count_text(self.rows, 'row')}"
        if self.pvalue > 0.05:
            return f"No sign that the distributions are wrong ({details})."
        return (
            f"The distributions are wrong: {percent_text(self.share)} of outcomes fall where "
            f"{percent_text(self.high - self.low)} should, between their levels {self.low:.2f} "
            f"and {self.high:.2f} ({details})."
        )


@dataclass(frozen=True, slots=True)
class PitHistogram:
    """Share of transforms in bins of equal width, and where those of right distributions lie."""

    edges: Floats
    share: Floats
    """Share of the rows in each bin."""
    expected: float
    """Share of right distributions: one over the number of bins."""
    low: float
    high: float
    """All bins of right distributions lie between these two with the confidence given."""
    confidence: float
    rows: int

    def __repr__(self) -> str:
        return brief(self)

    @property
    def beyond(self) -> tuple[int, ...]:
        """Bins that right distributions would probably not have, counted from 0."""
        return tuple(np.flatnonzero((self.share < self.low) | (self.share > self.high)).tolist())


def kuiper(value: Floats, share: Floats) -> tuple[float, float, float, float]:
    """Kuiper's statistic of weighted values in [0, 1]: value, the range behind it, its share."""
    order = np.argsort(value, kind="stable")
    at, upto = value[order], np.cumsum(share[order])
    before = np.append(0.0, upto[:-1])
    above, below = int(np.argmax(upto - at)), int(np.argmax(at - before))
    most, least = float(upto[above] - at[above]), float(at[below] - before[below])
    low, high = sorted((float(at[above]), float(at[below])))
    # More values than there should be between the two if the excess is reached at the end.
    inside = float(share[(value >= low) & (value <= high)].sum())
    if at[above] < at[below]:
        inside = float(share[(value > low) & (value < high)].sum())
    return max(most, 0.0) + max(least, 0.0), low, high, inside


def kuiper_pvalue(
    statistic: float, share: Floats, draws: int, rng: np.random.Generator
) -> tuple[float, bool]:
    """Chance of as large a statistic of uniform values, by draws where these are not too many.

    Of very many rows by the series of Kuiper (1960) with the correction of Stephens (1970).
    """
    size = share.size
    if size * draws > MOST_OUTCOMES_DRAWN:
        rows = np.sqrt(1 / float(share @ share))
        z = (rows + 0.155 + 0.24 / rows) * statistic
        j = np.arange(1, TERMS)
        tail = float(2 * ((4 * j**2 * z**2 - 1) * np.exp(-2 * j**2 * z**2)).sum())
        return (1.0 if z < 0.4 else float(np.clip(tail, 0, 1))), False
    equal = bool((share == share[0]).all())
    # Which weight comes where is as random as the values, whatever the order of the rows.
    weight = np.sort(share)
    reached = 0
    for count in in_parts(draws, size):
        drawn = rng.random((count, size))
        if equal:
            drawn.sort(axis=1)
            upto = np.arange(1, size + 1) / size
        else:
            order = np.argsort(drawn, axis=1)
            drawn = np.take_along_axis(drawn, order, axis=1)
            upto = np.cumsum(weight[order], axis=1)
        before = upto - (1 / size if equal else weight[order])
        found = (upto - drawn).max(axis=1) + (drawn - before).max(axis=1)
        reached += int((found >= statistic - ROUNDING).sum())
    return (reached + 1) / (draws + 1), True


def band_of_bins(
    share: Floats, bins: int, confidence: float, draws: int, rng: np.random.Generator
) -> float:
    """Distance from the even share that all bins of uniform values stay within together."""
    size = share.size
    if (share == share[0]).all():
        drawn = rng.multinomial(size, np.full(bins, 1 / bins), draws) / size
    elif size * draws > MOST_OUTCOMES_DRAWN:
        normal = rng.standard_normal((draws, bins)) * np.sqrt(float(share @ share) / bins)
        drawn = 1 / bins + normal - normal.mean(axis=1, keepdims=True)
    else:
        weight = np.sort(share)
        parts = []
        for count in in_parts(draws, size):
            cell = rng.integers(0, bins, (count, size)) + bins * np.arange(count)[:, np.newaxis]
            spread = np.broadcast_to(weight, cell.shape).ravel()
            parts.append(np.bincount(cell.ravel(), spread, bins * count).reshape(count, bins))
        drawn = np.concatenate(parts)
    farthest = np.sort(np.abs(drawn - 1 / bins).max(axis=1))
    rank = int(np.ceil(confidence * (draws + 1)))
    # Shares of the rows are multiples of one another: one on the limit is not beyond it.
    return float(farthest[rank - 1]) + ROUNDING if rank <= draws else 1.0

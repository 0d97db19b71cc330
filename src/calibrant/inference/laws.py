"""How residuals vary if the forecasts are right: the null law of a kind of forecast.

Three laws serve every kind. Outcomes of right probabilities are coins of the forecasts; whether an
outcome lies below a right quantile, or inside a right interval, is a coin of the level; of other
residuals only the mean is known, so they are kept and multiplied by random numbers. A law also
says how the rows of a level are stored: added up by weight, or each with its residual mass, which
is its weight times its residual as a share of all weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calibrant.arrays import NUMBERS_IN_CACHE, Floats, Indices, in_parts
from calibrant.data.rows import Rows
from calibrant.inference.cases import widening
from calibrant.inference.cluster_charges import Clusters
from calibrant.inference.coins import DRAWN_AT_ONCE, Coins
from calibrant.inference.slope_and_shape import CLUSTERED_SHAPE, SHAPE, SLOPE, line_scores
from calibrant.inference.statistic import Statistic, charges_of
from calibrant.joint import Joint
from calibrant.joint.draws import draw_positives, refuse_mean_outcomes
from calibrant.joint.sums import level_of
from calibrant.kinds import Kind
from calibrant.regions import noise_of_coins

if TYPE_CHECKING:
    from calibrant.inference.evidence import Evidence

# Rows of different weights are redrawn one by one up to this many numbers; then by the level.
MOST_COINS_DRAWN = 2**25
# The larger of the two numbers that residuals are multiplied by under the null hypothesis.
GOLDEN = (1 + 5**0.5) / 2
Spreads = tuple[Floats, Floats, float]
"""Squared residuals and residuals, times w^2 / W^2, per level; and the sum of w^2 / W^2."""


@dataclass(frozen=True, slots=True)
class RowResiduals:
    """Residual mass of each row, in the order of the levels."""

    level: Indices
    mass: Floats
    """Residual of each row times its weight, as a share of all weight."""
    share: Floats
    """Share of the weight that each row has."""


class NullLaw(Protocol):
    """How residuals vary if the forecasts are right."""

    def refuse(self, given: Joint) -> None:
        """Refuse outcomes that the law does not fit."""
        ...

    def of_levels(self, given: Joint, joint: Joint) -> Any:
        """Store rows that a Joint holds all of; None where the rows are needed."""
        ...

    def of_rows(self, rows: Rows, joint: Joint, level: Indices) -> Any:
        """Store the rows of each level."""
        ...

    def by_cluster(self, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residual mass by cluster and level."""
        ...

    def on_cells(self, evidence: Evidence, cells: int) -> Evidence:
        """Draw the same rows on fewer levels."""
        ...

    def widening(self, evidence: Evidence, level: float) -> float:
        """Factor by which noise of few rows is too narrow."""
        ...

    def exact(self, evidence: Evidence, draws: int) -> bool:
        """Whether draws have exactly the distribution of right forecasts."""
        ...

    def spreads(self, evidence: Evidence) -> Spreads:
        """Add up what rows vary by."""
        ...

    def variance(self, evidence: Evidence) -> Floats:
        """Variance of each level's residual mass if forecasts are right."""
        ...

    def missing_spread(self, evidence: Evidence) -> Floats | None:
        """Variance that clusters must have beyond what the sample shows."""
        ...

    def gaps(self, evidence: Evidence, pooled: Joint, first: Indices) -> tuple[Floats, Floats]:
        """Gaps of ranges of forecasts, and their variance; the first level of each range."""
        ...

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Variance of the sum of residuals at each given level, and the most a row may add."""
        ...

    def tests(self, evidence: Evidence) -> tuple[Statistic, Statistic]:
        """Statistics of the default test that see slope and intercept, and shape."""
        ...

    def draw(self, evidence: Evidence, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Residual mass of right forecasts, rows independent."""
        ...

    def multipliers(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Random numbers that the residual mass of clusters is multiplied by."""
        ...


class CoinsOfForecasts:
    """Outcome 1 has the chance that was forecast: rows of a level and weight are one binomial."""

    def refuse(self, given: Joint) -> None:
        """Refuse mean outcomes, which are no coins."""
        refuse_mean_outcomes(given)

    def of_levels(self, given: Joint, joint: Joint) -> Coins | None:
        """Add up levels, where rows of one level weigh the same; None where they do not."""
        return Coins.of_levels(given, joint)

    def of_rows(self, rows: Rows, joint: Joint, level: Indices) -> Coins:
        """Add up rows by level and weight."""
        return Coins.of_rows(rows, joint, level)

    def by_cluster(self, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residuals times weight, divided by the total weight."""
        return Clusters.of_rows(rows, joint, level, labels)

    def on_cells(self, evidence: Evidence, cells: int) -> Evidence:
        """Round the forecasts."""
        return evidence.of_joint(evidence.given.rounded(cells))

    def widening(self, evidence: Evidence, level: float) -> float:  # noqa: ARG002
        """Return 1: the spread of coins is known."""
        return 1.0

    def exact(self, evidence: Evidence, draws: int) -> bool:
        """Whether coins can be redrawn one by one."""
        coins = evidence.parts
        if coins is None:
            return False
        return bool(
            coins.level.size == len(evidence.joint) or coins.level.size * draws <= MOST_COINS_DRAWN
        )

    def spreads(self, evidence: Evidence) -> Spreads:
        """Add up what rows vary by, as if levels were of one weight where rows are not known."""
        joint = evidence.joint
        if evidence.parts is not None:
            return evidence.parts.spreads(joint)  # type: ignore[no-any-return]
        v, squares = joint.prediction, joint.weight_squares / joint.total**2
        ones, zeros = joint.outcome, 1 - joint.outcome
        return (
            squares * (ones * (1 - v) ** 2 + zeros * v**2),
            squares * (ones * (1 - v) - zeros * v),
            float(squares.sum()),
        )

    def variance(self, evidence: Evidence) -> Floats:
        """Variance of coins of the forecasts."""
        joint = evidence.joint
        chance = joint.prediction * (1 - joint.prediction)
        return np.asarray(chance * joint.weight_squares / joint.total**2)

    def missing_spread(self, evidence: Evidence) -> Floats:
        """Variance that clusters of coins must have where few events happened."""
        joint, coins = evidence.joint, evidence.parts
        if coins is None:
            return np.zeros(len(joint))
        chance = joint.prediction * (1 - joint.prediction)
        expected = coins.sums((coins.weight / joint.total) ** 2 * coins.rows) * chance
        if not expected.any():
            return np.asarray(expected)
        short = max(0.0, float(expected.sum() - self.spreads(evidence)[0].sum()))
        return np.asarray(expected / expected.sum() * short * evidence.design_effect)

    def gaps(
        self,
        evidence: Evidence,  # noqa: ARG002
        pooled: Joint,
        first: Indices,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        """Gaps of ranges, and the variance of coins of their mean forecasts."""
        variance = pooled.weight_squares / pooled.weight**2 * pooled.prediction
        return pooled.residual, np.asarray(variance * (1 - pooled.prediction))

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Variance of coins of the forecasts, and the largest weight of a row."""
        return noise_of_coins(evidence.given)

    def tests(self, evidence: Evidence) -> tuple[Statistic, Statistic]:
        """Score test of the log-odds, and the likelihood that isotonic regression gains."""
        return SLOPE, SHAPE if evidence.clusters is None else CLUSTERED_SHAPE

    def draw(self, evidence: Evidence, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Redraw outcomes from the forecasts."""
        joint = evidence.joint
        if self.exact(evidence, draws):
            for mass in evidence.parts.redrawn(joint, draws, rng):
                yield from _in_cache(mass)
            return
        for count in in_parts(draws, len(joint), DRAWN_AT_ONCE):
            mass = draw_positives(joint, rng, count)
            mass -= joint.weight * joint.prediction
            mass /= joint.total
            yield from _in_cache(mass)

    def multipliers(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Random signs."""
        return np.asarray(rng.integers(0, 2, size=shape) * 2.0 - 1.0)


@dataclass(frozen=True, slots=True)
class KeptResiduals:
    """Nothing is known of residuals but their mean: they are kept, times random numbers."""

    bounded: bool = False
    """Whether residuals are known to be at most 1: those of means need a range of outcomes."""

    def refuse(self, given: Joint) -> None:
        """Take any outcomes."""

    def of_levels(self, given: Joint, joint: Joint) -> None:
        """Return None: a Joint does not hold how residuals vary."""

    def of_rows(self, rows: Rows, joint: Joint, level: Indices) -> RowResiduals:
        """Keep the residual mass of every row."""
        share, mass = _masses(rows, joint)
        order = np.lexsort((mass, share, level))
        return RowResiduals(level[order], mass[order], share[order])

    def by_cluster(self, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residual mass."""
        share, mass = _masses(rows, joint)
        return Clusters.of_charges(mass, share, level, labels, len(joint))

    def on_cells(self, evidence: Evidence, cells: int) -> Evidence:
        """Put rows of neighbouring levels together."""
        coarse = evidence.joint.rounded(cells)
        level = level_of(evidence.joint.prediction, coarse)[evidence.parts.level]
        return replace(evidence, joint=coarse, parts=replace(evidence.parts, level=level))

    def widening(self, evidence: Evidence, level: float) -> float:
        """Student's quantile over the normal one where nothing bounds residuals.

        Few rows say little about their spread, and a single one nothing.
        """
        return 1.0 if self.bounded else widening(evidence.parts.share, level)

    def exact(self, evidence: Evidence, draws: int) -> bool:  # noqa: ARG002
        """Return False: random multipliers are an approximation."""
        return False

    def spreads(self, evidence: Evidence) -> Spreads:
        """Add up squared residuals."""
        parts, count = evidence.parts, len(evidence.joint)
        return (
            np.asarray(np.bincount(parts.level, parts.mass**2, count), np.float64),
            np.asarray(np.bincount(parts.level, parts.mass * parts.share, count), np.float64),
            float(parts.share @ parts.share),
        )

    def variance(self, evidence: Evidence) -> Floats:
        """Variance that the rows show."""
        return self.spreads(evidence)[0]

    def missing_spread(self, evidence: Evidence) -> None:
        """Return None: nothing is known of what residuals of right forecasts must vary by."""

    def gaps(
        self,
        evidence: Evidence,
        pooled: Joint,  # noqa: ARG002
        first: Indices,
    ) -> tuple[Floats, Floats]:
        """Residual mass of ranges, and the variance that their rows show."""
        charge = np.add.reduceat(charges_of(evidence.joint), first)
        return np.asarray(charge, np.float64), evidence.squared_charges(first)

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Squared residuals at each level, none less than those of all rows are on average.

        Outcomes near the forecasts of a range may all be alike by chance.
        """
        joint, rows = evidence.given, evidence.rows
        assert rows is not None  # noqa: S101  # residuals are known by rows
        mass = np.abs(rows.weights * rows.scaled_residual)
        squares = mass**2
        seen = np.bincount(level_of(rows.position, joint), squares, len(joint))
        usual = squares.sum() / joint.weight_squares.sum()
        return np.maximum(seen, joint.weight_squares * usual), float(mass.max())

    def tests(self, evidence: Evidence) -> tuple[Statistic, Statistic]:
        """Score test of a line over the positions, and the squares that isotonic fits gain."""
        line = line_scores(evidence.joint.prediction, self.variance(evidence))
        return Statistic.charged(SLOPE.name, line), CLUSTERED_SHAPE

    def draw(self, evidence: Evidence, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw by row; where rows are too many, normal numbers stand for the sums of levels."""
        level, size = evidence.parts.level, len(evidence.joint)
        if level.size * draws > MOST_COINS_DRAWN:
            deviation = np.sqrt(self.variance(evidence))
            for count in in_parts(draws, size):
                yield rng.standard_normal((count, size)) * deviation
            return
        first = np.flatnonzero(np.diff(level, prepend=-1))
        for count in in_parts(draws, level.size):
            yield np.asarray(np.add.reduceat(self.redrawn(evidence.parts, count, rng), first, 1))

    def redrawn(self, parts: RowResiduals, count: int, rng: np.random.Generator) -> Floats:
        """Residual mass of each row, times random numbers."""
        return np.asarray(self.multipliers(rng, (count, parts.level.size)) * parts.mass)

    def multipliers(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Draw one of two numbers of mean 0, variance 1 and third moment 1 (Mammen 1993).

        The skewness of the residuals is that of their products. Random signs would be exact for
        symmetric residuals, and reject 11 % instead of 5 % where most outcomes are zero.
        """
        low = rng.random(shape) < (GOLDEN + 1) / (GOLDEN + 2)
        return np.where(low, 1 - GOLDEN, GOLDEN)


@dataclass(frozen=True, slots=True)
class CoinsOfLevel(KeptResiduals):
    """Outcomes lie below a right quantile, or inside a right interval, with one chance."""

    bounded: bool = True
    chance: float = 0.5

    def exact(self, evidence: Evidence, draws: int) -> bool:
        """Whether coins can be redrawn one by one; exact if outcomes are continuous."""
        return bool(evidence.parts.level.size * draws <= MOST_COINS_DRAWN)

    def variance(self, evidence: Evidence) -> Floats:
        """Variance of coins of the level."""
        parts = evidence.parts
        squares = np.bincount(parts.level, parts.share**2, len(evidence.joint))
        return np.asarray(squares * self.chance * (1 - self.chance))

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Variance of coins of the level, and the largest residual of a row."""
        rows = evidence.rows
        assert rows is not None  # noqa: S101  # residuals are known by rows
        most = float(np.abs(rows.weights * rows.scaled_residual).max())
        return evidence.given.weight_squares * self.chance * (1 - self.chance), most

    def redrawn(self, parts: RowResiduals, count: int, rng: np.random.Generator) -> Floats:
        """Residual mass of each row, its outcome drawn anew."""
        below = rng.random((count, parts.level.size)) < self.chance
        return parts.share * (self.chance - below)


COINS_OF_FORECASTS = CoinsOfForecasts()


def law_of(kind: Kind, *, bounded: bool) -> NullLaw:
    """Return the null law of a kind."""
    if kind.summed:
        return COINS_OF_FORECASTS
    return KeptResiduals(bounded) if kind.chance is None else CoinsOfLevel(chance=kind.chance)


def _masses(rows: Rows, joint: Joint) -> tuple[Floats, Floats]:
    """Share of the weight and residual mass of each row."""
    share = rows.weights / joint.total
    return share, share * rows.scaled_residual


def _in_cache(masses: Floats) -> Iterator[Floats]:
    """Hand out many draws, few at a time."""
    first = 0
    for count in in_parts(len(masses), masses.shape[1], NUMBERS_IN_CACHE):
        yield masses[first : first + count]
        first += count

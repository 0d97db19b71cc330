"""How residuals vary if the forecasts are right: the null law of a kind of forecast.

Three laws serve every kind. Outcomes of right probabilities are Bernoulli with the forecast as
probability; whether an outcome lies below a right quantile, or inside a right interval, is
Bernoulli with the level as probability; of other residuals only the mean is known, so they are
kept and multiplied by random numbers. A law also
says how the rows of a level are stored: added up by weight, or each with its residual mass, which
is its weight times its residual as a share of all weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import NUMBERS_IN_CACHE, Floats, Indices, in_parts
from calibrant.data.rows import Rows
from calibrant.inference.cases import widening
from calibrant.inference.slope_and_shape import CLUSTERED_SHAPE, SHAPE, SLOPE, line_scores
from calibrant.inference.statistic import Statistic, residual_mass_of
from calibrant.joint import Joint
from calibrant.joint.draws import draw_binomials, draw_positives, exact_levels, refuse_mean_outcomes
from calibrant.joint.sums import level_of
from calibrant.kinds import Kind
from calibrant.measures.regions import bernoulli_noise

if TYPE_CHECKING:
    from calibrant.inference.evidence import Evidence


# Redrawing prepares every level before it draws: so many numbers make up for it.
DRAWN_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class BinomialCounts:
    """Rows of one level and one weight, in the order of the levels."""

    level: npt.NDArray[np.intp]
    weight: Floats
    rows: npt.NDArray[np.int64]
    positives: Floats

    @classmethod
    def grouped(
        cls,
        level: npt.NDArray[np.intp],
        weight: Floats,
        rows: npt.NDArray[np.int64],
        positives: Floats,
    ) -> BinomialCounts:
        """Add up entries with the same level and weight."""
        order = np.lexsort((weight, level))
        level, weight = level[order], weight[order]
        heavier = ~np.isclose(weight[1:], weight[:-1], rtol=1e-12, atol=0)
        first = np.flatnonzero(np.append(True, (np.diff(level) > 0) | heavier))
        return cls(
            level[first],
            weight[first],
            np.add.reduceat(rows[order], first),
            np.add.reduceat(positives[order], first),
        )

    @classmethod
    def of_rows(cls, rows: Rows, joint: Joint, level: npt.NDArray[np.intp]) -> BinomialCounts:
        """Add up rows by level and weight; no level is empty."""
        outcome = np.asarray(rows.outcome, dtype=np.float64)
        if rows.weight is not None:
            return cls.grouped(level, rows.weight, np.ones(level.size, np.int64), outcome)
        size = len(joint)
        ones = np.bincount(level, outcome, size).astype(np.float64)
        return cls(np.arange(size), np.ones(size), np.bincount(level, minlength=size), ones)

    def sums(self, entries: Floats) -> Floats:
        """Add up over the counts of each level, along the last axis."""
        first = np.flatnonzero(np.diff(self.level, prepend=-1))
        return np.asarray(np.add.reduceat(entries, first, axis=-1))

    @classmethod
    def of_levels(cls, full_joint: Joint, joint: Joint) -> BinomialCounts | None:
        """Add up levels, where rows of one level weigh the same; None where they do not."""
        if all(part is full_joint.rows for part in (full_joint.weight, full_joint.weight_squares)):
            ones = np.ones(len(joint))
            return cls(np.arange(len(joint)), ones, joint.rows.astype(np.int64), joint.positives)
        if not exact_levels(full_joint).all():
            return None
        each = full_joint.weight / full_joint.rows
        rows, ones = full_joint.rows.astype(np.int64), np.rint(full_joint.positives / each)
        if joint is full_joint:
            return cls(np.arange(len(full_joint)), each, rows, ones)
        return cls.grouped(level_of(full_joint.prediction, joint), each, rows, ones)

    def redrawn(self, joint: Joint, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Residual masses of perfect forecasts on the levels of a Joint, many draws at once."""
        chance = joint.prediction[self.level]
        for count in in_parts(draws, self.level.size, DRAWN_AT_ONCE):
            residual_masses = draw_binomials(self.rows, chance, count, rng)
            residual_masses -= self.rows * chance
            residual_masses *= self.weight / joint.total
            yield self.sums(residual_masses) if self.level.size > len(joint) else residual_masses

    def spreads(self, joint: Joint) -> tuple[Floats, Floats, float]:
        """Add up squared residuals and residuals, times w^2 / W^2, per level, and w^2 / W^2."""
        v = joint.prediction[self.level]
        squares = (self.weight / joint.total) ** 2
        zeros = self.rows - self.positives
        return (
            self.sums(squares * (self.positives * (1 - v) ** 2 + zeros * v**2)),
            self.sums(squares * (self.positives * (1 - v) - zeros * v)),
            float(squares @ self.rows),
        )


# Normal numbers of more clusters than this are drawn as their sums, if there are few levels.
MANY_CLUSTERS, FEW_LEVELS = 2**14, 2**9
# Beyond so many rows in more clusters and levels than that, clusters are drawn in so many blocks,
# or in fewer, as many as there are rows to a level, but never so few that noise were ill known.
MANY_ROWS, BLOCKS, FEWEST_BLOCKS = 2**21, 2**12, 2**9
# Whole numbers are looked up in a table of at most so many entries per row.
SPREAD = 4


@dataclass(frozen=True, slots=True)
class Clusters:
    """Residuals added up by cluster and level.

    Very many clusters are put together in blocks, by number: clusters are independent, so blocks
    are, and sums over them have the same variance. It is only known a little less well, as from
    512 to 4096 clusters. Blocks are without their part of the mean, which would grow with their
    size if forecasts are off.
    """

    residual_mass: Any
    """Matrix, perhaps sparse, with a row per cluster or block and a column per level."""
    in_blocks: bool
    """Whether rows of that matrix are blocks, without their part of the mean."""
    share: Floats
    """Share of the weight that each cluster has."""
    code: Indices
    """Number of the cluster of each row."""

    @classmethod
    def of_rows(cls, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residuals times weight, divided by the total weight."""
        code, count = numbered(labels)
        share = _shares(code, rows, count)
        return cls._of_codes(rows, joint, level, code, share)

    def on_levels(self, rows: Rows, joint: Joint, level: Indices) -> Clusters:
        """Add up residuals of the same rows on other levels."""
        return self._of_codes(rows, joint, level, self.code, self.share)

    @classmethod
    def of_residual_mass(
        cls, residual_mass: Floats, share: Floats, level: Indices, labels: Any, levels: int
    ) -> Clusters:
        """Add up residual masses of rows, and the shares of the weight that rows have."""
        code, count = numbered(labels)
        shares = np.bincount(code, share, count).astype(np.float64)
        return cls._added_up(residual_mass, 1.0, level, levels, code, shares)

    @classmethod
    def _of_codes(
        cls, rows: Rows, joint: Joint, level: Indices, code: Indices, share: Floats
    ) -> Clusters:
        residual = rows.outcome - joint.prediction[level]
        if rows.weight is not None:
            residual *= rows.weight
        return cls._added_up(residual, joint.total, level, len(joint), code, share)

    @classmethod
    def _added_up(
        cls,
        residual: Floats,
        total: float,
        level: Indices,
        levels: int,
        code: Indices,
        share: Floats,
    ) -> Clusters:
        many = level.size > MANY_ROWS and share.size > MANY_CLUSTERS
        in_blocks = many and levels >= FEW_LEVELS
        size = share.size
        if in_blocks:
            size = min(BLOCKS, max(FEWEST_BLOCKS, level.size // levels))
        row = code % size if in_blocks else code
        residual_mass = _table(residual, row, level, (size, levels), dense=in_blocks)
        residual_mass /= total
        if in_blocks:
            residual_mass -= _shares_of_blocks(share, size)[:, np.newaxis] * residual_mass.sum(
                axis=0
            )
        return cls(residual_mass, in_blocks, share, code)

    @property
    def drawn(self) -> int:
        """How many random numbers a draw takes: one per cluster, or per block."""
        return int(self.residual_mass.shape[0])

    @property
    def drawn_share(self) -> Floats:
        """Share of the weight of each cluster or block: what a draw says about chance."""
        return _shares_of_blocks(self.share, self.drawn) if self.in_blocks else self.share

    @property
    def left_out(self) -> float:
        """Variance of a sum over clusters that their part of a mean of one would add to blocks."""
        return float(self.share @ self.share) if self.in_blocks else 0.0

    def __len__(self) -> int:
        return self.share.size


def numbered(labels: npt.NDArray[Any]) -> tuple[Indices, int]:
    """Give labels numbers in their order: that of each row, and how many there are."""
    if labels.dtype.kind in "iu" and labels.size:
        low = int(labels.min())
        span = int(labels.max()) - low + 1
        if span <= SPREAD * labels.size:
            offset = (labels - labels.dtype.type(low)).astype(np.intp)
            present = np.zeros(span, dtype=bool)
            present[offset] = True
            number = np.cumsum(present) - 1
            return number[offset], int(number[-1]) + 1
    names, code = np.unique(labels, return_inverse=True)
    return code.reshape(-1), names.size


def _shares(code: Indices, rows: Rows, count: int) -> Floats:
    weight = np.bincount(code, rows.weight, count).astype(np.float64)
    return np.asarray(weight / weight.sum())


def _shares_of_blocks(share: Floats, count: int) -> Floats:
    return np.bincount(np.arange(share.size) % count, share, count).astype(np.float64)


def _table(
    residual: Floats, row: Indices, level: Indices, shape: tuple[int, int], *, dense: bool
) -> Any:
    """Add up residuals in a table; one that most rows would be alone in is sparse."""
    if dense:
        return np.bincount(row * shape[1] + level, residual, shape[0] * shape[1]).reshape(shape)
    from scipy.sparse import coo_array

    return coo_array((residual, (row, level)), shape=shape).tocsr()


# Rows of different weights are redrawn one by one up to this many numbers; then by the level.
MOST_OUTCOMES_DRAWN = 2**25
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

    def refuse(self, full_joint: Joint) -> None:
        """Refuse outcomes that the law does not fit."""
        ...

    def of_levels(self, full_joint: Joint, joint: Joint) -> Any:
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


class ForecastLaw:
    """Outcome 1 has the chance that was forecast: rows of a level and weight are one binomial."""

    def refuse(self, full_joint: Joint) -> None:
        """Refuse mean outcomes, which are not 0 or 1."""
        refuse_mean_outcomes(full_joint)

    def of_levels(self, full_joint: Joint, joint: Joint) -> BinomialCounts | None:
        """Add up levels, where rows of one level weigh the same; None where they do not."""
        return BinomialCounts.of_levels(full_joint, joint)

    def of_rows(self, rows: Rows, joint: Joint, level: Indices) -> BinomialCounts:
        """Add up rows by level and weight."""
        return BinomialCounts.of_rows(rows, joint, level)

    def by_cluster(self, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residuals times weight, divided by the total weight."""
        return Clusters.of_rows(rows, joint, level, labels)

    def on_cells(self, evidence: Evidence, cells: int) -> Evidence:
        """Round the forecasts."""
        return evidence.of_joint(evidence.full_joint.rounded(cells))

    def widening(self, evidence: Evidence, level: float) -> float:  # noqa: ARG002
        """Return 1: the variance of Bernoulli outcomes is known."""
        return 1.0

    def exact(self, evidence: Evidence, draws: int) -> bool:
        """Whether outcomes can be redrawn one by one."""
        counts = evidence.parts
        if counts is None:
            return False
        return bool(
            counts.level.size == len(evidence.joint)
            or counts.level.size * draws <= MOST_OUTCOMES_DRAWN
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
        """Variance of outcomes drawn from the forecasts."""
        joint = evidence.joint
        chance = joint.prediction * (1 - joint.prediction)
        return np.asarray(chance * joint.weight_squares / joint.total**2)

    def missing_spread(self, evidence: Evidence) -> Floats:
        """Variance that clusters must have under the law where few events happened."""
        joint, counts = evidence.joint, evidence.parts
        if counts is None:
            return np.zeros(len(joint))
        chance = joint.prediction * (1 - joint.prediction)
        expected = counts.sums((counts.weight / joint.total) ** 2 * counts.rows) * chance
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
        """Gaps of ranges, and the variance of coins of their mean forecasts, or of those seen.

        Of certain forecasts a single exception would be the clearest gap of all otherwise.
        """
        spread = np.maximum(
            pooled.prediction * (1 - pooled.prediction), pooled.outcome * (1 - pooled.outcome)
        )
        return pooled.residual, np.asarray(pooled.weight_squares / pooled.weight**2 * spread)

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Variance of outcomes drawn from the forecasts, and the largest weight of a row."""
        return bernoulli_noise(evidence.full_joint)

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

    def refuse(self, full_joint: Joint) -> None:
        """Take any outcomes."""

    def of_levels(self, full_joint: Joint, joint: Joint) -> None:
        """Return None: a Joint does not hold how residuals vary."""

    def of_rows(self, rows: Rows, joint: Joint, level: Indices) -> RowResiduals:
        """Keep the residual mass of every row."""
        share, mass = _masses(rows, joint)
        order = np.lexsort((mass, share, level))
        return RowResiduals(level[order], mass[order], share[order])

    def by_cluster(self, rows: Rows, joint: Joint, level: Indices, labels: Any) -> Clusters:
        """Add up residual mass."""
        share, mass = _masses(rows, joint)
        return Clusters.of_residual_mass(mass, share, level, labels, len(joint))

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
        residual_mass = np.add.reduceat(residual_mass_of(evidence.joint), first)
        return np.asarray(residual_mass, np.float64), evidence.residual_variance(first)

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Squared residuals at each level, none less than those of all rows are on average.

        Outcomes near the forecasts of a range may all be alike by chance.
        """
        joint, rows = evidence.full_joint, evidence.rows
        assert rows is not None  # noqa: S101  # residuals are known by rows
        mass = np.abs(rows.weights * rows.scaled_residual)
        squares = mass**2
        observed = np.bincount(level_of(rows.position, joint), squares, len(joint))
        usual = squares.sum() / joint.weight_squares.sum()
        return np.maximum(observed, joint.weight_squares * usual), float(mass.max())

    def tests(self, evidence: Evidence) -> tuple[Statistic, Statistic]:
        """Score test of a line over the positions, and the squares that isotonic fits gain."""
        line = line_scores(evidence.joint.prediction, self.variance(evidence))
        return Statistic.of_function(SLOPE.name, line), CLUSTERED_SHAPE

    def draw(self, evidence: Evidence, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw by row; where rows are too many, normal numbers stand for the sums of levels."""
        level, size = evidence.parts.level, len(evidence.joint)
        if level.size * draws > MOST_OUTCOMES_DRAWN:
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
class LevelLaw(KeptResiduals):
    """Outcomes lie below a right quantile, or inside a right interval, with one chance."""

    bounded: bool = True
    chance: float = 0.5

    def exact(self, evidence: Evidence, draws: int) -> bool:
        """Whether outcomes can be redrawn one by one; exact if outcomes are continuous."""
        return bool(evidence.parts.level.size * draws <= MOST_OUTCOMES_DRAWN)

    def variance(self, evidence: Evidence) -> Floats:
        """Bernoulli variance at the level."""
        parts = evidence.parts
        squares = np.bincount(parts.level, parts.share**2, len(evidence.joint))
        return np.asarray(squares * self.chance * (1 - self.chance))

    def noise(self, evidence: Evidence) -> tuple[Floats, float]:
        """Bernoulli variance at the level, and the largest residual of a row."""
        rows = evidence.rows
        assert rows is not None  # noqa: S101  # residuals are known by rows
        most = float(np.abs(rows.weights * rows.scaled_residual).max())
        return evidence.full_joint.weight_squares * self.chance * (1 - self.chance), most

    def redrawn(self, parts: RowResiduals, count: int, rng: np.random.Generator) -> Floats:
        """Residual mass of each row, its outcome drawn anew."""
        below = rng.random((count, parts.level.size)) < self.chance
        return parts.share * (self.chance - below)


FORECAST_LAW = ForecastLaw()


def law_of(kind: Kind, *, bounded: bool) -> NullLaw:
    """Return the null law of a kind."""
    if kind.summed:
        return FORECAST_LAW
    return KeptResiduals(bounded) if kind.chance is None else LevelLaw(chance=kind.chance)


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

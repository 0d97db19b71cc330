"""One-sided confidence limits of the smooth error and of the typical gap: what a verdict rests on.

A wrong verdict can be made on one side only: "calibrated" is wrong where an error exceeds its
upper limit, "miscalibrated" where it is below its lower limit. Each side therefore has a level of
its own, and neither limit allows for the supremum of the noise, as a two-sided interval does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, in_parts
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import NAME as GAP, Ranges, gaps_of_each
from calibrant.inference.interval import ConfidenceInterval, cautions_of, upper_quantile
from calibrant.inference.statistic import residual_mass_of
from calibrant.measures.smooth import smooth_calibration_error

# Forecasts are shared between the two of so many equally spaced nodes on either side of them.
CELLS = 128
# Standard deviations that a test may have, as shares of the largest one: the bound that they give
# is above the exact one by at most 2 % of the half-width, and by 0.3 % on average.
LADDER = 1.25 ** -np.arange(14.0)
# An error of so many times what noise alone shows in 95 % of samples has one best test.
FAR = 2.0
# From so many events of the rarer outcome on, the direction of the gaps is known well enough.
EVENTS_FOR_DIRECTION = 100
# Lower limits of two or three quantities share an error of 5 %. They go together, so that each may
# have more than its part: simulated, 3 % each of two do, and 2.5 % each of three.
LOWER_SHARES = {2: 0.6, 3: 0.5}
# Upper limits are asymptotic: at a nominal 5 % they missed up to 6.8 % of samples in 30 laws, so
# that they are computed for 4 %.
UPPER_SHARE = 0.8
# A squared gap below this quantile of no gap at all is luck, and bounds the gap no further.
LEAST = 0.16
STEPS = 40
_Moments = Callable[[float], tuple[float, float, float]]
"""Variance, third cumulant and mean of the squared noise, given the true gap."""


@dataclass(frozen=True, slots=True)
class LimitLevels:
    """Nominal chances that limits are wrong, one for each side, and the confidence they give."""

    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, confidence: float, quantities: int = 2) -> LimitLevels:
        """Share the error of lower limits between the quantities that a verdict judges."""
        level = 1 - confidence
        return cls(level * LOWER_SHARES[quantities], level * UPPER_SHARE, confidence)


def smooth_limits(
    evidence: Evidence, levels: LimitLevels, draws: int, rng: np.random.Generator
) -> ConfidenceInterval:
    r"""Lower and upper limit of the smooth error of the population, each with a level of its own.

    The upper limit is the largest :math:`\bar{wr} + z s(w) / \sqrt n` over smooth tests w: that of
    the population's best test, which no sample changes, is one of them, and a limit for one mean.
    It is found exactly on a grid, by a dynamic program for each of a ladder of standard deviations.
    The lower limit is the value less a quantile of what noise adds to it (multiplier bootstrap);
    near zero two tests may be best by turns, and the level is halved. Rows in clusters, and
    residuals without bounds, keep the supremum of the noise, one-sided.
    """
    value = float(smooth_calibration_error(evidence.full_joint))
    nodes = _Nodes.of(evidence)
    on_nodes = float(smooth_errors(nodes.residual_mass[np.newaxis])[0])
    if evidence.clusters is not None or not evidence.bounded:
        low, high = _by_supremum(evidence, nodes, levels, draws, rng)
    else:
        z_low, z_high = _normal(1 - levels.low), _normal(1 - levels.high)
        high = smooth_upper(nodes.residual_mass, nodes.variance(z_high), z_high) - on_nodes
        noise = rng.standard_normal((draws, CELLS + 1)) * np.sqrt(nodes.variance(z_low))
        low = _below(nodes.residual_mass, noise, on_nodes, levels.low)
    most = min(1.0, value + high) if evidence.bounded else value + high
    ends = max(0.0, on_nodes - low), most
    return _interval(evidence, "smooth_calibration_error", value, ends, levels)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Residuals added up at nodes: all that limits of the smooth error depend on."""

    residual_mass: Floats
    squares: Floats
    """Squared residuals, or the variance that right forecasts would have, whichever is more."""
    mass: Floats
    unit: float
    left: npt.NDArray[np.intp]
    share: Floats
    """Share of each level that goes to the node on its right."""

    @classmethod
    def of(cls, evidence: Evidence) -> _Nodes:
        joint = evidence.joint
        at = joint.prediction * CELLS
        left = np.minimum(at.astype(np.intp), CELLS - 1)
        share = at - left
        self = cls(np.zeros(0), np.zeros(0), np.zeros(0), evidence.unit, left, share)
        seen, expected = evidence.law.spreads(evidence)[0], evidence.law.variance(evidence)
        squares = seen if seen.sum() >= expected.sum() else expected
        columns = (residual_mass_of(joint), squares, joint.mass)
        residual_mass, squares, mass = (self.shared(column[np.newaxis])[0] for column in columns)
        return cls(residual_mass, squares, mass, evidence.unit, left, share)

    def shared(self, columns: Floats) -> Floats:
        """Share columns of levels between nodes, one row for each column."""
        size = len(columns) * (CELLS + 1)
        row = np.arange(len(columns))[:, np.newaxis] * (CELLS + 1)
        right = columns * self.share
        found = np.bincount((row + self.left).ravel(), (columns - right).ravel(), size)
        found += np.bincount((row + self.left + 1).ravel(), right.ravel(), size)
        return np.asarray(found.reshape(len(columns), CELLS + 1), np.float64)

    def variance(self, z: float) -> Floats:
        """Variance at each node, with z^2 more rows that few events may hide (Wilson 1927)."""
        return np.asarray(self.squares + (z * self.unit) ** 2 * self.mass)


def smooth_errors(residual_masses: Floats) -> Floats:
    """Smooth errors of residuals at the nodes, one for each row."""
    at = np.arange(CELLS + 1) / CELLS
    return kernels.smooth_errors(at, np.zeros(at.size), np.ascontiguousarray(residual_masses), 1.0)


def smooth_upper(residual_mass: Floats, variance: Floats, z: float) -> float:
    """Largest residual_mass.w + z sqrt(variance.w^2) over smooth tests w on the nodes, from above.

    For every s > 0 the root of a is at most (a / s + s) / 2. For a fixed s what is left is a sum of
    convex functions of single values of w, so that its maximum over |w| <= 1 and steps of at most
    one cell lies where all values are multiples of a cell.
    """
    w = np.arange(-CELLS, CELLS + 1) / CELLS
    deviation = np.maximum(np.sqrt(variance.sum()) * LADDER, 1e-300)[:, np.newaxis]
    best = np.zeros((LADDER.size, w.size))
    wide = np.full((LADDER.size, w.size + 2), -np.inf)
    curve = z / (2 * deviation) * w**2
    for mean, spread in zip(residual_mass, variance, strict=True):
        wide[:, 1:-1] = best
        best = np.maximum(np.maximum(wide[:, :-2], wide[:, 2:]), best)
        best += mean * w + spread * curve
    return float((best.max(axis=1) + z * deviation[:, 0] / 2).min())


def _below(residual_mass: Floats, noise: Floats, value: float, level: float) -> float:
    """How far the population's error may be below the sample's."""
    far = value > FAR * upper_quantile(smooth_errors(noise), 0.95)
    added = smooth_errors(residual_mass + noise) - value
    return max(0.0, upper_quantile(added, 1 - (level if far else level / 2)))


def _by_supremum(
    evidence: Evidence, nodes: _Nodes, levels: LimitLevels, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """How far the population's error may lie below and above, by the supremum of the noise."""
    confidence = 1 - 2 * min(levels.low, levels.high)
    deviations = np.concatenate(
        [
            smooth_errors(nodes.shared(part[some : some + count]))
            for part in evidence.multiplied_residual_masses(draws, rng, confidence)
            for some, count in _blocks(len(part), part.shape[1])
        ]
    )
    low, high = (
        upper_quantile(deviations, 1 - level) * evidence.widening(2 * level)
        for level in (levels.low, levels.high)
    )
    return low, high


def _blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    found, start = [], 0
    for count in in_parts(rows, columns):
        found.append((start, count))
        start += count
    return found


def gap_limits(evidence: Evidence, ranges: Ranges, levels: LimitLevels) -> ConfidenceInterval:
    r"""Lower and upper limit of the typical gap, each with a level of its own, without draws.

    With x the gaps times the roots of the ranges' shares, a true gap r is kept while
    :math:`|x|^2` is not among the extreme values of :math:`|r u + e|^2`, u the direction of x. That
    has three known cumulants, for which a gamma stands. Variances are those of the rates that r
    implies, as in Wilson's interval. With few events, without bounds or with a single range the
    direction is not known: there the worst one is taken.
    """
    joint = evidence.full_joint
    rarer = min(joint.base_rate, 1 - joint.base_rate) / evidence.unit
    known = evidence.bounded and ranges.mass.size > 1 and not evidence.lone
    if not known or (evidence.kind.summed and rarer < EVENTS_FOR_DIRECTION):
        return _in_worst_direction(evidence, ranges, levels)
    noise = _GapNoise.of(evidence, ranges)
    ends = noise.lower(levels.low), noise.upper(levels.high)
    return _interval(evidence, GAP, ranges.value, ends, levels)


def _in_worst_direction(
    evidence: Evidence, ranges: Ranges, levels: LimitLevels
) -> ConfidenceInterval:
    (low, _), (high, _) = (
        gaps_of_each([evidence], 1 - 2 * level, [ranges])[0] for level in (levels.low, levels.high)
    )
    return _interval(evidence, GAP, ranges.value, (low.low, high.high), levels)


def _interval(
    evidence: Evidence, name: str, value: float, ends: tuple[float, float], levels: LimitLevels
) -> ConfidenceInterval:
    low, high = min(ends[0], value), max(ends[1], value)
    wide, cautions = max(high - value, value - low), tuple(cautions_of(evidence))
    return ConfidenceInterval(name, value, low, high, levels.confidence, wide, "limits", cautions)


@dataclass(frozen=True, slots=True)
class _GapNoise:
    """Gaps of ranges, and how they vary."""

    evidence: Evidence
    ranges: Ranges
    gaps: Floats
    """Gaps times the roots of the ranges' shares."""
    direction: Floats

    @classmethod
    def of(cls, evidence: Evidence, ranges: Ranges) -> _GapNoise:
        gaps = np.add.reduceat(residual_mass_of(evidence.joint), ranges.first) / np.sqrt(
            ranges.mass
        )
        return cls(evidence, ranges, gaps, gaps / max(float(np.sqrt(gaps @ gaps)), 1e-300))

    @property
    def squared(self) -> float:
        """Sum of the squared gaps."""
        return float(self.gaps @ self.gaps)

    def upper(self, level: float) -> float:
        """Largest gap that is kept."""
        moments = self._moments(level, low=False)
        second, third, centre = moments(0.0)
        shape, scale = _gamma(second, third)
        from scipy.special import gammaincinv

        least = centre + scale * (float(gammaincinv(shape, LEAST)) - shape)
        seen = max(self.squared, least)
        return _root(lambda r: _at_most(seen, r, moments(r)) <= level)

    def lower(self, level: float) -> float:
        """Smallest gap that is kept."""
        moments = self._moments(level, low=True)
        return _root(lambda r: 1 - _at_most(self.squared, r, moments(r)) > level)

    def _moments(self, level: float, *, low: bool) -> _Moments:
        evidence, ranges = self.evidence, self.ranges
        counted = (
            evidence.kind.summed
            and evidence.clusters is None
            and evidence.full_joint.equally_weighted
        )
        if counted:
            return _of_counts(evidence, ranges, self.gaps, self.direction, level, low=low)
        root, wide = ranges.outer_root, evidence.widening(2 * level)
        covariance = evidence.covariance(ranges.first, 1 - 2 * level) / root * wide**2
        centre = float((evidence.residual_variance(ranges.first) / ranges.mass).sum())
        along = float(self.direction @ covariance @ self.direction)
        square = covariance @ covariance
        twice = float(self.direction @ square @ self.direction)
        second, third = 2 * float(np.trace(square)), 8 * float(np.trace(square @ covariance))
        if low:
            centre = float(np.trace(covariance))

        def moments(r: float) -> tuple[float, float, float]:
            return 4 * r * r * along + second, 24 * r * r * twice + third, centre

        return moments


def _of_counts(
    evidence: Evidence,
    ranges: Ranges,
    gaps: Floats,
    direction: Floats,
    level: float,
    *,
    low: bool,
) -> _Moments:
    """Moments where rows of a range are coins of the rate that a gap implies."""
    joint, mass = evidence.joint, ranges.mass
    rows, z = float(evidence.full_joint.row_count), _normal(1 - level)
    root = np.sqrt(mass)
    rate = np.add.reduceat(joint.mass * joint.prediction, ranges.first) / mass
    seen = np.clip(rate + gaps / root, 0.0, 1.0)
    other = rate * (1 - rate) if low else seen * (1 - seen)

    def moments(r: float) -> tuple[float, float, float]:
        hit = np.clip(rate + r * direction / root, 0.0, 1.0)
        spread = np.maximum(hit * (1 - hit), other)
        variance = spread / rows + (z / rows) ** 2
        along = float(direction**2 @ variance)
        twice = float(direction**2 @ variance**2)
        second = 4 * r * r * along + 2 * float(variance @ variance)
        second += float((np.maximum(spread * (1 - 6 * spread), 0.0) / (rows**3 * mass)).sum())
        skew = 4 * (r * direction * spread * (1 - 2 * hit) / (rows**2 * root)).sum()
        second += max(0.0, float(skew))
        third = 24 * r * r * twice + 8 * float((variance**3).sum())
        if low:
            events = np.maximum(rows * mass * np.minimum(hit, 1 - hit), 0.05)
            third += float((variance**3 * (22 / events + 1 / events**2)).sum())
        centre = float((spread if low else other).sum()) / rows
        return second, third, centre

    return moments


def _gamma(second: float, third: float) -> tuple[float, float]:
    """Shape and scale of the gamma with these cumulants."""
    return 4 * second**3 / third**2, third / (2 * second)


def _at_most(squared: float, gap: float, moments: tuple[float, float, float]) -> float:
    """Chance that a sample shows at most so large a squared gap where the true gap is as given."""
    from scipy.special import gammainc

    second, third, centre = moments
    shape, scale = _gamma(second, third)
    return float(gammainc(shape, max((squared - gap**2 - centre) / scale + shape, 0.0)))


def _root(holds: Callable[[float], bool]) -> float:
    """Smallest gap from which on a condition holds, up to 1."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    if not holds(high):
        return 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _normal(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))

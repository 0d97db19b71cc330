"""The typical gap between forecast and observed rate, with an interval: it sees slope and waves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_BINS, whole
from calibrant.binning import Pooling, quantile_bins
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import ConfidenceInterval, cautions_of
from calibrant.inference.rows_to_settle import LEAST, SquaredGaps
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import residual_mass_of
from calibrant.joint import Joint
from calibrant.measures.regions import Region

NAME = "typical_gap"
# Ranges of forecasts: at most so many, of at least so many rows (in effect) on average.
MOST_RANGES, ROWS_IN_A_RANGE = 15, 20
ROUNDING = 1e-9
# Steps of bisection: an end of the interval is wider by at most 2**-30.
STEPS = 30


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of forecasts of about equal weight, and what happened in them."""

    pooling: Pooling
    first: npt.NDArray[np.intp]
    """First level of each range."""
    mass: Floats
    squared: float
    """Mean squared gap less what chance adds to it; unbiased, and perhaps negative."""

    @classmethod
    def of(cls, evidence: Evidence, count: int | None = None) -> Ranges:
        """Cut the forecasts; by default into as many ranges as the rows can fill."""
        joint = evidence.joint
        if count is None:
            # A rounding error of the weights' sums must not cost a range.
            full = (1 + ROUNDING) / (evidence.unit * ROWS_IN_A_RANGE)
            count = int(np.clip(full, 1, MOST_RANGES))
        pooling = quantile_bins(joint, count)
        first = np.flatnonzero(np.diff(pooling.pool_of(joint.prediction), prepend=-1))
        return cls.at(evidence, pooling, first)

    @classmethod
    def at(cls, evidence: Evidence, pooling: Pooling, first: npt.NDArray[np.intp]) -> Ranges:
        """Take ranges that are given, with the first level of each."""
        joint = evidence.joint
        mass = np.add.reduceat(joint.mass, first)
        residual_mass = np.add.reduceat(residual_mass_of(joint), first)
        chance = evidence.residual_variance(first)
        squared = float(((residual_mass**2 - chance) / mass).sum())
        return cls(pooling, first, mass, squared)

    def noise(self, residual_masses: Floats) -> Floats:
        """Gaps of residual masses (one row each), times the root of the ranges' shares of rows."""
        return np.asarray(np.add.reduceat(residual_masses, self.first, axis=1) / np.sqrt(self.mass))

    @property
    def outer_root(self) -> Floats:
        """Roots of the products of the ranges' shares of rows, two at a time."""
        return np.asarray(np.sqrt(np.multiply.outer(self.mass, self.mass)))

    @property
    def value(self) -> float:
        """The typical gap: the root of the mean squared gap, 0 where chance explains it."""
        return float(np.sqrt(max(0.0, self.squared)))

    def worst(self, evidence: Evidence) -> Region:
        """Find the range whose gap is largest beside what chance makes of it."""
        gap, variance = evidence.law.gaps(evidence, self.pooling.joint, self.first)
        return evidence.region(*self.most_surprising(evidence.joint, gap, variance))

    def most_surprising(self, joint: Joint, gap: Floats, variance: Floats) -> tuple[int, int]:
        """First level, and that after the last, of the range whose gap chance explains least."""
        surprise = np.full(gap.size, np.inf)
        with np.errstate(over="ignore"):  # an event that was as good as impossible
            np.divide(gap**2, variance, out=surprise, where=variance > 0)
        surprise[gap == 0] = 0.0
        index = int(np.argmax(surprise))
        stops = np.append(self.first[1:], len(joint))
        return int(self.first[index]), int(stops[index])


def typical_gap(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    n_bins: int | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> ConfidenceInterval:
    r"""How far forecasts typically are from the observed rate, and how sure that is.

    0.05 says that where forecasts promise 70 %, typically 65 % or 75 % happen. It is the second
    number of a verdict: unlike the smooth error it sees a slope that is off, and waves.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the Joint, not the amount of evidence.
    pos_label : object, optional
        The label that counts as outcome 1.
    n_bins : int, optional
        Ranges of forecasts of about equal weight. By default 15, or fewer so that about 20 rows
        fall into each. At most 2**20.
    confidence : float, default=0.95
        Chance that the interval holds the gap of the population.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=999
        Random multipliers for the interval. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    ConfidenceInterval
        `value` is the root of the mean squared gap over the ranges, less what chance adds (0 where
        chance explains all of it); its square is what the Brier score would gain.

    Notes
    -----
    With :math:`\delta_b` the mean of outcome less forecast in range b and :math:`m_b` its share,
    the gap is :math:`(\sum_b m_b \delta_b^2)^{1/2}`. The square of a noisy mean is too large by its
    variance, which is subtracted (Broecker 2012; Kumar, Liang, Ma 2019). The interval holds every
    gap r for which the squared gap seen is not among the 2.5 % smallest or largest of
    :math:`r^2 + 2 r u \cdot e + |e|^2 - E|e|^2`, with e the noise of a Gaussian multiplier
    bootstrap (by cluster where there are clusters) and u the direction in which it is largest,
    which makes the interval a little too wide rather than too narrow. Rows may by chance agree with
    forecasts better than any truth would; what they show is then taken for the 16 % quantile of no
    gap at all, or the upper end would be 0 (power-constrained limits: Cowan, Cranmer, Gross,
    Vitells 2011).

    Its flaw: errors that change sign within a range cancel. They do so in every diagram with bins.

    Examples
    --------
    >>> outcomes, predictions = [1] * 30 + [0] * 10 + [1] * 10 + [0] * 30, [0.9] * 40 + [0.1] * 40
    >>> gap = typical_gap(outcomes, predictions, rng=0)
    >>> round(gap.value, 2), round(gap.low, 2), round(gap.high, 2)
    (0.13, 0.01, 0.25)
    """
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    count = None if n_bins is None else whole("n_bins", n_bins, 1, MOST_BINS)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    ranges = Ranges.of(evidence, count)
    parts = evidence.multiplied_residual_masses(settings.draws, settings.rng, confidence)
    return gap_interval(evidence, ranges, np.concatenate([*map(ranges.noise, parts)]), confidence)


def gap_interval(
    evidence: Evidence, ranges: Ranges, noise: Floats, confidence: float
) -> ConfidenceInterval:
    """Interval of the typical gap, from noise of the gaps drawn before (one row a draw)."""
    level = 1 - confidence
    wide = evidence.widening(level)
    low, high = 0.0, 1.0 if evidence.bounded else np.inf
    if np.isfinite(wide):
        shown = SquaredGaps.of(noise * wide)

        def less(gap: float, squared: float) -> float:
            return float(np.mean(shown.at(np.array([gap])) <= squared))

        low, _ = _smallest_root(lambda gap: less(gap, ranges.squared) <= 1 - level / 2)
        observed = max(ranges.squared, shown.least)
        _, high = _smallest_root(lambda gap: less(gap, observed) <= level / 2, high)
    value = ranges.value
    return ConfidenceInterval(
        NAME,
        value,
        min(low, value),
        max(high, value),
        confidence,
        max(high - value, 0.0),
        "multiplier",
        tuple(cautions_of(evidence)),
    )


def gaps_of_each(
    evidences: Sequence[Evidence], confidence: float, ranges: Sequence[Ranges] | None = None
) -> list[tuple[ConfidenceInterval, Ranges]]:
    """Typical gap of each of many groups, each interval with a confidence, without draws.

    The same interval as `gap_interval`. Far in the tails that many groups ask for, draws would be
    too few: the squared gap is a weighted sum of noncentral chi-squares, and one chi-square with
    its first three cumulants stands for it (Pearson 1959; Imhof 1961).
    """
    level = 1 - confidence
    alone = [replace(one, clusters=None) if one.lone else one for one in evidences]
    ranges = [Ranges.of(evidence) for evidence in alone] if ranges is None else ranges
    wide = np.array([evidence.widening(level) for evidence in evidences])
    known = np.isfinite(wide)
    noise: list[Floats] = [
        np.linalg.eigvalsh(evidence.covariance(own.first, confidence) / own.outer_root).astype(
            float
        )
        for evidence, own in zip(alone, ranges, strict=True)
    ]
    squares = _SquaredGaps.of(noise, np.where(known, wide, 1.0) ** 2)
    observed = np.array([own.squared for own in ranges])
    low = _smallest_roots(lambda gap: squares.below(gap, observed) <= 1 - level / 2, observed.size)
    least = np.maximum(observed, squares.least)
    high = _smallest_roots(lambda gap: squares.below(gap, least) <= level / 2, observed.size)
    found = []
    for evidence, own, lower, upper, certain in zip(
        evidences, ranges, low, high, known, strict=True
    ):
        most = 1.0 if evidence.bounded else np.inf
        start = min(float(lower), own.value) if certain else 0.0
        end = max(min(float(upper), most) if certain else most, own.value)
        interval = ConfidenceInterval(
            NAME, own.value, start, end, confidence, end - own.value, "multiplier"
        )
        found.append((interval, own))
    return found


@dataclass(frozen=True, slots=True)
class _SquaredGaps:
    """Squared gaps that samples of many groups show, less what chance adds on average.

    As in `SquaredGaps` the true gap lies in the direction in which noise is largest.
    """

    largest: Floats
    """Largest variance of the noise of each group."""
    second: Floats
    third: Floats
    """Second and third cumulant without a gap."""

    @classmethod
    def of(cls, noise: Sequence[Floats], scale: Floats) -> _SquaredGaps:
        """Take variances of the noise in independent directions, times a scale of each group."""
        powers = [[float((np.maximum(own, 0.0) ** k).sum()) for k in (2, 3)] for own in noise]
        second, third = np.array(powers).T
        largest = np.array([float(own[-1]) for own in noise])
        return cls(largest * scale, 2 * second * scale**2, 8 * third * scale**3)

    def below(self, gap: Floats, squared: Floats) -> Floats:
        """Chance that a sample shows at most so much where the true gap is as given."""
        from scipy.special import chdtr

        freedom, spread = self._shape(gap)
        return np.asarray(chdtr(freedom, np.maximum(0.0, freedom + (squared - gap**2) / spread)))

    @property
    def least(self) -> Floats:
        """What a sample shows at least, as far as its upper end is concerned."""
        from scipy.special import chdtri

        freedom, spread = self._shape(np.zeros_like(self.largest))
        return np.asarray((chdtri(freedom, 1 - LEAST) - freedom) * spread)

    def _shape(self, gap: Floats) -> tuple[Floats, Floats]:
        """Degrees of freedom of the chi-square, and what it is multiplied by."""
        second = self.second + 4 * gap**2 * self.largest
        third = self.third + 24 * gap**2 * self.largest**2
        freedom = 8 * second**3 / third**2
        return freedom, np.sqrt(second / (2 * freedom))


def _smallest_roots(holds: Callable[[Floats], npt.NDArray[np.bool_]], count: int) -> Floats:
    """Smallest gaps, one for each of many groups, from which on a condition holds."""
    low, high = np.zeros(count), np.where(holds(np.zeros(count)), 0.0, 1.0)
    while not (there := holds(high) | (high == 0)).all():
        low, high = np.where(there, low, high), np.where(there, high, 2 * high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        there = holds(middle) | (high == 0)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high


def _smallest_root(holds: Callable[[float], bool], most: float = 1.0) -> tuple[float, float]:
    """Bounds of the smallest gap, up to the most it can be, from which on a condition holds."""
    if holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while high < most and not holds(high):
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high

"""How many rows would settle what the rows at hand leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator, check_positive, check_share
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import ConfidenceInterval
from calibrant.inference.statistic import Statistic
from calibrant.joint import Joint
from calibrant.joint.sums import level_of

MOST_ROWS = 10**10
# An error this close to the tolerance (as a share of it) is not settled by any number of rows.
TOO_CLOSE = 0.1
# Chance that the lower and the upper end of a range of rows settle a verdict. The upper one leaves
# room for what the sample does not know of its own error: 0.8 is what is promised.
AS_LIKELY_AS_NOT, VERY_PROBABLY = 0.5, 0.9
# Predictions are rounded to cells of which so many fit into the tolerance.
CELLS_IN_TOLERANCE = 8
# A squared gap below this quantile of no gap at all is luck, and bounds the gap no further.
LEAST = 0.16
# Errors up to this many times the mean noise are tried; beyond, noise adds to the error evenly.
LARGEST_ERROR, ERRORS, NOISES = 12.0, 16, 199


def rows_to_settle(
    evidence: Evidence,
    statistic: Statistic,
    interval: ConfidenceInterval,
    tolerance: float,
    rng: np.random.Generator | int | None = None,
) -> tuple[int, int] | None:
    """Tell how many fresh rows like these would settle a verdict that is undecided, as a range.

    Parameters
    ----------
    evidence : Evidence
        The rows that left it undecided.
    statistic : Statistic
        The measure; it has an interval.
    interval : ConfidenceInterval
        Its interval on these rows, by the multiplier method.
    tolerance : float
        Largest acceptable error.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    tuple of two int, or None
        Rows at which a verdict is as likely as not, and rows at which it is very probable, rounded
        up to two digits. None where no number of rows is known to settle it: the error is as good
        as at the tolerance, or the rows say nothing about chance.

    Notes
    -----
    The population's error is not known, so every error is weighed by how well it explains the
    value seen: the chance, if it were the truth, to see at least this value is a distribution
    function of it (a confidence distribution). The range is where the chance of a verdict, averaged
    over these errors, reaches 0.5 and 0.9. For each error the sample to come is its residual mass
    in the shape of the witness plus the noise of the rows, both scaled to the number of rows; the
    half-width shrinks with the root of the rows.

    In simulations with a tolerance of 0.02 the upper end settled at least 80 % of fresh samples
    where the truth was at most half or at least one and a half times the tolerance (300 rows), or
    farther than a tenth from it (3000 rows). Nearer than that a sample cannot know how near it is,
    and the range promises too much.

    References
    ----------
    O'Hagan, Stevens, Campbell (2005), Assurance in clinical trial design, Pharmaceutical
    Statistics 4. Xie, Singh (2013), Confidence distribution, International Statistical Review 81.

    Examples
    --------
    >>> from calibrant.inference import Settings, find_interval
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> evidence = Evidence.read(rng.random(1000) < p, p)
    >>> smooth = Statistic.of("smooth_calibration_error")
    >>> interval = find_interval(evidence, smooth, Settings.read(rng=0))
    >>> low, high = rows_to_settle(evidence, smooth, interval, 0.02, rng=0)
    >>> 2000 < low < high < 60_000
    True
    """
    (check_share if evidence.bounded else check_positive)("tolerance", tolerance)
    if evidence.lone or not 0 < interval.half_width < np.inf:
        return None
    outlook = _Outlook.of(evidence, statistic, interval, tolerance, as_generator(rng))
    if outlook.as_good_as(tolerance):
        return None
    return _range_of_rows(lambda rows: outlook.settled(rows, tolerance))


def rows_to_settle_gap(
    size: int, squared: float, noise: Floats, tolerance: float, confidence: float
) -> tuple[int, int] | None:
    """Tell the same of the typical gap.

    Parameters
    ----------
    size : int
        Rows seen.
    squared : float
        The squared gap that they show, less what chance adds.
    noise : ndarray of shape (draws, ranges)
        Noise of the gaps, times the root of the ranges' shares of rows.
    tolerance, confidence : float
        Largest acceptable gap, and confidence of the interval that decides.

    Returns
    -------
    tuple of two int, or None
        As `rows_to_settle`.
    """
    if not np.isfinite(noise).all():
        return None
    shown = SquaredGaps.of(noise)
    gap = np.linspace(0, np.sqrt(max(squared, 0.0)) + 4 * np.sqrt(shown.spread), 4 * ERRORS)
    below = np.mean(shown.at(gap) >= squared, axis=0)
    below[-1] = 1.0
    plausible = np.diff(np.maximum.accumulate(below), prepend=0.0)
    near = np.abs(gap - tolerance) < TOO_CLOSE * tolerance
    if plausible[near].sum() > AS_LIKELY_AS_NOT:
        return None
    ends = (1 - confidence) / 2, (1 + confidence) / 2

    def settled(rows: float) -> float:
        fewer = shown.scaled(np.sqrt(size / rows))
        low, high = np.quantile(fewer.at(np.array([tolerance])), ends)
        values = np.maximum(fewer.at(gap), fewer.least)
        return float(np.mean((values <= low) | (values > high), axis=0) @ plausible)

    return _range_of_rows(settled)


@dataclass(frozen=True, slots=True)
class SquaredGaps:
    """Squared gaps, less what chance adds on average, of samples whose true gap is known.

    The true gap lies in the direction in which noise is largest, where it hides best.
    """

    linear: Floats
    square: Floats

    @classmethod
    def of(cls, noise: Floats) -> SquaredGaps:
        """Take draws of the noise, one row each."""
        along = np.linalg.eigh(noise.T @ noise)[1][:, -1]
        square = (noise**2).sum(axis=1)
        return cls(2 * noise @ along, square - square.mean())

    @property
    def least(self) -> float:
        """What a sample shows at least, as far as its upper end is concerned."""
        return float(np.quantile(self.square, LEAST))

    @property
    def spread(self) -> float:
        """Standard deviation where the true gap is zero."""
        return float(self.square.std())

    def at(self, gap: Floats) -> Floats:
        """Draws for each of many true gaps: one row per draw."""
        return np.asarray(gap**2 + np.multiply.outer(self.linear, gap) + self.square[:, np.newaxis])

    def scaled(self, noise: float) -> SquaredGaps:
        """Make the noise so many times as large."""
        return SquaredGaps(noise * self.linear, noise**2 * self.square)


def _range_of_rows(settled: Callable[[float], float]) -> tuple[int, int] | None:
    """Rows at which a verdict is as likely as not, and at which it is very probable."""
    few, many = (_rows_for(settled, chance) for chance in (AS_LIKELY_AS_NOT, VERY_PROBABLY))
    return None if few is None or many is None else (few, many)


def _rows_for(settled: Callable[[float], float], chance: float) -> int | None:
    """Rows at which the chance of a verdict is reached, to two digits."""
    few, many = 1.0, 64.0
    while settled(many) < chance:
        few, many = many, 4 * many
        if many > MOST_ROWS:
            return None
    while many / few > 1.02:
        middle = np.sqrt(few * many)
        few, many = (few, middle) if settled(middle) >= chance else (middle, many)
    return two_digits(many)


def _coarse(joint: Joint, tolerance: float) -> tuple[Joint, npt.NDArray[np.intp]]:
    """Round predictions to cells that are small beside the tolerance; the first level of each."""
    if len(joint) * tolerance <= CELLS_IN_TOLERANCE:
        return joint, np.arange(len(joint))
    coarse = joint.rounded(2 ** int(np.ceil(np.log2(CELLS_IN_TOLERANCE / tolerance))))
    return coarse, np.flatnonzero(np.diff(level_of(joint.prediction, coarse), prepend=-1))


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What further rows will show, for every error that may be behind these."""

    size: int
    """Rows seen."""
    half_width: float
    error: Floats
    """Errors that may be the truth."""
    plausible: Floats
    """Weight of each."""
    strength: Floats
    """Errors to which noise was added."""
    shown: Floats
    """What samples of so many rows show of each strength: one row per draw of the noise."""

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        statistic: Statistic,
        interval: ConfidenceInterval,
        tolerance: float,
        rng: np.random.Generator,
    ) -> _Outlook:
        joint, first = _coarse(evidence.joint, tolerance)
        witness = statistic.function(joint, **statistic.options).witness  # type: ignore[attr-defined]
        shape = joint.mass * witness(joint.prediction)
        whole = float(statistic.values(joint, shape[np.newaxis])[0])
        if not whole > 0:  # no witness, no error to give a shape to: off by the same everywhere
            shape = joint.mass
            whole = float(statistic.values(joint, shape[np.newaxis])[0])
        parts = evidence.multiplied_residual_masses(NOISES, rng, interval.confidence)
        noise = np.concatenate([np.add.reduceat(part, first, axis=1) for part in parts])
        noise *= evidence.widening(1 - interval.confidence)
        usual = float(statistic.values(joint, noise).mean())
        strength = usual * LARGEST_ERROR * np.linspace(0, 1, ERRORS) ** 2
        shown = np.column_stack(
            [statistic.values(joint, noise + shape * (some / whole)) for some in strength]
        )
        most = interval.value + 2 * interval.half_width
        error = np.linspace(0, most, 4 * ERRORS)
        self = cls(
            evidence.full_joint.row_count, interval.half_width, error, error, strength, shown
        )
        below = np.mean(self.values(error, 1.0) >= interval.value, axis=0)
        below[-1] = 1.0
        return replace(self, plausible=np.diff(np.maximum.accumulate(below), prepend=0.0))

    def values(self, error: Floats, noise: float) -> Floats:
        """Errors of samples whose noise is so many times that of the rows seen."""
        at = error / noise
        beyond = np.maximum(at - self.strength[-1], 0.0)
        right = np.clip(np.searchsorted(self.strength, at), 1, self.strength.size - 1)
        left = right - 1
        share = (at - beyond - self.strength[left]) / (self.strength[right] - self.strength[left])
        shown = (1 - share) * self.shown[:, left] + share * self.shown[:, right]
        return np.asarray(noise * (shown + beyond))

    def as_good_as(self, tolerance: float) -> bool:
        """Whether most of what may be the truth is too close to the tolerance to be told apart."""
        near = np.abs(self.error - tolerance) < TOO_CLOSE * tolerance
        return bool(self.plausible[near].sum() > AS_LIKELY_AS_NOT)

    def settled(self, rows: float, tolerance: float) -> float:
        """Chance that so many rows settle it."""
        noise = np.sqrt(self.size / rows)
        values, margin = self.values(self.error, noise), noise * self.half_width
        decided = (values + margin <= tolerance) | (values - margin > tolerance)
        return float(decided.mean(axis=0) @ self.plausible)


def two_digits(rows: float) -> int:
    """Round a number of rows up to two digits: more would promise too much."""
    step: int = 10 ** max(0, int(np.floor(np.log10(rows))) - 1)
    return int(np.ceil(rows / step)) * step

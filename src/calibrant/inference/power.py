"""How many rows a verdict will take, before they are collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import ConfidenceInterval, find_interval
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inference.verdicts import CALIBRATED, MISCALIBRATED, TOO_CLOSE, UNDECIDED, two_digits
from calibrant.joint import Joint
from calibrant.measurement import as_joint
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.options import as_generator, check_share, whole

# Simulated samples use predictions rounded to this many cells.
RESOLUTION = 2**9
SAMPLES, MULTIPLIERS, INTERVALS = 400, 199, 8
MOST_ROWS = 10**10
LEAST_TOLERANCE = 1e-9
# Chance that the lower and the upper end of a range of rows settle a verdict. The upper one leaves
# room for what the sample does not know of its own error: 0.8 is what is promised.
AS_LIKELY_AS_NOT, VERY_PROBABLY = 0.5, 0.9
# Errors up to this many times the mean noise are tried; beyond, noise adds to the error evenly.
LARGEST_ERROR, ERRORS, NOISES = 12.0, 16, 199


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """Rows after which a verdict will probably be decided."""

    rows: int
    """Rounded up to two digits."""
    state: str
    """The verdict that the truth deserves."""
    power: float
    """Chance to reach it with so many rows."""
    error: float
    """The population's error."""
    tolerance: float
    worst_case: int
    """Rows of the bound for every distribution (Hu, Jambulapati, Tian and Yang 2024)."""


def rows_needed(
    tolerance: float,
    predictions: object,
    *,
    truth: Callable[[Floats], object] | None = None,
    measure: AnyMeasure = smooth_calibration_error,
    confidence: float = 0.95,
    power: float = 0.8,
    rng: np.random.Generator | int | None = None,
) -> RowsNeeded:
    """Tell how many rows a verdict will take, by simulation.

    Parameters
    ----------
    tolerance : float
        Error that is small enough.
    predictions : array-like or Joint
        Predictions like those to come: how they spread decides how many rows are needed.
    truth : callable, optional
        Chance of outcome 1 as a function of an array of predictions; by default the predictions
        themselves, a perfect forecaster.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    confidence : float, default=0.95
        Confidence of the verdict.
    power : float, default=0.8
        Wanted chance that the verdict is decided, and rightly so.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    RowsNeeded

    Examples
    --------
    >>> needed = rows_needed(0.02, np.linspace(0.05, 0.95, 19), rng=0)
    >>> needed.state, 4000 < needed.rows < 7000, needed.worst_case
    ('calibrated', True, 600000)
    """
    check_share("power", power)
    if tolerance < LEAST_TOLERANCE:
        raise InvalidOptionError(
            f"tolerance must be at least {LEAST_TOLERANCE:g}: no number of rows certifies less",
            repr(tolerance),
        )
    plan = _Plan.read(tolerance, predictions, truth, measure, confidence)
    rng = as_generator(rng)
    if abs(plan.error - tolerance) < TOO_CLOSE * tolerance:
        raise InvalidOptionError(
            "the error must not lie at the tolerance: no number of rows would tell them apart",
            f"an error of {plan.error:.3g} for a tolerance of {tolerance:g}",
        )
    state = CALIBRATED if plan.error < tolerance else MISCALIBRATED
    few, many = 16.0, 64.0
    while plan.chances(int(many), rng)[state] < power:
        few, many = many, 4 * many
        if many > MOST_ROWS:
            raise InvalidOptionError(
                "so sure a verdict takes too many rows", f"more than {MOST_ROWS:.0e}"
            )
    while many / few > 1.1:
        middle = np.sqrt(few * many)
        reached = plan.chances(int(middle), rng)[state] >= power
        few, many = (few, middle) if reached else (middle, many)
    rows = two_digits(many)
    worst = 16 * (np.sqrt(2) + np.sqrt(2 * np.log(1 / (1 - confidence)))) ** 2 / tolerance**2
    return RowsNeeded(
        rows, state, plan.chances(rows, rng)[state], plan.error, tolerance, two_digits(worst)
    )


def verdict_chances(
    rows: int,
    tolerance: float,
    predictions: object,
    *,
    truth: Callable[[Floats], object] | None = None,
    measure: AnyMeasure = smooth_calibration_error,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> dict[str, float]:
    """Tell how likely each verdict is with so many rows, by simulation.

    Parameters
    ----------
    rows : int
        Number of rows that will be collected.
    tolerance, predictions, truth, measure, confidence, rng
        As for `rows_needed`.

    Returns
    -------
    dict of str to float
        Chances of "calibrated", "miscalibrated" and "undecided".

    Examples
    --------
    >>> chances = verdict_chances(500, 0.02, np.linspace(0.05, 0.95, 19), rng=0)
    >>> chances["undecided"] > 0.9
    True
    """
    rows = whole("rows", rows, 1, int(MOST_ROWS))
    plan = _Plan.read(tolerance, predictions, truth, measure, confidence)
    return plan.chances(rows, as_generator(rng))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What samples will look like, and how they will be judged."""

    joint: Joint
    """Predictions to come, with the true chances as outcomes."""
    chance: Floats
    statistic: Statistic
    tolerance: float
    confidence: float

    @classmethod
    def read(
        cls,
        tolerance: float,
        predictions: object,
        truth: Callable[[Floats], object] | None,
        measure: AnyMeasure,
        confidence: float,
    ) -> _Plan:
        check_share("tolerance", tolerance)
        check_share("confidence", confidence)
        statistic = Statistic.of(measure)
        statistic.refuse_without_interval()
        if isinstance(predictions, Joint):
            joint = predictions
        else:
            scores = np.asarray(predictions, dtype=np.float64)
            joint = as_joint(np.zeros(scores.shape), scores)
        if len(joint) > RESOLUTION:
            joint = joint.rounded(RESOLUTION)
        chance = joint.prediction if truth is None else np.asarray(truth(joint.prediction), float)
        if chance.shape != joint.prediction.shape or not ((chance >= 0) & (chance <= 1)).all():
            raise InvalidOptionError("truth must return one chance in [0, 1] per prediction")
        return cls(joint, chance, statistic, tolerance, confidence)

    @property
    def error(self) -> float:
        """The population's error."""
        return float(self._values((self.chance - self.joint.prediction) * self.joint.mass)[0])

    def chances(self, rows: int, rng: np.random.Generator) -> dict[str, float]:
        """Share of simulated samples that get each verdict.

        The half-width hardly varies from sample to sample: the mean over a few of them stands for
        all.
        """
        counts = rng.multinomial(rows, self.joint.mass, size=SAMPLES)
        ones = rng.binomial(counts, self.chance)
        values = self._values((ones - counts * self.joint.prediction) / rows)
        half_width = np.mean([self._half_width(counts[i], ones[i], rng) for i in range(INTERVALS)])
        calibrated = float(np.mean(values + half_width <= self.tolerance))
        miscalibrated = float(np.mean(values - half_width > self.tolerance))
        return {
            CALIBRATED: calibrated,
            MISCALIBRATED: miscalibrated,
            UNDECIDED: 1 - calibrated - miscalibrated,
        }

    def _values(self, charges: Floats) -> Floats:
        return self.statistic.values(self.joint, np.atleast_2d(charges))

    def _half_width(self, count: Floats, ones: Floats, rng: np.random.Generator) -> float:
        sample = Joint.from_counts(self.joint.prediction, count, ones)
        evidence = Evidence.read(sample)
        settings = Settings(self.confidence, MULTIPLIERS, rng=rng)
        return find_interval(evidence, self.statistic, settings).half_width


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
        Error that is small enough.
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
    over these errors, reaches 0.5 and 0.9. For each error the sample to come is its charges in the
    shape of the witness plus the noise of the rows, both scaled to the number of rows; the
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
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> evidence = Evidence.read(rng.random(1000) < p, p)
    >>> smooth = Statistic.of(smooth_calibration_error)
    >>> interval = find_interval(evidence, smooth, Settings.read(rng=0))
    >>> low, high = rows_to_settle(evidence, smooth, interval, 0.02, rng=0)
    >>> 2000 < low < high < 60_000
    True
    """
    check_share("tolerance", tolerance)
    if evidence.lone or not 0 < interval.half_width < np.inf:
        return None
    outlook = _Outlook.of(evidence, statistic, interval, as_generator(rng))
    if outlook.as_good_as(tolerance):
        return None
    few, many = (outlook.rows(tolerance, chance) for chance in (AS_LIKELY_AS_NOT, VERY_PROBABLY))
    return None if few is None or many is None else (few, many)


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
        rng: np.random.Generator,
    ) -> _Outlook:
        joint = evidence.joint
        witness = statistic.function(joint, **statistic.options).witness  # type: ignore[attr-defined]
        shape = joint.mass * witness(joint.prediction)
        whole = float(statistic.values(joint, shape[np.newaxis])[0])
        if not whole > 0:  # no witness, no error to give a shape to: off by the same everywhere
            shape = joint.mass
            whole = float(statistic.values(joint, shape[np.newaxis])[0])
        parts = evidence.multiplied_charges(NOISES, rng, interval.confidence)
        noise = np.concatenate(list(parts)) * evidence.widening(1 - interval.confidence)
        usual = float(statistic.values(joint, noise).mean())
        strength = usual * LARGEST_ERROR * np.linspace(0, 1, ERRORS) ** 2
        shown = np.column_stack(
            [statistic.values(joint, noise + shape * (some / whole)) for some in strength]
        )
        most = interval.value + 2 * interval.half_width
        error = np.linspace(0, most, 4 * ERRORS)
        self = cls(evidence.given.row_count, interval.half_width, error, error, strength, shown)
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
        values, reach = self.values(self.error, noise), noise * self.half_width
        decided = (values + reach <= tolerance) | (values - reach > tolerance)
        return float(decided.mean(axis=0) @ self.plausible)

    def rows(self, tolerance: float, chance: float) -> int | None:
        """Rows at which the chance of a verdict is reached, to two digits."""
        few, many = 1.0, 64.0
        while self.settled(many, tolerance) < chance:
            few, many = many, 4 * many
            if many > MOST_ROWS:
                return None
        while many / few > 1.02:
            middle = np.sqrt(few * many)
            reached = self.settled(middle, tolerance) >= chance
            few, many = (few, middle) if reached else (middle, many)
        return two_digits(many)

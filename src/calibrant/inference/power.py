"""How many rows one measure will take to be decided, before they are collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import ShareOfRarer, as_generator, check_share, tolerance_from, whole
from calibrant._base.words import count_text, number_text, percent_text
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import find_interval
from calibrant.inference.rows_to_settle import MOST_ROWS, TOO_CLOSE, two_digits
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inference.verdicts import CALIBRATED, MISCALIBRATED, UNDECIDED
from calibrant.joint import Joint
from calibrant.measures.measurement import as_joint
from calibrant.measures.smooth import smooth_calibration_error

# Simulated samples use predictions rounded to this many cells.
RESOLUTION = 2**9
SAMPLES, MULTIPLIERS, INTERVALS = 400, 199, 8
LEAST_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """Rows after which one measure will probably be decided; by default the smooth error only."""

    rows: int
    """Rounded up to two digits."""
    state: str
    """What the measure will say: "calibrated" or "miscalibrated"."""
    power: float
    """Chance to reach it with so many rows."""
    error: float
    """The population's error."""
    tolerance: float
    worst_case: int
    """Rows of the bound for every distribution (Hu, Jambulapati, Tian and Yang 2024)."""
    measure: str = "smooth_calibration_error"
    """The measure planned for. The typical gap, which `verdict` judges as well, is not planned."""

    @property
    def sentence(self) -> str:
        """Say how many rows, for what, and what was left out."""
        name = self.measure.replace("_", " ")
        left_out = ""
        if self.measure == "smooth_calibration_error":
            left_out = " This is for the smooth error only: the typical gap was not planned for."
        return (
            f"With {count_text(self.rows, 'row')} the {name} is {self.state} within "
            f"{number_text(self.tolerance)} with a chance of {percent_text(self.power)}.{left_out}"
        )

    def __str__(self) -> str:
        return self.sentence


def rows_needed(
    tolerance: float | str,
    predictions: object,
    *,
    truth: Callable[[Floats], object] | None = None,
    measure: AnyMeasure = smooth_calibration_error,
    confidence: float = 0.95,
    power: float = 0.8,
    rng: np.random.Generator | int | None = None,
) -> RowsNeeded:
    """Simulate how many rows decide a measure, by default the smooth error only.

    `verdict` judges the typical gap as well, which is not planned for: forecasts with a slope that
    is off can be "calibrated" here and "miscalibrated" there.

    Parameters
    ----------
    tolerance : float or str
        Largest acceptable error, or "5%" for 5 % of the share of the rarer outcome.
    predictions : array-like or Joint
        Predictions like those to come: how they spread decides how many rows are needed.
    truth : callable, optional
        Chance of outcome 1 as a function of an array of predictions; by default the predictions
        themselves, perfect forecasts.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    confidence : float, default=0.95
        Confidence of the verdict.
    power : float, default=0.8
        Wanted chance that the measure is decided, and rightly so.
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
    >>> print(needed.sentence.partition(". ")[2])
    This is for the smooth error only: the typical gap was not planned for.
    """
    check_share("power", power)
    plan = _Plan.read(tolerance, predictions, truth, measure, confidence)
    rng, tolerance = as_generator(rng), plan.tolerance
    if tolerance < LEAST_TOLERANCE:
        raise InvalidOptionError(
            f"@tolerance must be at least {LEAST_TOLERANCE:g}: no number of rows certifies less",
            repr(tolerance),
        )
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
    chance = plan.chances(rows, rng)[state]
    name = plan.statistic.name
    return RowsNeeded(rows, state, chance, plan.error, tolerance, two_digits(worst), name)


def verdict_chances(
    rows: int,
    tolerance: float | str,
    predictions: object,
    *,
    truth: Callable[[Floats], object] | None = None,
    measure: AnyMeasure = smooth_calibration_error,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> dict[str, float]:
    """Simulate how likely each state of a measure is, by default of the smooth error only.

    `verdict` judges the typical gap as well, which is not planned for.

    Parameters
    ----------
    rows : int
        Number of rows that will be collected.
    tolerance, predictions, truth, measure, confidence, rng
        As for `rows_needed`.

    Returns
    -------
    dict of str to float
        Chances that the measure is "calibrated", "miscalibrated" or "undecided".

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
        tolerance: float | str,
        predictions: object,
        truth: Callable[[Floats], object] | None,
        measure: AnyMeasure,
        confidence: float,
    ) -> _Plan:
        allowed = tolerance_from("tolerance", tolerance)
        check_share("confidence", confidence)
        statistic = Statistic.of(measure)
        statistic.refuse_without_half_width()
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
        if isinstance(allowed, ShareOfRarer):
            rate = float(joint.mass @ chance)
            allowed = allowed.share * min(rate, 1 - rate)
        return cls(joint, chance, statistic, allowed, confidence)

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

    def _values(self, residual_masses: Floats) -> Floats:
        return self.statistic.values(self.joint, np.atleast_2d(residual_masses))

    def _half_width(self, count: Floats, ones: Floats, rng: np.random.Generator) -> float:
        sample = Joint.from_counts(self.joint.prediction, count, ones)
        evidence = Evidence.read(sample)
        settings = Settings(self.confidence, MULTIPLIERS, rng=rng)
        return find_interval(evidence, self.statistic, settings).half_width

"""How many rows a verdict, or one measure, will take, before they are collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import ShareOfRarer, as_generator, check_share, tolerance_from, whole
from calibrant._base.parallel import in_threads
from calibrant._base.words import count_text, number_text, percent_text
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import MOST_RANGES
from calibrant.inference.interval import find_interval
from calibrant.inference.rows_to_settle import MOST_ROWS, TOO_CLOSE, two_digits
from calibrant.inference.settings import GAP_TOLERANCE, Settings
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inference.verdicts import (
    CALIBRATED,
    MISCALIBRATED,
    UNDECIDED,
    state_of_sample,
)
from calibrant.joint import Joint
from calibrant.measures.measurement import as_joint
from calibrant.measures.smooth import smooth_calibration_error

# Simulated samples use predictions rounded to this many cells.
RESOLUTION = 2**9
SAMPLES, MULTIPLIERS, INTERVALS = 400, 199, 8
# Simulated verdicts, while rows are looked for and at the end, and multipliers of each.
FEW_VERDICTS, VERDICTS, FINAL_VERDICTS, DRAWS_OF_A_VERDICT = 30, 60, 240, 99
LEAST_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """Rows after which a verdict, or one measure, will probably be decided."""

    rows: int
    """Rounded up to two digits."""
    state: str
    """What will be said: "calibrated" or "miscalibrated"."""
    power: float
    """Chance to reach it with so many rows."""
    error: float
    """The population's error."""
    tolerance: float
    worst_case: int
    """Rows of the bound for every distribution (Hu, Jambulapati, Tian and Yang 2024)."""
    measure: str | None = None
    """The measure planned for; None for the verdict, on smooth error, typical gap and ratio."""

    @property
    def sentence(self) -> str:
        """Say how many rows, and for what."""
        what = "verdict" if self.measure is None else self.measure.replace("_", " ")
        return (
            f"With {count_text(self.rows, 'row')} the {what} is {self.state} within "
            f"{number_text(self.tolerance)} with a chance of {percent_text(self.power)}."
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
    """Simulate how many rows decide a verdict, with a chance of 80 %.

    Samples of the population that `truth` describes are judged as `verdict` judges them.

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
        The smooth error stands for the whole verdict, with the typical gap and observed over
        expected. Another measure that has a confidence interval is planned for alone.
    confidence : float, default=0.95
        Confidence of the verdict.
    power : float, default=0.8
        Wanted chance of the verdict that is right.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    RowsNeeded

    Examples
    --------
    >>> needed = rows_needed(0.02, np.linspace(0.05, 0.95, 19), rng=0)
    >>> needed.state, 3000 < needed.rows < 6000, needed.worst_case
    ('calibrated', True, 600000)
    """
    check_share("power", power)
    plan = _Plan.read(tolerance, predictions, truth, measure, confidence)
    rng, tolerance = as_generator(rng), plan.tolerance
    if tolerance < LEAST_TOLERANCE:
        raise InvalidOptionError(
            f"@tolerance must be at least {LEAST_TOLERANCE:g}: no number of rows certifies less",
            repr(tolerance),
        )
    if abs(plan.share - 1) < TOO_CLOSE:
        raise InvalidOptionError(
            "the error must not lie at the tolerance: no number of rows would tell them apart",
            f"an error of {plan.error:.3g} for a tolerance of {tolerance:g}"
            + (f", a typical gap of {plan.gap:.3g} for one of {plan.gap_tolerance:g}" * plan.whole),
        )
    state = CALIBRATED if plan.share < 1 else MISCALIBRATED
    few, many = 16.0, 64.0
    while plan.chances(int(many), rng, FEW_VERDICTS)[state] < power:
        few, many = many, 4 * many
        if many > MOST_ROWS:
            raise InvalidOptionError(
                "so sure a verdict takes too many rows", f"more than {MOST_ROWS:.0e}"
            )
    while many / few > (1.3 if plan.whole else 1.1):
        middle = np.sqrt(few * many)
        reached = plan.chances(int(middle), rng)[state] >= power
        few, many = (few, middle) if reached else (middle, many)
    rows = two_digits(many)
    while plan.whole and plan.chances(rows, rng, FINAL_VERDICTS)[state] < power:
        rows = two_digits(1.1 * rows)
    worst = 16 * (np.sqrt(2) + np.sqrt(2 * np.log(1 / (1 - confidence)))) ** 2 / tolerance**2
    chance = plan.chances(rows, rng, FINAL_VERDICTS)[state]
    name = None if plan.whole else plan.statistic.name
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
    """Simulate how likely each state of a verdict is, or of a single measure.

    Parameters
    ----------
    rows : int
        Number of rows that will be collected.
    tolerance, predictions, truth, measure, confidence, rng
        As for `rows_needed`.

    Returns
    -------
    dict of str to float
        Chances that the verdict is "calibrated", "miscalibrated" or "undecided".

    Examples
    --------
    >>> chances = verdict_chances(500, 0.02, np.linspace(0.05, 0.95, 19), rng=0)
    >>> chances["undecided"] > 0.9
    True
    """
    rows = whole("rows", rows, 1, int(MOST_ROWS))
    plan = _Plan.read(tolerance, predictions, truth, measure, confidence)
    return plan.chances(rows, as_generator(rng), FINAL_VERDICTS)


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

    @property
    def whole(self) -> bool:
        """Whether the verdict is planned for, rather than one measure."""
        return self.statistic.function is smooth_calibration_error and not self.statistic.options

    @property
    def gap_tolerance(self) -> float:
        """Largest acceptable typical gap."""
        return min(1.0, GAP_TOLERANCE * self.tolerance)

    @property
    def gap(self) -> float:
        """The population's typical gap, over 15 ranges of equal weight."""
        joint = self.joint
        part = np.minimum(
            (MOST_RANGES * (np.cumsum(joint.mass) - joint.mass / 2)).astype(int), MOST_RANGES - 1
        )
        mass = np.bincount(part, joint.mass, MOST_RANGES)
        off = np.bincount(part, (self.chance - joint.prediction) * joint.mass, MOST_RANGES)
        return float(np.sqrt((off[mass > 0] ** 2 / mass[mass > 0]).sum()))

    @property
    def share(self) -> float:
        """The population's error as a share of the tolerance, or its gap if that is more."""
        share = self.error / self.tolerance
        return max(share, self.gap / self.gap_tolerance) if self.whole else share

    def chances(
        self, rows: int, rng: np.random.Generator, samples: int = VERDICTS
    ) -> dict[str, float]:
        """Share of simulated samples that get each verdict."""
        if not self.whole:
            return self._chances_of_measure(rows, rng)
        counts = rng.multinomial(rows, self.joint.mass, size=samples)
        ones = rng.binomial(counts, self.chance)
        seeds = rng.integers(2**63, size=samples)
        settings = Settings(self.confidence, DRAWS_OF_A_VERDICT, self.tolerance)

        def state(sample: int) -> str:
            joint = Joint.from_counts(self.joint.prediction, counts[sample], ones[sample])
            return state_of_sample(Evidence.of_joint(joint), settings.again(int(seeds[sample])))

        states = in_threads(state, range(samples))
        return {
            name: states.count(name) / samples for name in (CALIBRATED, MISCALIBRATED, UNDECIDED)
        }

    def _chances_of_measure(self, rows: int, rng: np.random.Generator) -> dict[str, float]:
        """Share of samples in which the interval of one measure lies on either side.

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

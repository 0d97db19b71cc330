"""Calibrated, miscalibrated, or more rows needed: one answer with a plain sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import ConfidenceInterval, find_interval
from calibrant.inference.monte_carlo import CalibrationTest, run_test
from calibrant.inference.ratio import Ratio, find_ratio
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.joint import Joint
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.words import chance_text, count_text, percent_text

CALIBRATED, MISCALIBRATED, UNDECIDED = "calibrated", "miscalibrated", "undecided"
# The default tolerance is this much, or this share of the rarer outcome if that is less.
LARGEST_TOLERANCE, TOLERATED_SHARE = 0.02, 0.1
# Beside a base rate this close to 0 or 1 the ratio of observed to expected events is shown.
RARE = 0.1
# A p-value up to this is called detectable.
DETECTABLE = 0.05
# A gap that is this small beside the half-width would take more rows than anybody can have.
HOPELESS = 1e-9
# An error this close to the tolerance (as a share of it) is not settled by any number of rows.
TOO_CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether forecasts are calibrated within a tolerance, as far as the sample can tell."""

    state: str
    """"calibrated", "miscalibrated" or "undecided"."""
    interval: ConfidenceInterval
    """Where the population's error lies."""
    test: CalibrationTest
    """The error beside what a perfect forecaster would have scored."""
    tolerance: float
    """Error that is small enough."""
    rows: int
    rows_needed: int | None
    """Rows in all that would probably settle an undecided case; None if decided, or if the error
    is too close to the tolerance for any number of rows."""
    ratio: Ratio | None
    """Observed over expected events of the rarer outcome, when its share is below 0.1."""

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.interval.measure

    @property
    def value(self) -> float:
        """The error of the sample."""
        return self.interval.value

    @property
    def noise_floor(self) -> float:
        """Mean score of a perfect forecaster on these rows."""
        return self.test.noise_floor

    @property
    def pvalue(self) -> float:
        """Chance that a perfect forecaster scores at least this much."""
        return self.test.pvalue

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before acting on the verdict."""
        return self.interval.cautions

    @property
    def sentence(self) -> str:
        """Say the verdict in plain words."""
        interval = self.interval
        error = f"the {self.measure.replace('_', ' ')}"
        sure = f"({percent_text(interval.confidence)} confidence)"
        tolerance = f"{self.tolerance:.3g}"
        detected = self.pvalue <= DETECTABLE
        chance = f"p = {chance_text(self.pvalue)}"
        if self.state == CALIBRATED:
            found = f"detectably off ({chance}), and small" if detected else "nothing detectable"
            return (
                f"Calibrated within {tolerance}: {found}; {error} is at most "
                f"{rounded_up(interval.high)} {sure}."
            )
        if self.state == MISCALIBRATED:
            return (
                f"Miscalibrated: {error} is at least {rounded_down(interval.low)} {sure}, "
                f"beyond the tolerance of {tolerance}."
            )
        between = f"between {rounded_down(interval.low)} and {rounded_up(interval.high)} {sure}"
        if detected:
            said = (
                f"Undecided: not perfectly calibrated ({chance}), but this sample cannot say "
                f"whether {error} exceeds {tolerance}: it lies {between}."
            )
        else:
            said = (
                f"Undecided: {count_text(self.rows, 'row')} cannot certify {tolerance}; "
                f"{error} lies {between}."
            )
        return f"{said} {self._outlook()}"

    def _outlook(self) -> str:
        if self.rows_needed is None:
            return "The error is so close to the tolerance that more rows may not settle it."
        return f"About {count_text(self.rows_needed, 'row')} would probably settle it."

    def __str__(self) -> str:
        return self.sentence


def verdict(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure = smooth_calibration_error,
    tolerance: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Verdict:
    """Say whether forecasts are calibrated within a tolerance, are not, or cannot be judged yet.

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
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float, optional
        Error that is small enough. By default 0.02, or a tenth of the share of the rarer outcome
        if that is less.
    confidence : float, default=0.95
        Confidence of the interval that decides.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=999
        Redraws for the noise floor, and random multipliers for the interval. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Verdict
        "calibrated" when the whole interval lies within the tolerance, "miscalibrated" when all
        of it lies beyond, otherwise "undecided".

    Examples
    --------
    >>> outcomes, predictions = [1] * 6 + [0] * 6, [0.5] * 12
    >>> print(verdict(outcomes, predictions, rng=0))
    Undecided: 12 rows cannot certify 0.02; the smooth calibration error lies between 0 and 0.412
    (95 % confidence). About 8 200 rows would probably settle it.
    >>> verdict(outcomes * 2000, predictions * 2000, rng=0).state
    'calibrated'
    """
    settings = Settings.read(confidence=confidence, draws=draws, tolerance=tolerance, rng=rng)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    return find_verdict(evidence, Statistic.of(measure), settings)


def find_verdict(evidence: Evidence, statistic: Statistic, settings: Settings) -> Verdict:
    """Judge evidence that was read before."""
    joint = evidence.given
    given = settings.tolerance
    allowed = default_tolerance(joint) if given is None else given
    interval = find_interval(evidence, statistic, settings)
    test = run_test(evidence, statistic, settings.draws, settings.rng)
    state = state_of(interval.low, interval.high, allowed)
    needed = None
    if state == UNDECIDED:
        needed = _rows_that_settle(joint.row_count, interval, test.noise_floor, allowed)
    ratio = None
    if min(joint.base_rate, 1 - joint.base_rate) < RARE:
        ratio = find_ratio(evidence, settings.confidence, swapped=joint.base_rate > 0.5)
    return Verdict(state, interval, test, allowed, joint.row_count, needed, ratio)


def state_of(low: float, high: float, tolerance: float) -> str:
    """Say on which side of the tolerance an interval lies."""
    if high <= tolerance:
        return CALIBRATED
    return MISCALIBRATED if low > tolerance else UNDECIDED


def default_tolerance(joint: Joint) -> float:
    """Error that is small enough when nobody says: 0.02, or a tenth of the rarer outcome.

    Where only one outcome was seen the other is given one row of two more.

    Examples
    --------
    >>> default_tolerance(Joint.from_counts([0.01], [1000], [10]))
    0.001
    """
    rarer = min(joint.base_rate, 1 - joint.base_rate)
    if rarer <= 0:
        rarer = 1 / (joint.row_count + 2)
    return min(LARGEST_TOLERANCE, TOLERATED_SHARE * rarer)


def _rows_that_settle(
    rows: int, interval: ConfidenceInterval, noise_floor: float, tolerance: float
) -> int | None:
    """Rows at which the interval will probably lie on one side of the tolerance.

    Half-width and noise floor shrink with the root of the rows; what exceeds the noise floor is
    taken for the error that stays.
    """
    stays = max(0.0, interval.value - noise_floor)
    gap = abs(stays - tolerance)
    if gap < TOO_CLOSE * tolerance:
        return None
    reach = interval.half_width + (noise_floor if stays < tolerance else 0.0)
    if gap < HOPELESS * reach:
        return None
    return two_digits(max(rows, rows * (reach / gap) ** 2))


def two_digits(rows: float) -> int:
    """Round a number of rows up to two digits: more would promise too much."""
    step: int = 10 ** max(0, int(np.floor(np.log10(rows))) - 1)
    return int(np.ceil(rows / step)) * step


def rounded_up(value: float) -> str:
    """Write an upper bound with three digits, none of them too small."""
    return _rounded(value, np.ceil)


def rounded_down(value: float) -> str:
    """Write a lower bound with three digits, none of them too large."""
    return _rounded(value, np.floor)


def _rounded(value: float, direction: np.ufunc) -> str:
    if value <= 0:
        return "0"
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return f"{direction(value / unit) * unit:.3g}"

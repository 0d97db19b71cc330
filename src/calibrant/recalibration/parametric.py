"""Calibrators with a handful of parameters: they move log-odds."""

from __future__ import annotations

import numpy as np

from calibrant._base.options import check_share, real, refuse_unknown, shown
from calibrant._base.words import percent_text
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.class_forms import ClassForm, Softmax, Unmoved
from calibrant.recalibration.forms import Form, Lines, Logistic
from calibrant.regression import (
    MOST_SLOPE,
    Model,
    log_of,
    one_class,
    platt_targets,
    separated,
    solve,
    temperature_slope,
)

INTERCEPT = Model(("one",), (0.0,), (-np.inf,), (np.inf,), "log_odds")
SLOPE = Model(("log_odds",), (1.0,), (1 / MOST_SLOPE,), (MOST_SLOPE,))
LINE = Model(("one", "log_odds"), (0.0, 1.0), (-np.inf, -MOST_SLOPE), (np.inf, MOST_SLOPE))
RISING = Model(("one", "log_odds"), (0.0, 1.0), (-np.inf, 0.0), (np.inf, MOST_SLOPE))
CURVE = Model(
    ("one", "log_low", "log_high"),
    (0.0, 1.0, 1.0),
    (-np.inf, 0.0, 0.0),
    (np.inf, MOST_SLOPE, MOST_SLOPE),
)
PLAIN = (0.0, 1.0)
STRAIGHT = Lines.between([0.0, 1.0], [0.0, 1.0])
# Larger ratios come from forecasts of exactly 0 or 1, whose odds are no number to report.
LARGEST_RATIO = 1e9
SMOOTHINGS = ("platt", "none")
ONE_OUTCOME = "only one outcome was seen"
PARTED = "a threshold parts the outcomes seen, so that Platt's smoothed targets were used"


class Identity(Calibrator):
    """Leave predictions as they are: the calibrator to beat.

    Examples
    --------
    >>> Identity().fit([0.2, 0.7], [0, 1]).transform([0.3])
    array([0.3])
    """

    method = "identity"
    title = "no recalibration"
    for_classes = True
    simple = True

    def _fitted(self, joint: Joint) -> Form:  # noqa: ARG002
        return STRAIGHT

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:  # noqa: ARG002
        return Unmoved()

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        return "Forecasts are left as they are."


def unmoved() -> Identity:
    """Return the identity as if it were fitted to two outcomes: it learns nothing from them."""
    made = Identity()
    made.form_ = STRAIGHT
    return made


class PriorCorrection(Calibrator):
    """Multiply all odds by one number: for another base rate, or for rows that were resampled.

    Parameters
    ----------
    sampling_rate : float, optional
        Share of the rows with outcome 0 that was kept when the model was trained, while all rows
        with outcome 1 were. Odds are multiplied by it; nothing is learned.
    base_rate : float, optional
        Base rate where the calibrator will be used; that of the fitted rows is where it comes from.
        Without either, the number is learned: the mean forecast becomes the base rate of the rows.

    Attributes
    ----------
    odds_ratio_ : float
        What odds are multiplied by.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI. Saerens, Latinne, Decaestecker
    (2002), Adjusting the outputs of a classifier to new a priori probabilities, Neural Computation.

    Examples
    --------
    >>> shift = PriorCorrection(sampling_rate=0.1).fit([0.5, 0.5], [0, 1])
    >>> shift.transform([0.5]), shift.sentence
    (array([0.09090909]), 'Odds are divided by 10: forecasts were too high overall.')
    """

    method = "prior"
    title = "prior correction"
    simple = True
    learned = ("odds_ratio_", "note_")
    odds_ratio_: float
    note_: str

    def __init__(self, sampling_rate: float | None = None, base_rate: float | None = None) -> None:
        self.sampling_rate = sampling_rate
        self.base_rate = base_rate

    def _fitted(self, joint: Joint) -> Form:
        self.note_ = ""
        if self.sampling_rate is not None and self.base_rate is not None:
            raise InvalidOptionError(
                "give a sampling rate or a base rate", "both", "one of them says it all"
            )
        if self.sampling_rate is not None:
            if not 0 < real("sampling_rate", self.sampling_rate) <= 1:
                raise InvalidOptionError(
                    "sampling_rate must be in (0, 1]", shown(self.sampling_rate)
                )
            log_ratio = float(np.log(self.sampling_rate))
        elif self.base_rate is not None:
            log_ratio = self._towards(self.base_rate, joint)
        else:
            smoothing = platt_targets(joint) if one_class(joint) else PLAIN
            self.note_ = ONE_OUTCOME if one_class(joint) else ""
            (log_ratio,) = solve(joint, INTERCEPT, smoothing)
        self.odds_ratio_ = float(np.exp(log_ratio))
        return Logistic(log_ratio, 1.0, 1.0)

    def _towards(self, base_rate: float, joint: Joint) -> float:
        check_share("base_rate", base_rate)
        rate = joint.base_rate
        if one_class(joint):
            raise InvalidOptionError(
                "a shift to another base rate needs rows with both outcomes", ONE_OUTCOME
            )
        return float(np.log(base_rate / (1 - base_rate)) - np.log(rate / (1 - rate)))

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        ratio = self.odds_ratio_
        if ratio == 1:
            return "Odds stay as they are."
        if self.base_rate is not None:
            return f"Odds are {times(ratio)}, for a base rate of {percent_text(self.base_rate)}."
        too = "high" if ratio < 1 else "low"
        return noted(f"Odds are {times(ratio)}: forecasts were too {too} overall", self.note_)


class TemperatureScaling(Calibrator):
    """Divide log-odds by one number, the temperature: for over- or under-confident forecasts.

    A forecast of 1/2 stays; the ranking stays. The temperature lies between 1/100 and 100. With
    rows of more than two classes all log-probabilities are divided, and rows made to sum to one.

    Attributes
    ----------
    temperature_ : float
        What log-odds, or log-probabilities, are divided by: above 1 forecasts were over-confident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> predictions, outcomes = [0.1] * 10 + [0.9] * 10, [1] * 2 + [0] * 8 + [1] * 8 + [0] * 2
    >>> calibrator = TemperatureScaling().fit(predictions, outcomes)
    >>> calibrator.transform([0.1, 0.5]), calibrator.sentence
    (array([0.2, 0.5]), 'Over-confident: log-odds are divided by 1.58.')
    >>> calibrator = TemperatureScaling().fit([[0.8, 0.1, 0.1]] * 8, [0, 0, 0, 0, 1, 1, 2, 2])
    >>> calibrator.transform([[0.8, 0.1, 0.1]]), calibrator.sentence
    (array([[0.5 , 0.25, 0.25]]), 'Over-confident: log-probabilities are divided by 3.')
    """

    method = "temperature"
    title = "temperature scaling"
    for_classes = True
    simple = True
    learned = ("temperature_", "note_")
    temperature_: float
    note_: str

    def _fitted(self, joint: Joint) -> Form:
        self.note_ = ""
        slope = 1.0
        if one_class(joint):
            self.note_ = ONE_OUTCOME
        else:
            self.note_ = PARTED if _all_right(joint) else ""
            (slope,) = solve(joint, SLOPE, platt_targets(joint) if self.note_ else PLAIN)
        self.temperature_ = 1 / slope
        return Logistic(0.0, slope, slope)

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        self.note_ = ""
        score = log_of(forecasts.probability)
        slope = temperature_slope(score, forecasts.label, forecasts.mass)
        self.temperature_ = 1 / slope
        count = len(forecasts.classes)
        return Softmax(np.full(count, slope), np.zeros(count))

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        what = "log-odds" if self.classes_ is None else "log-probabilities"
        return noted(_confidence(1 / self.temperature_, what), self.note_)


class PlattScaling(Calibrator):
    """Logistic regression of the outcome on the log-odds of the predictions (Platt scaling).

    Parameters
    ----------
    smoothing : {"platt", "none"}, default="platt"
        What the outcomes count as. "platt": 1 counts as (ones + 1) / (ones + 2) and 0 as
        1 / (zeros + 2), as Platt proposed, which keeps few rows from being believed too much.
        "none": 1 and 0.

    Attributes
    ----------
    slope_, intercept_ : float
        New log-odds are intercept + slope times the old ones.
    one_, zero_ : float
        What outcomes 1 and 0 counted as.

    Notes
    -----
    With one outcome or one prediction only, the slope is held at 1. The intercept is fitted
    together with the slope; calibration in the large, with the slope held at 1, is
    `PriorCorrection`.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, Advances in Large Margin
    Classifiers. Cox (1958), Two further applications of a model for binary regression, Biometrika.

    Examples
    --------
    >>> predictions, outcomes = [0.1] * 10 + [0.9] * 10, [1] + [0] * 9 + [1] * 6 + [0] * 4
    >>> calibrator = PlattScaling(smoothing="none").fit(predictions, outcomes)
    >>> calibrator.transform([0.1, 0.9])
    array([0.1, 0.6])
    """

    method = "platt"
    title = "Platt scaling"
    simple = True
    learned = ("slope_", "intercept_", "one_", "zero_", "note_")
    slope_: float
    intercept_: float
    one_: float
    zero_: float
    note_: str

    def __init__(self, smoothing: str = "platt") -> None:
        self.smoothing = smoothing

    def _fitted(self, joint: Joint) -> Form:
        refuse_unknown("smoothing", self.smoothing, SMOOTHINGS)
        self.note_ = hindrance(joint)
        smoothed = self.smoothing == "platt" or self.note_ == PARTED or one_class(joint)
        targets = platt_targets(joint) if smoothed else PLAIN
        self.zero_, self.one_ = targets
        if self.note_ in {"", PARTED}:
            self.intercept_, self.slope_ = solve(joint, LINE, targets)
        else:
            (self.intercept_,), self.slope_ = solve(joint, INTERCEPT, targets), 1.0
        return Logistic(self.intercept_, self.slope_, self.slope_)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        odds = f"odds are then {times(float(np.exp(self.intercept_)))}"
        return noted(f"{_confidence(self.slope_)[:-1]}; {odds}", self.note_)


class BetaCalibration(Calibrator):
    """Logistic regression on log(p) and log(1 - p): the odds p^low / (1 - p)^high times a number.

    Three parameters bend the two ends apart; the identity is among the calibrators, and all are
    monotone: low and high are not negative, and at most 100.

    Attributes
    ----------
    low_, high_, intercept_ : float
        New log-odds are intercept + low log(p) - high log(1 - p).

    References
    ----------
    Kull, Silva Filho, Flach (2017), Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers, AISTATS.

    Examples
    --------
    >>> predictions = [0.1] * 9 + [0.5] * 8 + [0.9] * 9
    >>> outcomes = [1, 0, 0] * 3 + [0, 1] * 4 + [1, 1, 0] * 3
    >>> calibrator = BetaCalibration().fit(predictions, outcomes)
    >>> calibrator.transform([0.1, 0.5, 0.9])
    array([0.33333333, 0.5       , 0.66666667])
    """

    method = "beta"
    title = "beta calibration"
    learned = ("low_", "high_", "intercept_", "note_")
    low_: float
    high_: float
    intercept_: float
    note_: str

    def _fitted(self, joint: Joint) -> Form:
        self.note_ = hindrance(joint)
        targets = platt_targets(joint) if one_class(joint) or self.note_ == PARTED else PLAIN
        if len(joint) == 2 and self.note_ in {"", PARTED}:  # two levels know no more than a line
            self.intercept_, self.low_ = solve(joint, RISING, targets)
            self.high_ = self.low_
        elif self.note_ in {"", PARTED}:
            self.intercept_, self.low_, self.high_ = solve(joint, CURVE, targets)
        else:
            (self.intercept_,) = solve(joint, INTERCEPT, targets)
            self.low_ = self.high_ = 1.0
        return Logistic(self.intercept_, self.low_, self.high_)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        near = (
            f"Near 0 log-odds are multiplied by {self.low_:.3g}, near 1 by {self.high_:.3g}; "
            f"odds are then {times(float(np.exp(self.intercept_)))}"
        )
        return noted(near, self.note_)


def hindrance(joint: Joint) -> str:
    """Say why slopes cannot be learned as they are, if they cannot."""
    if one_class(joint):
        return f"{ONE_OUTCOME}: slopes are held at 1"
    if len(joint) == 1:
        return "all forecasts are equal: slopes are held at 1"
    return PARTED if separated(joint) else ""


def _all_right(joint: Joint) -> bool:
    """Whether every forecast was on the side of its outcome, so that the best slope is infinite."""
    below = int(np.searchsorted(joint.prediction, 0.5))
    above = int(np.searchsorted(joint.prediction, 0.5, side="right"))
    missed = joint.positives[:below].any() or (joint.positives[above:] < joint.weight[above:]).any()
    return not missed and above - below < len(joint)


def times(ratio: float) -> str:
    """Say what a ratio does to a number."""
    if not 1 / LARGEST_RATIO < ratio < LARGEST_RATIO:
        return f"{'multiplied' if ratio > 1 else 'divided'} by more than {LARGEST_RATIO:,.0f}"
    return f"multiplied by {ratio:.3g}" if ratio >= 1 else f"divided by {1 / ratio:.3g}"


def _confidence(slope: float, what: str = "log-odds") -> str:
    if slope < 0:
        return f"Reversed: {what} are multiplied by {slope:.3g}."
    if slope < 1:
        return f"Over-confident: {what} are {times(slope)}."
    if slope > 1:
        return f"Under-confident: {what} are {times(slope)}."
    return f"{what.capitalize()} keep their scale."


def noted(sentence: str, note: str) -> str:
    """Add a note to a sentence, if there is one."""
    sentence = sentence.rstrip(".")
    return f"{sentence} ({note})." if note else f"{sentence}."

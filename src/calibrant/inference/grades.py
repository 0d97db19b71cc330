"""Tests of rating grades, as credit risk quotes them: whether a forecast is too low."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.words import count_text, forecast_and_rate, visible
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.errors import InferenceRefusedError, InvalidForecastsError
from calibrant.joint import Joint
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.measures.measurement import read_source


@dataclass(frozen=True, slots=True)
class GradeTest:
    """A grade: its mean forecast beside its events, and two p-values that it is too low."""

    grade: str
    rows: int
    events: int
    mean_prediction: float
    """Mean forecast of the grade (its PD)."""
    binomial: float
    """One-sided p-value of the binomial test: chance of so many events or more."""
    jeffreys: float
    """One-sided p-value of the Jeffreys test: posterior chance that the rate is at most the
    forecast, from the prior BetaCalibration(1/2, 1/2)."""

    @property
    def base_rate(self) -> float:
        """Observed rate of the grade."""
        return self.events / self.rows

    @property
    def sentence(self) -> str:
        """Say it in plain words."""
        return (
            f"{visible(self.grade)}: {forecast_and_rate(self.mean_prediction, self.base_rate)}, "
            f"{count_text(self.rows, 'row')}; p = {self.binomial:.2g} (binomial), "
            f"{self.jeffreys:.2g} (Jeffreys)"
        )


def grade_tests(
    y_true: object, y_proba: object, grades: object, *, pos_label: object = None
) -> tuple[GradeTest, ...]:
    """Test for every rating grade whether its forecast is too low.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes: default or not.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    grades : array-like of shape (n,)
        The grade of each row.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    tuple of GradeTest
        One for each grade, in the order of their labels.

    Notes
    -----
    Both tests are one-sided: small p-values say that more events happened than were forecast. The
    binomial test never rejects more often than its level; a grade with different forecasts is
    tested with their mean, which makes it more cautious still. The Jeffreys test, which banks in
    Europe must report, is about half a case less cautious: near its level on average, and above it
    for some forecasts. Known flaw: defaults that depend on each other (one economy) make both
    reject too often; and of many grades some will be small by chance: judge k grades by level / k.

    References
    ----------
    European Central Bank (2019), Instructions for reporting the validation results of internal
    models, section 2.5.3.

    Examples
    --------
    >>> defaults = [1] * 8 + [0] * 92 + [1] * 2 + [0] * 98
    >>> for grade in grade_tests(defaults, [0.03] * 200, ["B"] * 100 + ["A"] * 100):
    ...     print(grade.sentence)
    A: mean forecast 0.03, observed rate 0.02, 100 rows; p = 0.81 (binomial), 0.7 (Jeffreys)
    B: mean forecast 0.03, observed rate 0.08, 100 rows; p = 0.011 (binomial), 0.0059 (Jeffreys)
    """
    from scipy.special import betainc

    refuse_other_labels(y_true=y_true, y_proba=y_proba, grades=grades)
    source = read_source(y_true, y_proba, None, pos_label)
    if isinstance(source, Joint):
        raise InvalidForecastsError("grades need rows", "a Joint", "pass @y_true and @y_proba")
    joint, rows = Joint.checked(source)
    refuse_mean_outcomes(joint)
    labels = read_labels(grades, "grades", rows.prediction.size)
    names, grade = np.unique(labels, return_inverse=True)
    count = np.bincount(grade)
    events = np.bincount(grade, np.asarray(rows.outcome, dtype=np.float64))
    mean = np.bincount(grade, rows.prediction) / count
    if not ((mean > 0) & (mean < 1)).all():
        raise InferenceRefusedError(
            "a grade with forecasts of 0 or 1 only cannot be tested",
            visible(str(names[~((mean > 0) & (mean < 1))][0])),
        )
    some = np.maximum(events, 1)
    binomial = np.where(events > 0, betainc(some, count - some + 1, mean), 1.0)
    jeffreys = betainc(events + 0.5, count - events + 0.5, mean)
    return tuple(
        GradeTest(str(name), int(n), int(k), float(p), float(b), float(j))
        for name, n, k, p, b, j in zip(
            names.tolist(), count, events, mean, binomial, jeffreys, strict=True
        )
    )

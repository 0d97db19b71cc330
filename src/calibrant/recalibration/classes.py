"""Multiclass calibrators: of all log-probabilities, or of each class by itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.binning import isotonic
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.class_forms import ClassForm, ClassLines, Softmax
from calibrant.recalibration.forms import Form, Lines
from calibrant.regression import fit_scores, log_of

# A matrix of weights is fitted for at most so many classes.
MOST_CLASSES = 50


class MulticlassCalibrator(Calibrator):
    """A calibrator that needs all probabilities of a row."""

    for_two: ClassVar[bool] = False
    for_classes: ClassVar[bool] = True
    classes_: tuple[Any, ...]

    def _fitted(self, joint: Joint) -> Form:  # noqa: ARG002
        raise InvalidForecastsError(
            f"{self._class_name} needs a row of probabilities, one for each class",
            "a Joint of two outcomes",
            "pass @y_proba of shape (n, K)",
        )


class ScoreCalibrator(MulticlassCalibrator):
    """A calibrator that adds a shift to the score of each class, then makes rows sum to one."""

    form_: Softmax

    @property
    def shift_(self) -> Floats:
        """What is added, for each class."""
        return self.form_.shift

    def _sentence_of(self, what: str) -> str:
        self._require_fitted()
        most = int(np.argmax(np.abs(self.shift_)))
        more = "up" if self.shift_[most] > 0 else "down"
        return f"{what}; class {self.classes_[most]} is shifted {more} most."


class VectorScaling(ScoreCalibrator):
    """Give each class a factor for its log-probability and a shift, then make rows sum to one.

    Parameters
    ----------
    penalty : float, default=1e-3
        Weight of the mean squares of the shifts and of the factors less one, beside the mean log
        loss: keeps classes with few rows near what they were.

    Attributes
    ----------
    factor_, shift_ : array of length K
        What log-probabilities are multiplied by, and what is added.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 8, [0, 0, 0, 0, 0, 0, 1, 1]
    >>> VectorScaling().fit(rows, labels).transform(rows[:1]).round(1)
    array([[0.7, 0.2, 0. ]])
    """

    method = "vector"
    title = "vector scaling"

    def __init__(self, penalty: float = 1e-3) -> None:
        self.penalty = penalty

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        weight, shift = _scores(forecasts, self.penalty, diagonal=True)
        return Softmax(np.diag(weight).copy(), shift)

    @property
    def factor_(self) -> Floats:
        """What log-probabilities are multiplied by, for each class."""
        return self.form_.weight

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        low, high = self.factor_.min(), self.factor_.max()
        return self._sentence_of(f"Log-probabilities are multiplied by {low:.3g} to {high:.3g}")


class DirichletCalibration(ScoreCalibrator):
    """Multinomial logistic regression on all log-probabilities (Dirichlet calibration).

    Parameters
    ----------
    penalty : float, default=1e-3
        Weight of the mean squares of the shifts and of the matrix less the identity, beside the
        mean log loss.

    Attributes
    ----------
    weight_ : array of shape (K, K)
        New scores are log-probabilities times this matrix ...
    shift_ : array of length K
        ... plus this.

    Notes
    -----
    The penalty also holds the diagonal, where Kull et al. hold only the other entries: with few
    rows the calibrator then falls back to no calibrator. It has K^2 + K numbers, so it is refused
    beyond 50 classes.

    References
    ----------
    Kull, Perello-Nieto, Kaengsepp, Silva Filho, Song, Flach (2019), Beyond temperature scaling:
    obtaining well-calibrated multiclass probabilities with Dirichlet calibration, NeurIPS.

    Examples
    --------
    >>> rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 8
    >>> calibrator = DirichletCalibration().fit(rows, [0, 1, 2, 1] * 4)
    >>> calibrator.transform(rows[:2]).round(1)
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]])
    """

    method = "dirichlet"
    title = "Dirichlet calibration"

    def __init__(self, penalty: float = 1e-3) -> None:
        self.penalty = penalty

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        if len(forecasts.classes) > MOST_CLASSES:
            raise InvalidOptionError(
                f"a matrix is fitted for at most {MOST_CLASSES} classes",
                f"{len(forecasts.classes)}",
                "use Temperature or VectorScaling",
            )
        return Softmax(*_scores(forecasts, self.penalty, diagonal=False))

    @property
    def weight_(self) -> Floats:
        """Matrix that log-probabilities are multiplied by."""
        return self.form_.weight

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        change = np.abs(self.weight_ - np.eye(len(self.classes_)))
        np.fill_diagonal(change, 0.0)
        source, target = np.unravel_index(int(np.argmax(change)), change.shape)
        return (
            f"All log-probabilities speak for all classes; most of all that of class "
            f"{self.classes_[source]} for class {self.classes_[target]}."
        )


class OneVsRestIsotonicCalibration(MulticlassCalibrator):
    """Isotonic regression of each class, then the nearest point whose entries sum to one.

    Values stay away from 0 and 1 by half a row in all rows and one.

    References
    ----------
    Zadrozny, Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 8, [0, 0, 0, 0, 1, 1, 2, 2]
    >>> OneVsRestIsotonicCalibration().fit(rows, labels).transform(rows[:1])
    array([[0.5 , 0.25, 0.25]])
    """

    method = "one_vs_rest_isotonic"
    title = "one-vs-rest isotonic calibration"
    form_: ClassLines

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        count = len(forecasts.classes)
        least = min(0.5 / (len(forecasts) + 1), 1 / count)
        return ClassLines(tuple(_increasing(joint) for _, joint in forecasts.class_wise()), least)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return "Each class has an increasing function of its own; rows are moved to sum to one."


def _scores(forecasts: ClassForecasts, penalty: float, *, diagonal: bool) -> tuple[Floats, Floats]:
    """Matrix and shifts of the scores that minimise the penalised log loss."""
    score = log_of(forecasts.probability)
    return fit_scores(score, forecasts.label, forecasts.mass, penalty, diagonal=diagonal)


def _increasing(joint: Joint) -> Lines:
    """Isotonic regression: flat over a pool, linear between pools."""
    pools = isotonic(joint)
    value = np.maximum.accumulate(pools.joint.outcome)
    knot = np.column_stack([pools.low, pools.high]).ravel()
    return Lines.between(knot, np.clip(np.repeat(value, 2), 0.0, 1.0))

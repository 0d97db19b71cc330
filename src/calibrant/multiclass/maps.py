"""Maps that recalibrate probabilities of many classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from calibrant import pooling
from calibrant.arrays import Floats
from calibrant.data.classes import read_probabilities
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.regression import fit_scores, log_of, softmax_of, temperature_slope
from calibrant.repair.estimator import Estimator

# A matrix of weights is fitted for at most so many classes.
MOST_CLASSES = 50


class ClassMap(Estimator):
    """A map of rows of probabilities that is fitted to labels: an estimator as in scikit-learn."""

    fitted_by = "classes_"
    order: ClassVar[int]
    """Place among the maps from the simplest to the most flexible."""
    classes_: tuple[Any, ...]
    """Names of the classes it was fitted to."""

    def fit(
        self,
        y_proba: object,
        y_true: object = None,
        sample_weight: object = None,
        *,
        classes: Sequence[Any] | None = None,
    ) -> Self:
        """Fit the map to probabilities and labels.

        Parameters
        ----------
        y_proba : ClassForecasts, or array-like or frame of shape (n, K)
            Forecasts read before, or the probabilities.
        y_true : array-like of shape (n,), optional
            Labels; left out with ClassForecasts.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        classes : sequence of length K, optional
            Names of the classes in the order of the columns.

        Returns
        -------
        The map itself.
        """
        if isinstance(y_proba, ClassForecasts):
            forecasts = as_forecasts(y_proba, y_true, classes, sample_weight)
        else:
            forecasts = as_forecasts(y_true, y_proba, classes, sample_weight)
        self.classes_ = forecasts.classes
        self._fit(forecasts)
        return self

    def transform(self, y_proba: object) -> Floats:
        """Recalibrate rows of probabilities; each still sums to one."""
        self._require_fitted()
        if isinstance(y_proba, ClassForecasts):
            return self._transform(y_proba.probability)
        table, _, _ = read_probabilities(y_proba, None, logits=False)
        if table.shape[1] != len(self.classes_):
            raise InvalidForecastsError(
                "probabilities must be of the classes that the map was fitted to",
                f"{table.shape[1]} columns for {len(self.classes_)} classes",
            )
        return self._transform(table)

    def fit_transform(
        self, y_proba: object, y_true: object = None, sample_weight: object = None
    ) -> Floats:
        """Fit, and recalibrate the same rows: for pipelines, never to judge a map."""
        return self.fit(y_proba, y_true, sample_weight).transform(y_proba)

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        raise NotImplementedError

    def _fit(self, forecasts: ClassForecasts) -> None:
        raise NotImplementedError

    def _transform(self, probability: Floats) -> Floats:
        raise NotImplementedError


class Identity(ClassMap):
    """Leave probabilities as they are: the map to beat.

    Examples
    --------
    >>> Identity().fit([[0.2, 0.8], [0.6, 0.4]], [1, 0]).transform([[0.3, 0.7]])
    array([[0.3, 0.7]])
    """

    order = 0

    def _fit(self, forecasts: ClassForecasts) -> None:
        """Learn nothing."""

    def _transform(self, probability: Floats) -> Floats:
        return probability

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        return "Forecasts are left as they are."


class Temperature(ClassMap):
    """Divide all log-probabilities by one number, the temperature, and make rows sum to one.

    The ranking of the classes of a row stays. The temperature lies between 1/100 and 100.

    Attributes
    ----------
    temperature_ : float
        What log-probabilities are divided by: above 1 forecasts were over-confident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 8, [0, 0, 0, 0, 1, 1, 2, 2]
    >>> map = Temperature().fit(rows, labels)
    >>> map.transform([[0.8, 0.1, 0.1]]), map.sentence
    (array([[0.5 , 0.25, 0.25]]), 'Over-confident: log-probabilities are divided by 3.')
    """

    order = 1
    temperature_: float

    def _fit(self, forecasts: ClassForecasts) -> None:
        self.temperature_ = 1 / _slope(forecasts)

    def _transform(self, probability: Floats) -> Floats:
        return softmax_of(log_of(probability) / self.temperature_)

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        t = self.temperature_
        if t >= 1:
            return f"Over-confident: log-probabilities are divided by {t:.3g}."
        return f"Under-confident: log-probabilities are multiplied by {1 / t:.3g}."


class VectorScaling(ClassMap):
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

    order = 2
    factor_: Floats
    shift_: Floats

    def __init__(self, penalty: float = 1e-3) -> None:
        self.penalty = penalty

    def _fit(self, forecasts: ClassForecasts) -> None:
        score = log_of(forecasts.probability)
        given = (score, forecasts.label, forecasts.mass, self.penalty)
        weight, self.shift_ = fit_scores(*given, diagonal=True)
        self.factor_ = np.diag(weight).copy()

    def _transform(self, probability: Floats) -> Floats:
        return softmax_of(log_of(probability) * self.factor_ + self.shift_)

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        most = int(np.argmax(np.abs(self.shift_)))
        more = "up" if self.shift_[most] > 0 else "down"
        return (
            f"Log-probabilities are multiplied by {self.factor_.min():.3g} to "
            f"{self.factor_.max():.3g}; class {self.classes_[most]} is shifted {more} most."
        )


class Dirichlet(ClassMap):
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
    rows the map then falls back to no map. It has K^2 + K numbers, so it is refused beyond 50
    classes.

    References
    ----------
    Kull, Perello-Nieto, Kaengsepp, Silva Filho, Song, Flach (2019), Beyond temperature scaling:
    obtaining well-calibrated multiclass probabilities with Dirichlet calibration, NeurIPS.

    Examples
    --------
    >>> rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 8
    >>> map = Dirichlet().fit(rows, [0, 1, 2, 1] * 4)
    >>> map.transform(rows[:2]).round(1)
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]])
    """

    order = 3
    weight_: Floats
    shift_: Floats

    def __init__(self, penalty: float = 1e-3) -> None:
        self.penalty = penalty

    def _fit(self, forecasts: ClassForecasts) -> None:
        if len(forecasts.classes) > MOST_CLASSES:
            raise InvalidOptionError(
                f"a matrix is fitted for at most {MOST_CLASSES} classes",
                f"{len(forecasts.classes)}",
                "use Temperature or VectorScaling",
            )
        score = log_of(forecasts.probability)
        given = (score, forecasts.label, forecasts.mass, self.penalty)
        self.weight_, self.shift_ = fit_scores(*given, diagonal=False)

    def _transform(self, probability: Floats) -> Floats:
        return softmax_of(log_of(probability) @ self.weight_ + self.shift_)

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        moved = np.abs(self.weight_ - np.eye(len(self.classes_)))
        np.fill_diagonal(moved, 0.0)
        source, target = np.unravel_index(int(np.argmax(moved)), moved.shape)
        return (
            f"All log-probabilities speak for all classes; most of all that of class "
            f"{self.classes_[source]} for class {self.classes_[target]}."
        )


class ClassWiseIsotonic(ClassMap):
    """Isotonic regression of each class, then the nearest point whose entries sum to one.

    Values stay away from 0 and 1 by half a row in all rows and one.

    Attributes
    ----------
    knot_, value_ : list of arrays
        Each class's function, linear between its knots.

    References
    ----------
    Zadrozny, Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 8, [0, 0, 0, 0, 1, 1, 2, 2]
    >>> ClassWiseIsotonic().fit(rows, labels).transform(rows[:1])
    array([[0.5 , 0.25, 0.25]])
    """

    order = 4
    knot_: list[Floats]
    value_: list[Floats]
    least_: float

    def _fit(self, forecasts: ClassForecasts) -> None:
        self.knot_, self.value_ = [], []
        self.least_ = 0.5 / (len(forecasts) + 1)
        for _, joint in forecasts.class_wise():
            knot, value = _increasing(joint)
            self.knot_.append(knot)
            self.value_.append(value)

    def _transform(self, probability: Floats) -> Floats:
        columns = [
            np.interp(column, knot, value)
            for column, knot, value in zip(probability.T, self.knot_, self.value_, strict=True)
        ]
        nearest = onto_simplex(np.stack(columns, axis=1))
        least = min(self.least_, 1 / nearest.shape[1])
        kept = np.maximum(nearest, least)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        return "Each class has an increasing function of its own; rows are moved to sum to one."


MAPS: dict[str, type[ClassMap]] = {
    kind.__name__: kind
    for kind in (Identity, Temperature, VectorScaling, Dirichlet, ClassWiseIsotonic)
}


def _slope(forecasts: ClassForecasts) -> float:
    """Factor of the log-probabilities that minimises the log loss."""
    return temperature_slope(log_of(forecasts.probability), forecasts.label, forecasts.mass)


def onto_simplex(table: Floats) -> Floats:
    """Nearest point (Euclidean) with entries that are not negative and sum to one, by rows.

    Held, Wolfe, Crowder (1974), Validation of subgradient optimization, Mathematical Programming.
    """
    falling = -np.sort(-table, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    count = np.arange(1, table.shape[1] + 1)
    kept = (falling * count > excess).sum(axis=1)
    shift = np.take_along_axis(excess, kept[:, np.newaxis] - 1, axis=1) / kept[:, np.newaxis]
    return np.asarray(np.maximum(table - shift, 0.0))


def _increasing(joint: Joint) -> tuple[Floats, Floats]:
    """Isotonic regression as knots and values: flat over a pool, linear between pools."""
    pools = pooling.isotonic(joint)
    value = np.maximum.accumulate(pools.joint.outcome)
    knot: Floats = np.column_stack([pools.low, pools.high]).ravel()
    return knot, np.repeat(value, 2)

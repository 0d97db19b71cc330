"""Views of class forecasts that binary measures understand, and one error per class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant.errors import InvalidOptionError
from calibrant.inference import AnyMeasure, Statistic
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.smooth import smooth_calibration_error


def top_label(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Joint:
    """Accuracy against confidence: the chance of the most likely class, and whether it was right.

    This is what most papers call calibration of a classifier. It says nothing about the chances
    of the other classes, and for two classes it is not the calibration of P(1).

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Joint
        For any binary measure, test or verdict. Of several most likely classes the first in order
        is the predicted one.

    Examples
    --------
    >>> import calibrant as cal
    >>> joint = top_label([0, 2, 1], [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2]])
    >>> joint.prediction, joint.outcome
    (array([0.6, 0.8]), array([1. , 0.5]))
    >>> cal.smooth_calibration_error(joint)
    0.093333
    """
    return as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits).top_label()


def top_k(
    y_true: object,
    y_proba: object = None,
    *,
    k: int,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Joint:
    """Chance of the k most likely classes together, and whether the label was among them.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    k : int
        How many classes, at least one and fewer than all.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Joint

    Examples
    --------
    >>> top_k([0, 2], [[0.5, 0.25, 0.25], [0.5, 0.375, 0.125]], k=2).prediction
    array([0.75 , 0.875])
    """
    return as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits).top_k(k)


def subset(
    y_true: object,
    y_proba: object = None,
    *,
    members: Sequence[object],
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Joint:
    """Chance of "one of these classes", and whether one of them happened.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    members : sequence
        Names of some classes, not all.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Joint
        Sums of two and more probabilities are rounded to multiples of 2^-40, so that equal ones
        are one level.

    Examples
    --------
    >>> probabilities = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]
    >>> subset([0, 2], probabilities, members=[0, 2]).prediction
    array([0.25, 0.75])
    """
    return as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits).subset(members)


def pairwise(
    y_true: object,
    y_proba: object = None,
    *,
    pair: Sequence[object],
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Joint:
    """Among rows of two classes: chance of the second given either, and whether it happened.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    pair : two names of classes
        The second one counts as outcome 1.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Joint
        Rows of other classes are not in it.

    Examples
    --------
    >>> pairwise([0, 1, 2], [[0.6, 0.2, 0.2], [0.4, 0.4, 0.2], [0.2, 0.2, 0.6]], pair=(0, 1))
    Joint(2 rows, 2 levels, mean prediction 0.375, base rate 0.5)
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    two: object = pair
    if not isinstance(two, list | tuple) or len(two) != 2:
        raise InvalidOptionError("pair must name two classes", shown(pair))
    return forecasts.pairwise(*two)


@dataclass(frozen=True, slots=True, eq=False)
class ClassWise:
    """A binary measure of every class, each against all others."""

    measure: str
    """Name of the measure."""
    classes: tuple[Any, ...]
    values: Floats
    """Value for each class."""
    prevalence: Floats
    """Share of each class among the labels."""
    forecasts: ClassForecasts

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        return zip(self.classes, self.values.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, name: object) -> float:
        return float(self.values[self.forecasts.position(name)])

    @property
    def worst_class(self) -> Any:
        """Class with the largest value; the first in order of several."""
        return self.classes[int(np.argmax(self.values))]

    @property
    def worst(self) -> float:
        """Largest value over the classes."""
        return float(self.values.max())

    @property
    def mean(self) -> float:
        """Mean value, every class counting alike."""
        return float(self.values.mean())

    @property
    def weighted(self) -> float:
        """Mean value, every class counting by its share of the labels."""
        return float(self.values @ self.prevalence)

    @property
    def sentence(self) -> str:
        """Name the worst class."""
        return (
            f"{self.measure.replace('_', ' ')} by class: {self.mean:.4g} on average, worst "
            f"{self.worst:.4g} for {self.worst_class}"
        )

    def __str__(self) -> str:
        return self.sentence

    def table(self) -> dict[str, list[Any]]:
        """Return one column per property of the classes."""
        return {
            "class": list(self.classes),
            "prevalence": self.prevalence.tolist(),
            "value": self.values.tolist(),
        }


def class_wise(
    y_true: object,
    y_proba: object = None,
    *,
    measure: AnyMeasure = smooth_calibration_error,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> ClassWise:
    """Measure every class against all others: event rate against the probability of the class.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    measure : str or callable, default=smooth_calibration_error
        A name of the catalogue, a measure (with options through `functools.partial`), or any
        function of a Joint.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    ClassWise
        `.values` by class, `.worst`, `.worst_class`, `.mean` and `.weighted` by prevalence.

    Notes
    -----
    A class that never happened counts like the others: its value is what its forecasts claim in
    vain. Known flaw of the mean: with many classes most probabilities are near 0, so most values
    are small whatever the forecasts are worth; look at the worst class and at the top label too.

    Examples
    --------
    >>> errors = class_wise([0, 2, 1], [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2]])
    >>> [round(value, 4) for _, value in errors]
    [0.2667, 0.1, 0.2067]
    >>> print(errors)
    smooth calibration error by class: 0.1911 on average, worst 0.2667 for 0
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    statistic = Statistic.of(measure)
    values = np.array([statistic.value(joint) for _, joint in forecasts.class_wise()])
    return ClassWise(statistic.name, forecasts.classes, values, forecasts.prevalence, forecasts)

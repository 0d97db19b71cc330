"""Calibrators of many classes around a temperature: shifts, factors, a matrix, a mixture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_positive
from calibrant.data import canonical_order
from calibrant.errors import InvalidOptionError
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration.class_forms import Blend, ClassForm, Softmax
from calibrant.recalibration.classes import MulticlassCalibrator, ScoreCalibrator
from calibrant.regression import (
    MATRIX,
    SHIFT,
    VECTOR,
    Parts,
    blend_shares,
    fit_structured,
    log_of,
    softmax_of,
    temperature_slope,
)

# A matrix is fitted for at most so many classes: it has K^2 numbers, and a step costs n K^2.
MOST_IN_MATRIX = 1000


class _Structured(ScoreCalibrator):
    """A temperature, and ridges around it."""

    learned = ("temperature_",)
    parts = VECTOR
    temperature_: float
    strength: float

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        check_positive("strength", self.strength)
        forecasts = _in_their_order(forecasts)
        score = log_of(forecasts.probability)
        slope = temperature_slope(score, forecasts.label, forecasts.mass)
        self.temperature_ = 1 / slope
        return _fit(forecasts, score * slope, slope, self.parts, self.strength)


class MulticlassPriorCorrection(ScoreCalibrator):
    """Give each class a shift of its log-probability: for other base rates of the classes.

    Parameters
    ----------
    strength : float, default=1.0
        The ridge on the shifts is strength K / n beside the mean log loss, so that classes with
        few rows are believed little.

    Attributes
    ----------
    shift_ : array of length K
        What is added to log-probabilities before rows are made to sum to one.

    Notes
    -----
    The mean forecast of each class becomes its share of the rows, up to the ridge.

    References
    ----------
    Saerens, Latinne, Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities, Neural Computation. Alexandari, Kundaje, Shrikumar (2020), Maximum likelihood
    with bias-corrected calibration is hard-to-beat at label shift adaptation, ICML.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3]] * 100, [0, 1, 1, 2] * 50
    >>> MulticlassPriorCorrection().fit(rows, labels).transform(rows).mean(axis=0).round(2)
    array([0.28, 0.48, 0.24])
    """

    method = "multiclass_prior"
    title = "multiclass prior correction"

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        check_positive("strength", self.strength)
        forecasts = _in_their_order(forecasts)
        return _fit(forecasts, log_of(forecasts.probability), 1.0, SHIFT, self.strength)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        most, least = int(np.argmax(self.shift_)), int(np.argmin(self.shift_))
        names = self.classes_
        return f"Class {names[most]} is shifted up most, class {names[least]} down most."


class StructuredVectorScaling(_Structured):
    """Temperature, then a factor and a shift for each class, held by a ridge (SVS).

    Parameters
    ----------
    strength : float, default=1.0
        The ridge is strength K / n on the squares of the shifts and of the factors less one,
        beside the mean log loss of n rows of K classes. The temperature is free.

    Attributes
    ----------
    temperature_ : float
        What log-probabilities are divided by first.
    factor_, shift_ : array of length K
        What log-probabilities are multiplied by in all, and what is added.

    Notes
    -----
    Beside `VectorScaling`, whose penalty is the same for any number of rows, it falls back to the
    temperature where rows are few, not to no calibrator.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 80, [0] * 60 + [1] * 15 + [2] * 5
    >>> StructuredVectorScaling().fit(rows, labels).transform(rows[:1]).round(2)
    array([[0.75, 0.18, 0.07]])
    """

    method = "structured_vector"
    title = "structured vector scaling"

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

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


class StructuredMatrixScaling(_Structured):
    """Temperature, then a matrix and shifts, its diagonal and the rest held by ridges (SMS).

    Parameters
    ----------
    strength : float, default=1.0
        The ridges are strength K / n on shifts and diagonal, and strength K (K - 1) / n on what is
        off the diagonal, beside the mean log loss of n rows of K classes. The temperature is free.

    Attributes
    ----------
    temperature_ : float
        What log-probabilities are divided by first.
    weight_ : array of shape (K, K)
        New scores are log-probabilities times this matrix ...
    shift_ : array of length K
        ... plus this.

    Notes
    -----
    With few rows it is nearly `StructuredVectorScaling`, with fewer nearly the temperature, so it
    can be tried with many classes where `DirichletCalibration` cannot. At most 1000 classes.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 80, [0, 1, 2, 1] * 40
    >>> StructuredMatrixScaling().fit(rows, labels).transform(rows[:2]).round(1)
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]])
    """

    method = "structured_matrix"
    title = "structured matrix scaling"
    parts = MATRIX

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        if len(forecasts.classes) > MOST_IN_MATRIX:
            raise InvalidOptionError(
                f"a matrix is fitted for at most {MOST_IN_MATRIX} classes",
                f"{len(forecasts.classes)}",
                "use StructuredVectorScaling",
            )
        return super()._fitted_to_classes(forecasts)

    @property
    def weight_(self) -> Floats:
        """Matrix that log-probabilities are multiplied by."""
        return self.form_.weight

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        low, high = np.diag(self.weight_).min(), np.diag(self.weight_).max()
        rest = np.abs(self.weight_ - np.diag(np.diag(self.weight_))).max()
        return self._sentence_of(
            f"Log-probabilities are multiplied by {low:.3g} to {high:.3g}, those of other classes "
            f"by at most {rest:.3g}"
        )


class EnsembleTemperatureScaling(MulticlassCalibrator):
    """A mixture: forecasts at the best temperature, forecasts as they are, and equal shares.

    Attributes
    ----------
    temperature_ : float
        What log-probabilities are divided by in the first part.
    shares_ : array of length 3
        Shares of the three parts; they sum to one.

    Notes
    -----
    Rankings of the classes within a row stay. The temperature is that of `TemperatureScaling`;
    given it, the shares of least log loss are a convex problem.

    References
    ----------
    Zhang, Kailkhura, Han (2020), Mix-n-match: ensemble and compositional methods for uncertainty
    calibration in deep learning, ICML.

    Examples
    --------
    >>> rows, labels = [[0.9, 0.05, 0.05]] * 8, [0, 0, 0, 0, 1, 1, 2, 2]
    >>> EnsembleTemperatureScaling().fit(rows, labels).transform(rows[:1]).round(2)
    array([[0.5 , 0.25, 0.25]])
    """

    method = "ensemble_temperature"
    title = "ensemble temperature scaling"
    # Three numbers for any number of classes, two of them shares: few rows can fit them.
    simple = True
    learned = ("temperature_",)
    temperature_: float
    form_: Blend

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        forecasts = _in_their_order(forecasts)
        score = log_of(forecasts.probability)
        label, mass, count = forecasts.label, forecasts.mass, len(forecasts.classes)
        slope = temperature_slope(score, label, mass)
        self.temperature_ = 1 / slope
        rows = np.arange(label.size)
        parts = [softmax_of(score * slope)[rows, label], forecasts.probability[rows, label]]
        chance = np.column_stack([*parts, np.full(label.size, 1 / count)])
        return Blend(slope, blend_shares(chance, mass))

    @property
    def shares_(self) -> Floats:
        """Shares of the forecasts at the temperature, as they are, and of equal ones."""
        return self.form_.share

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        at, plain, equal = (f"{share:.2f}" for share in self.shares_)
        return (
            f"A mixture: {at} of the forecasts with log-probabilities divided by "
            f"{self.temperature_:.3g}, {plain} of them as they are, {equal} of equal shares."
        )


def _fit(
    forecasts: ClassForecasts, score: Floats, slope: float, parts: Parts, strength: float
) -> Softmax:
    """Fit shifts, factors or a matrix to scores that were multiplied by a slope."""
    weight, shift = fit_structured(
        score, forecasts.label, forecasts.mass, len(forecasts), parts, strength
    )
    return Softmax(weight * slope, shift)


def _in_their_order(forecasts: ClassForecasts) -> ClassForecasts:
    """Order rows by what they hold: a descent enlarges the rounding of sums in another order."""
    order = canonical_order(forecasts.probability, forecasts.label, forecasts.weight)
    return replace(
        forecasts,
        probability=forecasts.probability[order],
        label=forecasts.label[order],
        weight=None if forecasts.weight is None else forecasts.weight[order],
    )

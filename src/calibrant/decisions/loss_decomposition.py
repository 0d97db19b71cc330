"""The mean loss of real forecasts in three parts: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.data import canonical_order
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.notebook import card
from calibrant.regression import isotonic_fit
from calibrant.words import number_text, percent_text


@dataclass(frozen=True, slots=True)
class LossDecomposition:
    """A mean loss, and the three parts it is made of.

    loss = miscalibration - discrimination + uncertainty.
    """

    loss: float
    """Mean loss of the forecasts."""
    miscalibration: float
    """What the best increasing recalibration would save."""
    discrimination: float
    """What recalibrated forecasts save against the best constant."""
    uncertainty: float
    """Mean loss of the best constant: the mean, quantile or expectile of all outcomes."""
    kind: str
    """What the forecasts are forecasts of."""
    name: str
    """The loss."""
    pools: int
    """How many different values recalibrated forecasts have."""

    @property
    def explained(self) -> float:
        """Share of the uncertainty that forecasts save, as they are; R squared for means.

        Negative for forecasts that are worse than the best constant; NaN without uncertainty.
        """
        saved = self.discrimination - self.miscalibration
        return saved / self.uncertainty if self.uncertainty > 0 else np.nan

    @property
    def sentence(self) -> str:
        """Say what the parts are."""
        return (
            f"The {self.name} of {number_text(self.loss)} is miscalibration "
            f"{number_text(self.miscalibration)} - discrimination "
            f"{number_text(self.discrimination)} + uncertainty {number_text(self.uncertainty)}"
            f"{self._saved}."
        )

    @property
    def _saved(self) -> str:
        if not np.isfinite(self.explained):
            return ""
        if self.explained < 0:
            return "; the best constant does better"
        return f"; forecasts save {percent_text(self.explained)} of the uncertainty"

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)


def loss_decomposition(
    y_true: object,
    y_pred: object = None,
    *,
    kind: object = "mean",
    sample_weight: object = None,
) -> LossDecomposition:
    """Split the mean loss of real forecasts into miscalibration, discrimination, uncertainty.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Rows
        Outcomes, any finite numbers.
    y_pred : array-like of shape (n,), optional
        Forecasts.
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8"}, default="mean"
        What the forecasts are forecasts of. The loss is the squared error, the pinball loss, or
        the asymmetric squared error.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    LossDecomposition
        None of the three parts is negative.

    Notes
    -----
    Forecasts are recalibrated by isotonic regression for the property (the CORP decomposition),
    exactly, in O(n log n). Every loss that is consistent for the property gives the same
    recalibration. Known flaw: estimated on the rows it is judged on, miscalibration is never too
    small on average; perfect forecasts get some, the more the fewer the rows, and of quantiles
    near 0 or 1 it gets more than of the median.

    References
    ----------
    Gneiting, Resin (2021), Regression diagnostics meets forecast evaluation: conditional
    calibration, reliability diagrams, and coefficient of determination. Jordan, Muehlemann, Ziegel
    (2022), Characterizing the optimal solutions to the isotonic regression problem for
    identifiable functionals, AISM 74.

    Examples
    --------
    >>> parts = loss_decomposition([0.0, 0.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 2.0])
    >>> parts.miscalibration, parts.discrimination, parts.uncertainty, parts.loss
    (0.625, 0.125, 0.25, 0.75)
    >>> print(loss_decomposition([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 3.5], kind="median"))
    The pinball loss of 0.312 is miscalibration 0.188 - discrimination 0.375 + uncertainty 0.5;
    forecasts save 37.5 % of the uncertainty.
    """
    forecasts = Rows.of_kind(y_true, y_pred, kind, sample_weight=sample_weight)
    asked = forecasts.kind
    if asked.has_ends:
        raise InvalidOptionError(
            "coverage has no loss of its own to decompose",
            "intervals",
            "decompose each end as a quantile, such as kind='quantile=0.05'",
        )
    # Sums in another order would differ in the last digit.
    order = canonical_order(forecasts.prediction, forecasts.outcome, forecasts.weight)
    forecasts = forecasts.where(order)
    fit = isotonic_fit(forecasts)
    best = np.full(len(forecasts), asked.best(forecasts.outcome, forecasts.weights))
    loss, recalibrated, constant = (
        forecasts.mean_of(asked.losses(forecast, forecasts.outcome))
        for forecast in (forecasts.prediction, fit.at_rows, best)
    )
    return LossDecomposition(
        loss,
        max(0.0, loss - recalibrated),  # less by a rounding error where nothing can be saved
        max(0.0, constant - recalibrated),
        constant,
        asked.name,
        asked.loss_name,
        fit.pools,
    )

"""A mean score in three parts: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.notebook import card
from calibrant._base.words import number_text, percent_text
from calibrant.data import canonical_order
from calibrant.data.rows import Rows
from calibrant.decisions.recalibrated_joint import (
    AnyPooling,
    keep_constant,
    recalibrated_joint,
    warn_of_levels,
)
from calibrant.decisions.scores import (
    AnyScore,
    as_score,
    mean_loss,
    mean_of_rows,
    refuse_lost_outcomes,
    score_title,
)
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import read_source
from calibrant.regression import isotonic_fit


@dataclass(frozen=True, slots=True)
class ScoreDecomposition:
    """A mean score, and the three parts it is made of.

    score = miscalibration - discrimination + uncertainty.
    """

    score: float
    """Mean loss of the forecasts."""
    miscalibration: float
    """What recalibrating the forecasts would save."""
    discrimination: float
    """What recalibrated forecasts save against forecasting the base rate."""
    uncertainty: float
    """Mean loss of forecasting the base rate."""
    name: str
    """The score."""
    pooling: str
    """How the recalibration was estimated."""

    def __str__(self) -> str:
        return (
            f"{score_title(self.name)} {self.score:.6g} = miscalibration {self.miscalibration:.6g} "
            f"- discrimination {self.discrimination:.6g} + uncertainty {self.uncertainty:.6g} "
            f"(pooling {self.pooling})"
        )


def score_decomposition(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    score: AnyScore = "brier",
    pooling: AnyPooling = "isotonic",
) -> ScoreDecomposition:
    """Split a mean score into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    score : {"brier", "log", "spherical"}, DecisionTask, Score, or (phi, subgradient)
        The proper score; the loss of a task is minus its payoff.
    pooling : {"isotonic", "levels"}, int, sequence of float, or Pooling, default="isotonic"
        How the recalibration is estimated: isotonic regression (the CORP decomposition), exact
        levels, a number of bins of equal width, edges of bins, or pools made before.

    Returns
    -------
    ScoreDecomposition

    Notes
    -----
    The parts are differences of mean scores: of the forecasts, of the recalibrated forecasts and
    of the base rate. With isotonic regression or exact levels none of them is negative; coarse
    bins may throw away more than they correct, and the miscalibration then comes out negative.
    Rows may have outcomes between 0 and 1: their Brier score is the mean squared error, which a
    Joint of mean outcomes cannot know and refuses. For outcomes beyond [0, 1], quantiles and
    expectiles see `loss_decomposition`.

    Known flaw: estimated on the rows it is judged on, miscalibration is never too small on
    average; perfect forecasts get some, the more the fewer the rows.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score. Broecker (2009), Reliability,
    sufficiency, and the decomposition of proper scores. Dimitriadis, Gneiting, Jordan (2021),
    Stable reliability diagrams for probabilistic classifiers, PNAS 118(8).

    Examples
    --------
    >>> from calibrant import Joint
    >>> joint = Joint.from_counts([0.1, 0.2, 0.9], [10, 10, 10], [4, 2, 8])
    >>> print(score_decomposition(joint))
    Brier score 0.22 = miscalibration 0.0266667 - discrimination 0.0555556 + uncertainty 0.248889
    (pooling isotonic)
    """
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    joint = source if isinstance(source, Joint) else Joint.from_rows(source)
    warn_of_levels(joint, pooling)
    proper = as_score(score)
    if isinstance(source, Joint):
        refuse_lost_outcomes(source, proper)
    pools = recalibrated_joint(joint, pooling)
    total = mean_loss(joint, proper)
    recalibrated = pools.mean_loss(proper)
    uncertainty = keep_constant(joint).mean_loss(proper)
    # Levels count an outcome of 0.3 as three ones and seven zeros. What that adds to the loss of a
    # row does not depend on its forecast: the score and the uncertainty shrink by the same.
    added = 0.0
    if not (joint.binary or isinstance(source, Joint) or proper.between is None):
        added = total - mean_of_rows(source, proper)
    return ScoreDecomposition(
        total - added,
        total - recalibrated,
        uncertainty - recalibrated,
        uncertainty - added,
        proper.name,
        pools.name,
    )


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
    """Split a mean loss into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    y_true : array-like of shape (n,)
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
    checked_kind = forecasts.kind
    if checked_kind.has_ends:
        raise InvalidOptionError(
            "coverage has no loss of its own to decompose",
            "intervals",
            "decompose each end as a quantile, such as @kind='quantile=0.05'",
        )
    # Sums in another order would differ in the last digit.
    order = canonical_order(forecasts.prediction, forecasts.outcome, forecasts.weight)
    forecasts = forecasts.where(order)
    fit = isotonic_fit(forecasts)
    best = np.full(len(forecasts), checked_kind.best(forecasts.outcome, forecasts.weights))
    loss, recalibrated, constant = (
        forecasts.mean_of(checked_kind.losses(forecast, forecasts.outcome))
        for forecast in (forecasts.prediction, fit.at_rows, best)
    )
    return LossDecomposition(
        loss,
        max(0.0, loss - recalibrated),  # less by a rounding error where nothing can be saved
        max(0.0, constant - recalibrated),
        constant,
        checked_kind.name,
        checked_kind.loss_name,
        fit.pools,
    )

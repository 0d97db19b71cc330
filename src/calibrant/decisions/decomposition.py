"""A mean score in three parts: miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.decisions.recalibration import (
    AnyPooling,
    keep_constant,
    recalibrate,
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
from calibrant.joint import Joint
from calibrant.measurement import read_source


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
    pools = recalibrate(joint, pooling)
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

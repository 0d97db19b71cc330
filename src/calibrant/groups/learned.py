"""Auditing with a learner: whatever an estimator can learn from features and prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, in_parts
from calibrant._base.options import as_generator
from calibrant.data import canonical_order, hold_out
from calibrant.data.groupings import columns_of
from calibrant.data.input import as_floats, read_column, refuse_other_labels
from calibrant.errors import InferenceRefusedError
from calibrant.inference import MOST_OUTCOMES_DRAWN
from calibrant.joint import Rows
from calibrant.weight_functions import LearnedFamily


@dataclass(frozen=True, slots=True)
class LearnedAdvantage:
    """What a learned test finds on rows that it was not learned from."""

    value: float
    """E[w(x, p) (y - p)] on the judging half, w in [-1, 1]: unbiased, perhaps negative."""
    pvalue: float
    """Chance that perfect forecasts' outcomes give the test so much."""
    rows: int
    """Rows that judged it."""
    learner: Any
    """The fitted estimator; its features are those given, then the prediction."""
    scale: float
    """What its idea of the residual is divided by before it is clipped."""

    def __float__(self) -> float:
        return self.value


def learned_advantage(
    y_true: object,
    y_proba: object,
    features: object,
    family: LearnedFamily,
    *,
    pos_label: object = None,
) -> LearnedAdvantage:
    """Learn a test of features and prediction on one half of the rows, judge it on the other.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    features : mapping of str to array-like, frame, or array of shape (n, k)
        Numbers that are known about the rows.
    family : LearnedFamily
        The estimator, a scikit-learn regressor (which learns the residual) or classifier (which
        learns the outcome), with the number of simulations and the source of randomness.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    LearnedAdvantage

    Notes
    -----
    Auditing for multicalibration is as hard as agnostic learning (Hebert-Johnson et al. 2018), so
    a learner is the auditor: a small value says only that this learner found nothing. The p-value
    simulates the outcomes of the judging half; for more than about 30 000 rows (at 999 draws) the
    distribution of the sum is taken for normal.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((4000, 2))
    >>> y = rng.random(4000) < np.where(x[:, 0] < 0.2, 0.7, 0.5)
    >>> tree = LearnedFamily(DecisionTreeRegressor(max_depth=2))
    >>> found = learned_advantage(y, np.full(4000, 0.5), x, tree)
    >>> found.pvalue
    0.001
    """
    refuse_other_labels(y_true=y_true, y_proba=y_proba, features=features)
    rows = Rows.read(y_true, y_proba, None, pos_label)
    size = rows.prediction.size
    if size < 4 or not np.isin(rows.outcome, (0, 1)).all():
        raise InferenceRefusedError(
            "a learned test needs at least four rows with outcomes 0 and 1", f"{size} rows"
        )
    table = np.column_stack([feature_table(features, size), rows.prediction])
    order = canonical_order(table, rows.outcome)
    rows, table = rows.where(order), table[order]
    generator = as_generator(family.rng)
    learning = hold_out(0.5, generator, np.arange(size))
    judging = ~learning
    learner = _fitted(family.estimator, table[learning], rows.where(learning))
    scale = float(np.abs(_residual(learner, table[learning])).max()) or 1.0
    test = np.clip(_residual(learner, table[judging]) / scale, -1, 1)
    judges = rows.where(judging)
    value = float(np.mean(test * (judges.outcome - judges.prediction)))
    chance = _chance(test / test.size, judges.prediction, value, family.draws, generator)
    return LearnedAdvantage(value, chance, judges.outcome.size, learner, scale)


def feature_table(features: object, size: int) -> Floats:
    """Features as one array of numbers."""
    columns = [
        as_floats(read_column(values, name, size), f"feature {name!r}")
        for name, values in columns_of(features, "features").items()
    ]
    return np.column_stack(columns)


def _fitted(estimator: Any, table: Floats, rows: Rows) -> Any:
    from sklearn.base import clone

    learner = clone(estimator)
    if hasattr(learner, "predict_proba"):
        return learner.fit(table, rows.outcome.astype(np.int64))
    return learner.fit(table, rows.outcome - rows.prediction)


def _residual(learner: Any, table: Floats) -> Floats:
    """Ask the learner for the mean residual of each row."""
    if not hasattr(learner, "predict_proba"):
        return np.asarray(learner.predict(table), dtype=np.float64)
    ones: npt.NDArray[np.intp] = np.flatnonzero(np.asarray(learner.classes_) == 1)
    if not ones.size:
        return np.asarray(-table[:, -1])
    return np.asarray(learner.predict_proba(table)[:, ones[0]] - table[:, -1])


def _chance(
    stake: Floats, prediction: Floats, value: float, draws: int, rng: np.random.Generator
) -> float:
    """Chance of so much or more when outcomes are drawn from the predictions."""
    if stake.size * draws > MOST_OUTCOMES_DRAWN:
        from scipy.special import ndtr

        deviation = float(np.sqrt(np.sum(stake**2 * prediction * (1 - prediction))))
        return float(ndtr(-value / deviation)) if deviation else 1.0
    reached = 0
    for count in in_parts(draws, stake.size):
        outcomes = rng.random((count, stake.size)) < prediction
        # Equal sums may differ in their last digits: a tie counts against the forecaster's critic.
        reached += int(np.sum((outcomes - prediction) @ stake >= value - 1e-12))
    return (1 + reached) / (1 + draws)

"""Gradient-boosted trees as the auditor: multicalibration from any features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import MissingPackageError
from calibrant.joint.draws import generator_of
from calibrant.joint.gate import Floats

# Predictions nearer to 0 or 1 than this have the log-odds of this.
LEAST = 1e-6
MOST_ROUNDS = 30
# So many rounds in a row may leave the rows held out as they are before the fit stops.
PATIENCE = 2
TREES = 30
# Features are cut at quantiles of so many rows into so many parts before trees see them:
# scikit-learn would do so in every round, and slowly where rows have weights.
ROWS_FOR_CUTS, PARTS = 200_000, 255


@dataclass(frozen=True, slots=True)
class BoostedRound:
    """Log-odds become scale times (log-odds plus what the trees say)."""

    learner: Any
    scale: float
    loss: float
    """Log loss of the rows held out after the round, when it was fitted without them."""


@dataclass(frozen=True, slots=True)
class Boosted:
    """Rounds of trees that see the features and the current prediction."""

    cuts: tuple[Floats | None, ...]
    """Where features and the current log-odds are cut; None for labels."""
    rounds: tuple[BoostedRound, ...]
    base_loss: float
    reason: str

    def apply(self, prediction: Floats, table: Floats) -> Floats:
        """Correct predictions."""
        if not self.rounds:
            return prediction
        odds = log_odds(prediction)
        features = _cut(np.column_stack([table, odds]), self.cuts)
        for step in self.rounds:
            features[:, -1:] = _cut(odds[:, np.newaxis], self.cuts[-1:])
            odds = step.scale * (odds + step.learner.predict(features))
        return _chance(odds)


def boost(
    prediction: Floats,
    outcome: Floats,
    weight: Floats,
    held: npt.NDArray[np.bool_],
    table: Floats,
    categorical: list[bool],
    learner: Any,
    seed: int,
) -> tuple[Boosted, Floats]:
    """Add trees while they lower the log loss of the rows held out; none if the first hurts.

    Each round fits trees to the Newton step of the log loss, (y - p) / (p (1 - p)) with weight
    p (1 - p), as scikit-learn's trees cannot start from given log-odds; a scale found by a line
    search then undoes their shrinkage, as in MCGrad (Tax et al. 2025). As many rounds are then
    fitted to all rows.

    Returns
    -------
    Boosted, array
        The rounds, and what those without the rows held out predict: what they can be judged by.
    """
    odds = log_odds(prediction)
    features = np.column_stack([table, odds])
    cuts = _cuts(features, [*categorical, False], seed)
    features = _cut(features, cuts)
    make = partial(_learner, learner, categorical, int((~held).sum()), seed)
    best = base_loss = _loss(odds[held], outcome[held], weight[held])
    best_odds, helpful = odds, 0
    losses: list[float] = []
    reason = "the largest number of rounds is reached"
    while len(losses) < MOST_ROUNDS:
        odds, _ = _round(make(), odds, outcome, weight, ~held, features, cuts)
        losses.append(_loss(odds[held], outcome[held], weight[held]))
        if losses[-1] < best:
            best, best_odds, helpful = losses[-1], odds, len(losses)
        elif helpful == 0 or len(losses) - helpful >= PATIENCE:
            reason = "no further round helps rows held out"
            break
    judged = _chance(best_odds) if helpful else prediction
    odds, everybody = log_odds(prediction), np.ones(held.size, dtype=bool)
    rounds = []
    for loss in losses[:helpful]:
        fitted = make()
        odds, scale = _round(fitted, odds, outcome, weight, everybody, features, cuts)
        rounds.append(BoostedRound(fitted, scale, loss))
    return Boosted(cuts, tuple(rounds), base_loss, reason), judged


def _round(
    learner: Any,
    odds: Floats,
    outcome: Floats,
    weight: Floats,
    rows: npt.NDArray[np.bool_],
    features: Floats,
    cuts: tuple[Floats | None, ...],
) -> tuple[Floats, float]:
    """Fit one round to some rows; log-odds of all rows after it, and its scale."""
    p = _chance(odds[rows])
    spread = np.maximum(p * (1 - p), LEAST)
    features[:, -1:] = _cut(odds[:, np.newaxis], cuts[-1:])
    step = (outcome[rows] - p) / spread
    learner.fit(features[rows], step, sample_weight=weight[rows] * spread)
    moved = odds + learner.predict(features)
    scale = _scale(moved[rows], outcome[rows], weight[rows])
    return scale * moved, scale


def log_odds(prediction: Floats) -> Floats:
    """Log-odds, finite also for 0 and 1."""
    inside = np.clip(prediction, LEAST, 1 - LEAST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _cuts(table: Floats, labels: list[bool], seed: int) -> tuple[Floats | None, ...]:
    """Quantiles of the columns of numbers."""
    chosen = table
    if len(table) > ROWS_FOR_CUTS:
        chosen = table[generator_of(seed).integers(0, len(table), ROWS_FOR_CUTS)]
    shares = np.arange(1, PARTS) / PARTS
    return tuple(
        None if label else np.unique(np.nanquantile(column, shares, method="lower"))
        for column, label in zip(chosen.T, labels, strict=True)
    )


def _cut(table: Floats, cuts: tuple[Floats | None, ...]) -> Floats:
    """Part of each number; missing ones stay missing."""
    found = np.empty_like(table)
    for i, cut in enumerate(cuts):
        column = table[:, i]
        if cut is not None:
            part = np.searchsorted(cut, column, side="right")
            column = np.where(np.isnan(column), np.nan, part)
        found[:, i] = column
    return found


def _chance(odds: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(odds))


def _learner(learner: Any, categorical: list[bool], rows: int, seed: int) -> Any:
    try:
        from sklearn.base import clone
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError as error:
        raise MissingPackageError(
            "boosted trees need scikit-learn", "no such package", "pip install scikit-learn"
        ) from error
    if learner is not None:
        return clone(learner)
    return HistGradientBoostingRegressor(
        max_iter=TREES,
        learning_rate=0.05,
        max_leaf_nodes=4,
        min_samples_leaf=max(20, min(400, rows // 100)),
        l2_regularization=10.0,
        early_stopping=False,
        categorical_features=[*categorical, False] if any(categorical) else None,
        random_state=seed,
    )


def _loss(odds: Floats, outcome: Floats, weight: Floats) -> float:
    """Mean log loss."""
    return float(np.average(np.logaddexp(0, odds) - outcome * odds, weights=weight))


def _scale(odds: Floats, outcome: Floats, weight: Floats) -> float:
    """Scale of the log-odds with the least log loss, by Newton's method on a convex function."""
    scale = 1.0
    for _ in range(20):
        p = _chance(scale * odds)
        slope = float(np.average((outcome - p) * odds, weights=weight))
        bend = float(np.average(p * (1 - p) * odds**2, weights=weight))
        if bend <= 0 or abs(slope) <= 1e-10 * bend:
            break
        scale = float(np.clip(scale + slope / bend, scale / 2, 2 * scale))
    return scale

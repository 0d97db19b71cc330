"""Gradient-boosted trees as the auditor: multicalibration from any features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import Flags, Floats
from calibrant.data import hold_out
from calibrant.data.groupings import Grouping, columns_of, grouped
from calibrant.data.input import read_column
from calibrant.errors import MissingPackageError
from calibrant.groups.fits import NOT_CLEAR, Judged, Jury
from calibrant.options import as_generator
from calibrant.regression import MOST_SLOPE, fit_logistic, log_odds

# Trees see no prediction nearer to 0 or 1 than this.
NEAREST = 1e-6
MOST_ROUNDS = 30
# So many rounds in a row may leave the rows that are watched as they are before the fit stops.
PATIENCE = 2
TREES = 30
# So many of the rows that trees are fitted to say how many rounds help.
WATCHED = 0.3
NO_ROUND = "no further round helps rows that no tree has seen"
ALL_ROUNDS = "the largest number of rounds is reached"
# Features are cut at quantiles of so many rows into so many parts before trees see them:
# scikit-learn would do so in every round, and slowly where rows have weights.
ROWS_FOR_CUTS, PARTS = 200_000, 255


@dataclass(frozen=True, slots=True)
class BoostedRound:
    """Log-odds become scale times (log-odds plus what the trees say)."""

    learner: Any
    scale: float


@dataclass(frozen=True, slots=True)
class Boosted:
    """Rounds of trees that see the features and the current prediction."""

    cuts: tuple[Floats | None, ...]
    """Where features and the current log-odds are cut; None for labels."""
    rounds: tuple[BoostedRound, ...]
    reason: str

    def apply(self, prediction: Floats, table: Floats) -> Floats:
        """Correct predictions."""
        if not self.rounds:
            return prediction
        odds = log_odds(prediction, NEAREST)
        features = _cut(np.column_stack([table, odds]), self.cuts)
        for step in self.rounds:
            features[:, -1:] = _cut(odds[:, np.newaxis], self.cuts[-1:])
            odds = step.scale * (odds + step.learner.predict(features))
        return _chance(odds)


@dataclass(frozen=True, slots=True)
class Trees:
    """Rows that trees can be fitted to, some or all of them.

    Each round fits trees to the Newton step of the log loss, (y - p) / (p (1 - p)) with weight
    p (1 - p), as scikit-learn's trees cannot start from given log-odds; a scale found by a line
    search then undoes their shrinkage, as in MCGrad (Tax et al. 2025).
    """

    prediction: Floats
    outcome: Floats
    weight: Floats
    features: Floats
    """Cut; the last column is that of the current log-odds."""
    cuts: tuple[Floats | None, ...]
    categorical: list[bool]
    learner: Any
    seed: int

    @classmethod
    def of(
        cls,
        prediction: Floats,
        outcome: Floats,
        weight: Floats,
        table: Floats,
        categorical: list[bool],
        learner: Any,
        seed: int,
    ) -> Trees:
        """Cut features."""
        features = np.column_stack([table, log_odds(prediction, NEAREST)])
        cuts = _cuts(features, [*categorical, False], seed)
        given = (prediction, outcome, weight, _cut(features, cuts), cuts)
        return cls(*given, categorical, learner, seed)

    def count(self, taught: Flags, watched: Flags) -> tuple[int, str]:
        """How many rounds lower the log loss of other rows, none if the first hurts; and why."""
        odds = log_odds(self.prediction, NEAREST)
        best, helpful = self._loss(odds, watched), 0
        for number in range(1, MOST_ROUNDS + 1):
            odds, _ = self._round(self._new(taught), odds, taught)
            loss = self._loss(odds, watched)
            if loss < best:
                best, helpful = loss, number
            elif helpful == 0 or number - helpful >= PATIENCE:
                return helpful, NO_ROUND
        return helpful, ALL_ROUNDS

    def fitted(self, rows: Flags, count: int) -> tuple[tuple[BoostedRound, ...], Floats]:
        """Fit so many rounds to some rows; what they predict for all."""
        if not count:
            return (), self.prediction
        odds = log_odds(self.prediction, NEAREST)
        rounds = []
        for _ in range(count):
            learner = self._new(rows)
            odds, scale = self._round(learner, odds, rows)
            rounds.append(BoostedRound(learner, scale))
        return tuple(rounds), _chance(odds)

    def _round(self, learner: Any, odds: Floats, rows: Flags) -> tuple[Floats, float]:
        """Fit one round to some rows; log-odds of all rows after it, and its scale."""
        p, features = _chance(odds[rows]), self.features
        spread = np.maximum(p * (1 - p), NEAREST)
        features[:, -1:] = _cut(odds[:, np.newaxis], self.cuts[-1:])
        outcome, weight = self.outcome[rows], self.weight[rows]
        learner.fit(features[rows], (outcome - p) / spread, sample_weight=weight * spread)
        moved = odds + learner.predict(features)
        scale = _scale(moved[rows], outcome, weight)
        return scale * moved, scale

    def _new(self, rows: Flags) -> Any:
        return _learner(self.learner, self.categorical, int(rows.sum()), self.seed)

    def _loss(self, odds: Floats, rows: Flags) -> float:
        """Mean log loss of some rows."""
        lost = np.logaddexp(0, odds[rows]) - self.outcome[rows] * odds[rows]
        return float(np.average(lost, weights=self.weight[rows]))


def boost(trees: Trees, jury: Jury, rng: np.random.Generator) -> tuple[Boosted, Judged]:
    """Fit trees to all rows, if trees that were fitted without some clearly help these.

    Whenever trees are fitted to rows, some of these say how many rounds help, and so many
    are then fitted to all of them. All rows get the median number of rounds.
    """
    watched = hold_out(WATCHED, rng, np.arange(trees.prediction.size))
    found = []

    def correct(taught: Flags) -> Floats:
        found.append(trees.count(taught & ~watched, taught & watched))
        return trees.fitted(taught, found[-1][0])[1]

    moved = jury.cross_fitted(trees.prediction, correct)
    count, reason = sorted(found)[len(found) // 2]
    offered = moved if count else trees.prediction
    judged = jury.judged(trees.prediction, offered, trees.outcome, trees.weight)
    if count and judged.after is trees.prediction:
        count, reason = 0, NOT_CLEAR
    rounds, _ = trees.fitted(np.ones(watched.size, dtype=bool), count)
    return Boosted(trees.cuts, rounds, reason), judged


def _cuts(table: Floats, labels: list[bool], seed: int) -> tuple[Floats | None, ...]:
    """Quantiles of the columns of numbers."""
    chosen = table
    if len(table) > ROWS_FOR_CUTS:
        chosen = table[as_generator(seed).integers(0, len(table), ROWS_FOR_CUTS)]
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


def _scale(odds: Floats, outcome: Floats, weight: Floats) -> float:
    """Scale of the log-odds with the least log loss."""
    share = weight / weight.sum()
    bounds = np.array([0.0]), np.array([MOST_SLOPE])
    return float(fit_logistic(share, share * outcome, [odds], bounds, np.ones(1))[0])


def labels_of(columns: Mapping[str, Any], size: int) -> tuple[Grouping, ...]:
    """Group rows by each column that holds labels."""
    return tuple(
        grouped(values, name, size).groupings[0]
        for name, values in columns.items()
        if read_column(values, name, size).dtype.kind not in "iuf"
    )


def table_of(by: object, labels: Sequence[Grouping], size: int) -> Floats:
    """Features as numbers; labels become codes, unseen ones missing."""
    labelled = {grouping.column: grouping for grouping in labels}
    columns = []
    for name, values in columns_of(by).items():
        if name in labelled:
            codes = labelled[name].codes(values, size).astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(np.asarray(read_column(values, name, size), dtype=np.float64))
    return np.column_stack(columns)

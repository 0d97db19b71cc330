"""An estimator that makes predictions calibrated for every group at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant._base.arrays import Flags, Floats, of_mean_one
from calibrant._base.options import (
    MOST_CELLS,
    as_generator,
    check_degree,
    check_share,
    check_within,
    refuse_unknown,
    whole,
)
from calibrant.data import canonical_order, hold_out
from calibrant.data.groupings import Grouping, columns_of, grouped, partitions
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.data.rows import predictions_alone
from calibrant.errors import InvalidForecastsError, InvalidOptionError, MissingPackageError
from calibrant.groups.fits import NOT_CLEAR, Fit, Judged, Jury, Search, judged_fit
from calibrant.groups.rounds import GroupedRows, groupings_of
from calibrant.groups.training import Cells, patch_powers
from calibrant.joint import Rows
from calibrant.recalibration import (
    TWO_OUTCOMES,
    Estimator,
    GroupCalibrator,
    Patches,
    codes_of,
    reading_arguments,
    shaped,
    unmoved,
    unseen,
)
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
        columns = (prediction, outcome, weight, _cut(features, cuts), cuts)
        return cls(*columns, categorical, learner, seed)

    def count(self, training: Flags, watched: Flags) -> tuple[int, str]:
        """How many rounds lower the log loss of other rows, none if the first hurts; and why."""
        odds = log_odds(self.prediction, NEAREST)
        best, helpful = self._loss(odds, watched), 0
        for number in range(1, MOST_ROUNDS + 1):
            odds, _ = self._round(self._new(training), odds, training)
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
        updated = odds + learner.predict(features)
        scale = _scale(updated[rows], outcome, weight)
        return scale * updated, scale

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

    def correct(training: Flags) -> Floats:
        found.append(trees.count(training & ~watched, training & watched))
        return trees.fitted(training, found[-1][0])[1]

    corrected = jury.cross_fitted(trees.prediction, correct)
    count, reason = sorted(found)[len(found) // 2]
    offered = corrected if count else trees.prediction
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


METHODS = ("hkrr", "low_degree", "boosted")
JUDGES = ("held_out", "fit")


class Multicalibrator(Estimator):
    """Patches that make base predictions calibrated in every group, from scores and columns only.

    Parameters
    ----------
    method : {"hkrr", "low_degree", "boosted"}, default="hkrr"
        "hkrr" moves cells of predictions of one group at a time; "low_degree" adds powers of
        the prediction to a group; "boosted" lets gradient-boosted trees look for groups in the
        features, which needs scikit-learn.
    tolerance : float, default=0.01
        Bias that is left alone.
    cells : int, default=10
        Cells of the prediction, for "hkrr". At most 2**20.
    min_mass : float, default=0.005
        Cells of groups with a smaller share of the rows are left alone, for "hkrr".
    degree : int, default=1
        Largest power of the prediction, for "low_degree". At most 32.
    pairs : bool, default=False
        Whether groups of two columns count as well.
    judge : {"held_out", "fit"}, default="held_out"
        With "held_out" a correction must be clear of noise, and all together must clearly help
        rows that had no part in finding them; otherwise base predictions are returned. With "fit"
        "hkrr" and "low_degree" run by their letter to their guarantee on the rows fitted to, which
        flatters: in small samples they learn noise.
    held_out : float, default=0.2
        Share of the rows that is held out at a time, at most a half; 0 is the same as judge="fit".
    most : int, optional
        Largest number of patches. By default the one that is proven.
    learner : object, optional
        For "boosted": a scikit-learn regressor to use in place of its histogram trees.
    rng : int, default=0
        Seed of the choice of the rows held out.

    Attributes
    ----------
    fit_ : Fit
        What was done, why it stopped, and what it brought on rows that had no part in it; not
        stored.
    sentence_ : str
        The same in words.

    Notes
    -----
    The potential is the mean squared error of the rows fitted to. A patch of "hkrr" lowers it by
    at least share times bias squared, one of "low_degree" by at least the violation squared, so
    that there are at most 1 / (min_mass tolerance^2), or 1 / tolerance^2, of them. With
    judge="fit" there is afterwards no cell of a group, with min_mass of the rows or more, whose
    bias is above the tolerance, or no power and group whose violation is.

    With judge="held_out" a patch needs a bias of sqrt(2 log k) standard errors, k the number of
    patches to try. Neighbouring cells may be moved as one, in runs of 1, 2, 4 and so on, because
    a whole group shows what no cell of it shows alone. Rows are cut into parts of a share
    `held_out` each. What is found without a part is judged by it: two thirds of its rows decide,
    and corrections are kept if these save 1.645 standard errors of the Brier score or more; the
    other third reports the gain, so that what is reported is not what was picked for being large.
    Beyond 10 000 rows only as many parts judge as hold so many. What is returned is found with
    all rows. Of the rows that trees are fitted to, 30 % choose the number of rounds, which is then
    fitted to all of them. Calibrated forecasts are left alone in at least 95 % of samples.

    Known flaw: groups that the columns do not name stay as they are, and what the rows cannot
    show is left alone. Rows are taken to be independent.

    References
    ----------
    Hebert-Johnson, Kim, Reingold, Rothblum (2018), Multicalibration, ICML. Gopalan, Kim, Singhal,
    Zhao (2022), Low-degree multicalibration, COLT. Globus-Harris, Harrison, Kearns, Roth,
    Sorrell (2023), Multicalibration as boosting for regression, ICML.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> by = {"month": columns["month"]}
    >>> patched = Multicalibrator().fit(columns["prediction"], columns["outcome"], by)
    >>> patched.fit_.kept
    True
    """

    fitted_by = "groupings_"
    to_fit = "call fit(X, y, by)"
    pos_label_: object
    """The label that counted as outcome 1 in the fit, which names a column of frames."""
    fit_: Fit
    sentence_: str
    groupings_: tuple[Grouping, ...]
    patches_: Patches
    boosted_: Boosted

    def __init__(
        self,
        method: str = "hkrr",
        *,
        tolerance: float = 0.01,
        cells: int = 10,
        min_mass: float = 0.005,
        degree: int = 1,
        pairs: bool = False,
        judge: str = "held_out",
        held_out: float = 0.2,
        most: int | None = None,
        learner: Any = None,
        rng: int = 0,
    ) -> None:
        self.method = method
        self.tolerance = tolerance
        self.cells = cells
        self.min_mass = min_mass
        self.degree = degree
        self.pairs = pairs
        self.judge = judge
        self.held_out = held_out
        self.most = most
        self.learner = learner
        self.rng = rng

    def fit(
        self,
        X: object,  # noqa: N803 (the name that scikit-learn uses)
        y: object = None,
        by: object = None,
        sample_weight: object = None,
        *,
        pos_label: object = None,
    ) -> Self:
        """Fit patches to base predictions, outcomes and columns.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, 2)
            Base probabilities of outcome 1.
        y : array-like of shape (n,)
            Outcomes.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            Columns that group the rows, or features for "boosted".
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        pos_label : object, optional
            The label that counts as outcome 1.

        Returns
        -------
        The estimator itself.
        """
        self._check()
        if y is None or by is None:
            raise InvalidForecastsError(
                f"{self._class_name} requires y to be passed, but the target y is None"
                if y is None
                else f"{self._class_name} needs the columns that group the rows",
                "" if y is None else "none",
                self.to_fit,
            )
        refuse_other_labels(X=X, y=y, by=by, sample_weight=sample_weight)
        self._remember_columns(X)
        with reading_arguments():
            rows = Rows.read(y, self._as_probabilities(X), sample_weight, pos_label)
        self.pos_label_ = pos_label
        size = rows.prediction.size
        columns = {name: read_column(c, name, size) for name, c in columns_of(by).items()}
        if rows.weight is not None:
            rows, columns = _weighing(rows, columns)
            size = rows.prediction.size
        order = canonical_order(rows.prediction, rows.outcome, rows.weight, *columns.values())
        rows, columns = rows.where(order), {name: c[order] for name, c in columns.items()}
        outcome = np.asarray(rows.outcome, dtype=np.float64)
        weight = np.ones(size) if rows.weight is None else of_mean_one(rows.weight)
        rng = as_generator(self.rng)
        jury = None if self._by_the_letter else Jury.of(weight, self.held_out, rng)
        if jury is not None and self.method == "boosted":
            return self._fit_trees((rows.prediction, outcome, weight), columns, jury, rng)
        parts = partitions(columns, size, pairs=self.pairs, weight=rows.weight)
        grouped_rows = GroupedRows.of(rows.prediction, outcome, weight, parts)
        self.fit_ = judged_fit(grouped_rows, self._search(grouped_rows), jury)
        self.sentence_ = self.fit_.sentence
        self.groupings_ = groupings_of(parts)
        self.patches_ = Patches(self.groupings_, tuple(step.patch for step in self.fit_.steps))
        return self

    def transform(self, X: object, by: object = None) -> Any:  # noqa: N803
        """Correct base predictions.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, 2)
            Base probabilities of outcome 1.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            The columns, or features, that were fitted to.

        Returns
        -------
        array
            As the base predictions were given, or what `set_output` asked for. Rows with a label
            that was not seen in the fit keep their base prediction; a warning counts them.
        """
        self._require_fitted()
        refuse_other_labels(X=X, by=by)
        self._check_columns(X, TWO_OUTCOMES)
        prediction = self._as_probabilities(X)
        return self._contained(
            shaped(self._corrected(prediction, by), prediction, self.pos_label_), X
        )

    def fit_transform(
        self,
        X: object,  # noqa: N803
        y: object = None,
        by: object = None,
        sample_weight: object = None,
        **options: Any,
    ) -> Any:
        """Fit, and correct the same rows: for pipelines, never to judge the correction."""
        return self.fit(X, y, by, sample_weight, **options).transform(X, by)

    def predict_proba(self, X: object, by: object = None) -> Floats:  # noqa: N803
        """Return the corrected chances of 0 and of 1, one row each."""
        self._require_fitted()
        self._check_columns(X, TWO_OUTCOMES)
        corrected = self._corrected(self._as_probabilities(X), by)
        return np.column_stack([1 - corrected, corrected])

    def _corrected(self, y_proba: object, by: object) -> Floats:
        """Corrected chances of outcome 1."""
        if by is None:
            raise InvalidForecastsError(
                f"{self._class_name} needs the columns that it was fitted to", "none", "pass by"
            )
        with reading_arguments():
            prediction = predictions_alone(y_proba, pos_label=self.pos_label_)
        codes = codes_of(self.groupings_, by, prediction.size)
        if self.method != "boosted":
            return self.patches_.apply(prediction, codes)
        corrected = self.boosted_.apply(prediction, table_of(by, self.groupings_, prediction.size))
        return np.where(unseen(codes), prediction, corrected) if codes else corrected

    def _as_probabilities(self, X: object) -> object:  # noqa: N803
        """Read what is given as probabilities; a subclass may take other numbers."""
        return X

    def to_map(self) -> GroupCalibrator:
        """Return the fitted patches as a calibrator that can be stored, exported and applied."""
        self._require_fitted()
        self._refuse_trees()
        return GroupCalibrator(unmoved(), self.patches_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted patches as plain data; `calibrant.recalibration.load` takes it back."""
        return self.to_map().to_dict()

    def to_json(self) -> str:
        """Return the fitted patches as JSON; `calibrant.recalibration.load` takes it back."""
        return self.to_map().to_json()

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of a prediction and a dictionary of columns."""
        return self.to_map().to_python(name)

    def to_sql(
        self,
        column: str = "prediction",
        *,
        table: str | None = None,
        keep: Sequence[str] = (),
        name: str = "recalibrated",
        dialect: str = "duckdb",
    ) -> str:
        """Return SQL that corrects predictions, as `Calibrator.to_sql` does.

        Parameters
        ----------
        column : str, default="prediction"
            Column of base predictions.
        table : str, optional
            Table with the base predictions and the columns that were fitted to: the answer is
            then a query. Patches of cells make no expression and need it.
        keep : sequence of str, optional
            Further columns that the query returns.
        name : str, default="recalibrated"
            Name of the new column of a query.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            An expression or a query; NULL where the prediction is no probability. Missing values
            are NULL or NaN.
        """
        fitted = self.to_map()
        return fitted.to_sql(column, table=table, keep=keep, name=name, dialect=dialect)

    @property
    def _by_the_letter(self) -> bool:
        return self.judge == "fit" or self.held_out == 0

    def _search(self, rows: GroupedRows) -> Search:
        """Return what looks for patches in such rows, weighed anew."""
        clearly = not self._by_the_letter
        options = self.tolerance, self.degree, self.most
        if self.method == "low_degree":
            return lambda weighed: patch_powers(weighed, *options, clearly=clearly)
        return Cells(self.cells, self.tolerance, self.min_mass, self.most, clearly).search(rows)

    def _fit_trees(
        self,
        rows: tuple[Floats, Floats, Floats],
        columns: Mapping[str, Any],
        jury: Jury,
        rng: np.random.Generator,
    ) -> Self:
        size = rows[0].size
        self.groupings_ = labels_of(columns, size)
        labelled = {grouping.column for grouping in self.groupings_}
        categorical = [name in labelled for name in columns]
        table = table_of(columns, self.groupings_, size)
        trees = Trees.of(*rows, table, categorical, self.learner, self.rng)
        self.boosted_, judged = boost(trees, jury, rng)
        self.fit_ = Fit(
            judge="held_out",
            steps=(),
            reason=self.boosted_.reason,
            left=float("nan"),
            brier=judged.brier,
            gain=judged.gain,
            error=None,
            kept=bool(self.boosted_.rounds),
        )
        self.sentence_ = self.fit_.sentence
        return self

    def _check(self) -> None:
        refuse_unknown("method", self.method, METHODS)
        check_share("tolerance", self.tolerance)
        refuse_unknown("judge", self.judge, JUDGES)
        check_within("held_out", self.held_out, 0.0, 0.5)
        if self.method == "boosted" and self._by_the_letter:
            raise InvalidOptionError(
                "trees have no end of their own: rows held out must judge them",
                "judge='fit'",
                "use method='hkrr' or 'low_degree', or leave judge and held_out alone",
            )
        whole("cells", self.cells, 1, MOST_CELLS)
        if self.most is not None:
            whole("most", self.most)
        check_degree(self.degree)
        check_within("min_mass", self.min_mass)

    def _refuse_trees(self) -> None:
        if self.method == "boosted":
            raise InvalidOptionError(
                "only patches of groups can be written as JSON or SQL",
                "trees",
                "pickle the estimator, or use method='hkrr'",
            )


def _weighing(rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
    """Leave out rows that weigh nothing."""
    kept = np.asarray(rows.weight) > 0
    if kept.all():
        return rows, columns
    if not kept.any():
        raise InvalidForecastsError("weights must not all be zero", f"{kept.size} weights of zero")
    return rows.where(kept), {name: column[kept] for name, column in columns.items()}

"""A classifier followed by a calibrator that was fitted to held-out forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import as_generator, check_flag, shown
from calibrant.data.classes import read_row_weights
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.target import read_target
from calibrant.data.times import checked_times
from calibrant.decisions import AnyScore
from calibrant.errors import InvalidForecastsError, InvalidOptionError, arguments_named
from calibrant.groups import GroupRecalibration, recalibrate_by_group
from calibrant.models.folds import Pairs, SplitColumns, fold_pairs, read_pairs, sound, split_by
from calibrant.models.forecasts import probabilities, raw_forecasts, refuse_no_forecasts, shrinkage
from calibrant.models.report import ModelReport
from calibrant.models.rows import content_of, count_rows, grouping_columns, take, takes_rows
from calibrant.models.wrapper import ModelWrapper, fitted_to
from calibrant.recalibration import Calibrator, Recalibration, choice_of_probabilities


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows with their labels, to fit and split."""

    X: Any
    labels: npt.NDArray[Any]
    code: Indices
    """Number of the class of each row."""
    weight: Floats | None
    split_columns: SplitColumns

    @classmethod
    def read(
        cls,
        X: Any,  # noqa: N803
        labels: npt.NDArray[Any],
        code: Indices,
        weight: Floats | None,
        *,
        clusters: object,
        time: object,
    ) -> TrainingRows:
        """Read what is known beside features and labels."""
        size = labels.size
        cluster = None
        if clusters is not None:
            names = read_labels(clusters, "clusters", size)
            cluster = np.unique(names, return_inverse=True)[1].reshape(-1)
        moments = None if time is None else checked_times(time, size)
        plain = cluster is None and moments is None
        content = content_of(X) if plain else []
        content += [] if weight is None else [weight]
        return cls(X, labels, code, weight, SplitColumns(content, cluster, moments))

    def where(self, rows: Indices) -> TrainingRows:
        """Take some of the rows."""
        split_columns = self.split_columns
        return TrainingRows(
            take(self.X, rows),
            self.labels[rows],
            self.code[rows],
            None if self.weight is None else self.weight[rows],
            SplitColumns(
                [],
                None if split_columns.cluster is None else split_columns.cluster[rows],
                None if split_columns.time is None else split_columns.time[rows],
            ),
        )

    def of_classes(self, classes: npt.NDArray[Any]) -> TrainingRows:
        """Give labels their numbers among the classes of a model that came fitted."""
        index = {label: i for i, label in enumerate(classes.tolist())}
        unknown = [label for label in np.unique(self.labels).tolist() if label not in index]
        if unknown:
            raise InvalidForecastsError(
                "y must hold classes that the model knows", f"the class {unknown[0]!r}"
            )
        code = np.array([index[label] for label in self.labels.tolist()], dtype=np.intp)
        return replace(self, code=code)


PREFIT = "prefit"
AUTO = "auto"
# How scikit-learn wraps a model that is not to be fitted again.
FROZEN = "FrozenEstimator"


class CalibratedClassifier(ModelWrapper):
    """A classifier whose probabilities are recalibrated, if that helps on rows unseen.

    Models are fitted without each fold of the rows and forecast it. From these forecasts a
    calibrator is chosen as by `calibrant.recalibrate`, which may be none: then the model is
    left alone, and `report_` says why.

    Parameters
    ----------
    estimator : classifier
        A model with `predict_proba`, or with `decision_function`, whose scores are read as
        log-odds. Two classes or many.
    method : "auto", str, Calibrator, or sequence of these, default="auto"
        "auto" takes the best calibrator for the rows, or none. A name or a calibrator is taken
        whatever it gains; a sequence is what to choose from.
    cv : int, "prefit", splitter or iterable of pairs of rows, default=5
        A number of folds, dealt by what rows hold and the seed, classes evenly, whole clusters
        together, forward in time if times are given. "prefit": the model is fitted already, and
        the rows are new to it; so is a `FrozenEstimator`. Or a splitter of scikit-learn.
    ensemble : bool, default=False
        With False one model is fitted to all rows, and the calibrator is applied to it. With True
        the models of the folds are kept, the calibrator is applied to each, and the mean is
        returned.
    by : str, int, or sequence of these, optional
        Columns of X that group the rows: the calibrator gets patches for groups that need them. For
        two classes.
    proper_score : {"log", "brier", "spherical"}, DecisionTask or Score, default="log"
        Score by which calibrators are compared.
    rng : int, default=0
        Seed of the folds.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels of the classes, sorted; of a model that came fitted, its own.
    calibrator_ : Calibrator
        The fitted calibrator: of the probability of `classes_[1]`, or of rows of probabilities.
    report_ : ModelReport
        What was chosen, what it gains on rows that had no part in it, a sentence.
    estimators_ : list
        The fitted models: one, or one for each fold.
    n_features_in_, feature_names_in_
        As the fitted models have them.

    Notes
    -----
    Rows of weight zero are left out. With `ensemble=False` the calibrator was learned from models
    that saw fewer rows than the one it is applied to; with 5 folds that is 80 %. A model that
    forecasts much better with all rows is then moved a little too far, and gains less than
    `report_` says. With `ensemble=True` the mean of calibrated forecasts is a little less sure than
    each of them, and the interval of `report_.gain` is about the models that are kept
    (docs/promises.md).

    Known flaw: rows that depend on each other must be named as clusters, or the model forecasts
    what it has all but seen, and looks better than it is.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(2000, n_features=20, n_redundant=10, random_state=0)
    >>> model = CalibratedClassifier(GaussianNB()).fit(X, y)
    >>> model.report_.unchanged, model.predict_proba(X[:2]).shape
    (False, (2, 2))
    """

    to_fit = "call fit(X, y)"
    calibrator_: Calibrator
    report_: ModelReport
    estimators_: list[Any]
    shrink_: float | None
    """What scores are divided by before they are read as log-odds; None for probabilities."""

    def __init__(
        self,
        estimator: Any,
        method: str | Calibrator | Sequence[str | Calibrator] = AUTO,
        *,
        cv: Any = 5,
        ensemble: bool = False,
        by: str | int | Sequence[str | int] | None = None,
        proper_score: AnyScore = "log",
        rng: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.by = by
        self.proper_score = proper_score
        self.rng = rng

    def fit(
        self,
        X: Any,  # noqa: N803
        y: object = None,
        sample_weight: object = None,
        *,
        clusters: object = None,
        time: object = None,
        **fit_params: Any,
    ) -> Self:
        """Fit models, let them forecast held-out rows, and fit a calibrator to these forecasts.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d)
            Features, as the model takes them.
        y : array-like of shape (n,)
            Labels of the classes, numbers or words.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, for the model if its fit takes them and for the calibrator.
        clusters : array-like of shape (n,), optional
            Labels of groups of rows that depend on each other: no model forecasts a cluster of
            which it has seen a row. A splitter gets them as its groups.
        time : array-like of shape (n,), optional
            Times of the rows: models and calibrators learn from earlier rows only.
        **fit_params
            Further arguments of the fit of the model. With metadata routing those that it requested
            for.

        Returns
        -------
        The model itself.
        """
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight, clusters=clusters, time=time)
        refuse_no_forecasts(self.estimator)
        labels = read_target(y, self._class_name)[0]
        size = count_rows(X)
        if size != labels.size:
            raise InvalidForecastsError(
                "X and y must have the same number of rows", f"{size} and {labels.size}"
            )
        weight = read_row_weights(sample_weight, size)
        extra = {"clusters": clusters, "time": time}
        fitting, splitting = self._routed(sample_weight, extra, fit_params)
        kept = None if weight is None or weight.all() else np.flatnonzero(weight > 0)
        if weight is not None and kept is not None:
            X, labels, weight = take(X, kept), labels[kept], weight[kept]  # noqa: N806
            fitting, splitting, extra = (
                {
                    name: take(value, kept) if takes_rows(value, size) else value
                    for name, value in part.items()
                }
                for part in (fitting, splitting, extra)
            )
        _, classes, code = read_target(labels, self._class_name)
        rows = TrainingRows.read(X, labels, code, weight, **extra)
        if self._is_prefit:
            model = self.estimator
            classes = np.asarray(getattr(model, "classes_", classes))
            self._learn(rows.of_classes(classes), [(model, np.arange(labels.size))], classes, [])
            return self
        pairs = self._pairs(rows, kept, extra["clusters"], splitting)
        judged = [
            (fitted_to(self.estimator, X, labels, training, fitting), inside)
            for training, inside in pairs
        ]
        self._learn(rows, judged, classes, [training.size for training, _ in pairs])
        if not check_flag("ensemble", self.ensemble):
            self.estimators_ = [fitted_to(self.estimator, X, labels, None, fitting)]
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the recalibrated probability of each class, in the order of `classes_`."""
        self._require_fitted()
        by = self._groups(X)
        total = np.zeros((0, 0))
        for model in self.estimators_:
            recalibrated = self._recalibrated(raw_forecasts(model, X, self.classes_)[0], by)
            total = recalibrated if total.size == 0 else total + recalibrated
        return total / len(self.estimators_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted calibrator as plain data; `recalibration.load` takes it back."""
        return self._map_alone().to_dict()

    def to_json(self) -> str:
        """Return the fitted calibrator as JSON; `calibrant.recalibration.load` takes it back."""
        return self._map_alone().to_json()

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of the model's probabilities."""
        return self._map_alone().to_python(name)

    def to_sql(self, column: str | Sequence[str] | None = None, **options: Any) -> str:
        """Return the calibrator as SQL of a column of the model's probabilities.

        Parameters
        ----------
        column, **options
            As for `Calibrator.to_sql`.
        """
        return self._map_alone().to_sql(column, **options)

    def to_onnx(self, **options: Any) -> Any:
        """Return the calibrator as an ONNX model of the model's probabilities; needs `onnx`.

        Parameters
        ----------
        **options
            As for `Calibrator.to_onnx`.
        """
        return self._map_alone().to_onnx(**options)

    def _map_alone(self) -> Calibrator:
        """Return the calibrator, if probabilities are what it takes."""
        self._require_fitted()
        if self.shrink_ is not None:
            raise InvalidOptionError(
                "only a calibrator of probabilities can be exported",
                "a model that gives scores",
                "export what `calibrator_` holds and turn scores into probabilities first",
            )
        return self.calibrator_

    @property
    def _is_prefit(self) -> bool:
        prefit = isinstance(self.cv, str) and self.cv == PREFIT
        return prefit or type(self.estimator).__name__ == FROZEN

    def _models(self) -> list[Any]:
        return self.estimators_

    def _pairs(
        self, rows: TrainingRows, kept: Indices | None, groups: object, splitting: dict[str, Any]
    ) -> Pairs:
        """Training rows and rows that are forecast, for each model."""
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, int | float | np.number):
            return fold_pairs(cv, rows.code, rows.split_columns, as_generator(self.rng))
        if hasattr(cv, "split") and not isinstance(cv, str):
            pairs = split_by(cv, rows.X, rows.labels, groups, **splitting)
        else:
            pairs = read_pairs(cv, kept)
        return sound(pairs, rows.code)

    def _learn(
        self,
        rows: TrainingRows,
        judged: list[tuple[Any, Indices]],
        classes: npt.NDArray[Any],
        training_sizes: list[int],
    ) -> None:
        """Choose and fit a calibrator from forecasts of rows that the models have not seen.

        Training sizes are numbers of rows that each model was fitted to, none if it came fitted.
        """
        found = [raw_forecasts(model, take(rows.X, at), classes) for model, at in judged]
        inside = np.concatenate([at for _, at in judged])
        raw = np.concatenate([raw_part for raw_part, _ in found])
        shrink = shrinkage(raw) if found[0][1] else None
        with arguments_named(y_proba="predict_proba of the model", y_true="y"):
            choice = self._choice(rows.where(inside), probabilities(raw, shrink), classes)
        self.estimators_ = [model for model, _ in judged]
        self.calibrator_, self.shrink_ = choice.calibrator, shrink
        training_share = sum(training_sizes) / (max(len(training_sizes), 1) * rows.labels.size)
        self.report_ = ModelReport.of(
            choice,
            inside.size,
            len(training_sizes),
            training_share,
            kept=check_flag("ensemble", self.ensemble),
        )
        self.classes_ = classes

    def _choice(
        self, rows: TrainingRows, chance: Floats, classes: npt.NDArray[Any]
    ) -> Recalibration | GroupRecalibration:
        methods, always = self._maps()
        options: dict[str, Any] = {
            "sample_weight": rows.weight,
            "clusters": rows.split_columns.cluster,
            "time": rows.split_columns.time,
            "methods": methods,
            "always": always,
            "score": self.proper_score,
            "rng": self.rng,
        }
        by = self._groups(rows.X)
        if len(classes) == 2:
            if by is not None:
                return recalibrate_by_group(rows.code == 1, chance[:, 1], by, **options)
            return choice_of_probabilities(rows.code == 1, chance[:, 1], **options)
        if by is not None:
            raise InvalidOptionError(
                "patches for groups are for two classes", f"{len(classes)} classes", "leave out by"
            )
        return choice_of_probabilities(
            rows.code, chance, classes=list(range(len(classes))), **options
        )

    def _maps(self) -> tuple[list[Calibrator | str] | None, bool]:
        """Return what to choose from, and whether that is no choice."""
        if isinstance(self.method, str | Calibrator):
            return (None, False) if self.method == AUTO else ([self.method], True)
        if isinstance(self.method, Sequence):
            return list(self.method), False
        raise InvalidOptionError(
            'method must be "auto", a calibrator, its name, or a list of calibrators',
            shown(self.method),
        )

    def _groups(self, X: Any) -> dict[str, Any] | None:  # noqa: N803
        if self.by is None:
            return None
        several = isinstance(self.by, Sequence) and not isinstance(self.by, str)
        return grouping_columns(X, list(self.by) if several else [self.by])  # type: ignore[arg-type]

    def _recalibrated(self, raw: Floats, by: dict[str, Any] | None) -> Floats:
        chance = probabilities(raw, self.shrink_)
        if len(self.classes_) == 2:
            recalibrated = self.calibrator_.transform(chance[:, 1], by)
            return np.column_stack([1 - recalibrated, recalibrated])
        return np.asarray(self.calibrator_.transform(chance))

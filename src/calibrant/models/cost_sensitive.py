"""A classifier that answers with the best action of a decision task."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import check_flag, shown
from calibrant.data.input import as_array, one_column, refuse_other_labels
from calibrant.data.target import read_target
from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.models.forecasts import refuse_no_forecasts
from calibrant.models.wrapper import ModelWrapper, fitted_to


class CostSensitiveClassifier(ModelWrapper):
    """A classifier of two classes that decides by what actions pay.

    The thresholds follow from what actions pay, not from the rows: a calibrated probability needs
    no tuned threshold. Give it a `CalibratedClassifier`, so that its probabilities mean what they
    say.

    Parameters
    ----------
    estimator : classifier
        A model with `predict_proba`, such as a `CalibratedClassifier`.
    task : DecisionTask
        Actions, and what each pays if the class is `classes_[0]` (outcome 0) or `classes_[1]`
        (outcome 1).
    prefit : bool, default=False
        Whether the model is fitted already, and is to be left as it is.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model.
    classes_ : array of shape (2,)
        Labels of the classes; the second is outcome 1.
    thresholds_ : array
        Probabilities at which the best action changes.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(500, random_state=0)
    >>> task = DecisionTask.from_costs(false_positive=1, false_negative=9)
    >>> model = CostSensitiveClassifier(LogisticRegression(), task).fit(X, y)
    >>> model.thresholds_, model.predict(X[4:7])
    (array([0.1]), array([1, 0, 1]))
    >>> model.decide(X[4:7])
    array(['act', 'wait', 'act'], dtype='<U4')
    """

    estimator_: Any
    thresholds_: Floats

    def __init__(self, estimator: Any, task: DecisionTask, *, prefit: bool = False) -> None:
        self.estimator = estimator
        self.task = task
        self.prefit = prefit

    def fit(
        self,
        X: Any,  # noqa: N803
        y: object = None,
        sample_weight: object = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the model, unless it came fitted.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        **fit_params
            Further arguments of the fit of the model.
        """
        if not isinstance(self.task, DecisionTask):
            raise InvalidOptionError("@task must be a DecisionTask", shown(self.task))
        refuse_no_forecasts(self.estimator)
        if not hasattr(self.estimator, "predict_proba"):
            raise InvalidOptionError(
                "estimator must have predict_proba",
                type(self.estimator).__name__,
                "wrap it in a CalibratedClassifier first",
            )
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight)
        labels, classes, _ = read_target(y, self._class_name)
        fitting = self._routed(sample_weight, {}, fit_params)[0]
        model = self.estimator
        if not self._is_prefit:
            model = fitted_to(model, X, labels, None, fitting)
        classes = np.asarray(getattr(model, "classes_", classes))
        if len(classes) != 2:
            raise InvalidForecastsError(
                "Only binary classification is supported: a decision task is about two outcomes",
                f"{len(classes)} classes",
            )
        self.estimator_, self.classes_ = model, classes
        self.thresholds_ = self.task.thresholds
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probabilities of the model."""
        self._require_fitted()
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

    def decide(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the best action for each row, by name."""
        return np.asarray(self.task.best_response(self.predict_proba(X)[:, 1]))

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the class for which the best of two actions is best.

        A task of more actions, or with one that is always best, has no such class: call `decide`.
        """
        chance = self.predict_proba(X)[:, 1]
        never, always = np.asarray(self.task.best_response(np.array([0.0, 1.0]))).tolist()
        if never == always or self.task.thresholds.size != 1:
            raise InvalidOptionError(
                "classes can be predicted if one of two actions is best for each",
                f"a task of the actions {', '.join(self.task.actions)}",
                "call decide, which answers with the best action",
            )
        acted = np.asarray(self.task.best_response(chance) == always)
        return np.asarray(self.classes_[acted.astype(np.intp)])

    def score(self, X: Any, y: object, sample_weight: object = None) -> float:  # noqa: N803
        """Return the mean payoff of the actions, which is larger the better."""
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight)
        labels = one_column(as_array(y, "y"), "y")
        outcome = np.asarray(labels == self.classes_[1], dtype=np.intp)
        index = {action: i for i, action in enumerate(self.task.actions)}
        action = np.array([index[name] for name in self.decide(X).tolist()])
        weight = None if sample_weight is None else as_array(sample_weight, "sample_weight")
        return float(np.average(self.task.payoffs[action, outcome], weights=weight))

    @property
    def _is_prefit(self) -> bool:
        return check_flag("prefit", self.prefit)

    def _models(self) -> list[Any]:
        return [self.estimator_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

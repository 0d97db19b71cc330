"""Measures as scorers of scikit-learn, for model selection."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calibrant._base.options import shown
from calibrant.catalogue import CATALOGUE, Measure
from calibrant.data.input import as_array, one_column
from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.multiclass import top_label
from calibrant.recalibration import Routed

# The one option without which some measures mean nothing.
TASK = "task"
# Answers with a measure of each class: no number.
NO_NUMBER = "multiclass.class_wise"


class Scorer(Routed):
    """A measure of a fitted model on rows, negative so that larger is better.

    `scorer(model, X, y)` lets the model predict probabilities. Labels are those of the model's
    classes, of any kind: of two, the second is outcome 1. Of more classes, a measure of two
    outcomes looks at the confidence in the most likely class.
    """

    routed_methods: ClassVar[tuple[str, ...]] = ("score",)
    name: str
    """As scikit-learn would name it: `neg_` and the measure."""

    def __init__(self, measure: str, **options: Any) -> None:
        self.measure = measure
        self.options = options
        self.name = f"neg_{measure.replace('.', '_')}"

    def __call__(self, estimator: Any, X: Any, y: object, sample_weight: object = None) -> float:  # noqa: N803
        """Return minus the measure of what a fitted model predicts."""
        if not hasattr(estimator, "predict_proba"):
            raise InvalidOptionError(
                "a model must have predict_proba to be scored by its calibration",
                type(estimator).__name__,
                "wrap it in a CalibratedClassifier",
            )
        chance = np.asarray(estimator.predict_proba(X))
        labels = one_column(as_array(y, "y"), "y")
        classes = np.asarray(getattr(estimator, "classes_", np.arange(chance.shape[1]))).tolist()
        unknown = sorted(set(labels.tolist()) - set(classes), key=str)
        if unknown:
            raise InvalidForecastsError(
                "y must hold classes that the model knows", f"the class {shown(unknown[0])}"
            )
        measure = CATALOGUE[self.measure].function
        if CATALOGUE[self.measure].domain == "classes":
            found = measure(
                labels, chance, classes=classes, sample_weight=sample_weight, **self.options
            )
        elif len(classes) == 2:
            outcome = np.asarray(labels == classes[1])
            found = measure(outcome, chance[:, 1], sample_weight=sample_weight, **self.options)
        else:
            joint = top_label(labels, chance, classes=classes, sample_weight=sample_weight)
            found = measure(joint, **self.options)
        return -float(found)

    def score(self, estimator: Any, X: Any, y: object, sample_weight: object = None) -> float:  # noqa: N803
        """Do the same, by the name under which requests for metadata are kept."""
        return self(estimator, X, y, sample_weight)

    def set_score_request(self, **requests: bool | str | None) -> Scorer:
        """Say which arguments are wanted, as for `set_fit_request` of an estimator."""
        return self._request("score", requests)

    def _beyond(self, method: str) -> tuple[str, ...]:
        return tuple(name for name in super()._beyond(method) if name != "estimator")

    def __repr__(self) -> str:
        return f"Scorer({self.name})"


def scorers(*, task: DecisionTask | None = None) -> dict[str, Scorer]:
    """Return a scorer for every measure of the catalogue, by name.

    Names begin with `neg_`, as scikit-learn's do: scores are negative errors, so that larger is
    better. scikit-learn has no place to register names, so pass the scorer itself, or the whole
    dictionary: `cross_validate(model, X, y, scoring=scorers())`.

    Do not choose a model by calibration alone: the base rate, forecast for everybody, is
    calibrated. Let a proper score choose, and look at calibration beside it.

    Parameters
    ----------
    task : DecisionTask, optional
        Your decision. Measures that mean nothing without one are left out if it is not given.

    Returns
    -------
    dict of str to Scorer
        Each is called with a fitted model, X and y: labels of any kind, two classes or many. Of
        more than two classes a measure of two outcomes looks at the confidence in the most likely
        one; measures of all classes are named `neg_multiclass_...`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0], [0]], ["no", "no", "no", "yes"])
    >>> scorers()["neg_smooth_calibration_error"](model, [[0], [0]], ["yes", "no"])
    -0.25
    """
    if task is not None and not isinstance(task, DecisionTask):
        raise InvalidOptionError("@task must be a DecisionTask", shown(task))
    made = [
        Scorer(measure.name, **({TASK: task} if measure.requires else {}))
        for measure in CATALOGUE.values()
        if _can_score(measure, task)
    ]
    return {scorer.name: scorer for scorer in made}


def _can_score(measure: Measure, task: DecisionTask | None) -> bool:
    """Whether a model, rows and perhaps a task are all that a measure needs."""
    if measure.domain not in {"joint", "classes"} or measure.name == NO_NUMBER:
        return False
    available = (TASK,) if task is not None and measure.domain == "joint" else ()
    return set(measure.requires) <= set(available)

"""scikit-learn's own checks of the models around models, none left out."""

from __future__ import annotations

import warnings

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.utils.estimator_checks import check_estimator

from calibrant import DecisionTask
from calibrant.models import CalibratedClassifier, CostSensitiveClassifier

TASK = DecisionTask.from_threshold(0.5)
MODELS = {
    "one model": CalibratedClassifier(LogisticRegression(), cv=2),
    "an ensemble": CalibratedClassifier(LogisticRegression(), "temperature", cv=2, ensemble=True),
    "of scores": CalibratedClassifier(RidgeClassifier(), cv=2),
    "of decisions": CostSensitiveClassifier(LogisticRegression(), TASK),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_pass_every_check(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(MODELS[name], on_fail=None, on_skip=None)
    failed = {
        one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"
    }
    assert failed == {}
    assert sum(one["status"] == "passed" for one in found) >= 60

"""Decisions by what actions pay."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from calibrant import DecisionTask
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.models import CalibratedClassifier, CostSensitiveClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 2))
Y = np.where(RNG.random(800) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
TASK = DecisionTask.from_costs(false_positive=1, false_negative=9, actions=("treat", "wait"))


def test_the_best_action_is_taken():
    model = CostSensitiveClassifier(CalibratedClassifier(LogisticRegression()), TASK).fit(X, Y)
    chance = model.predict_proba(X)[:, 1]
    assert model.thresholds_.tolist() == [0.1]
    assert np.array_equal(model.decide(X) == "treat", chance >= 0.1)
    assert np.array_equal(model.predict(X) == "yes", chance >= 0.1)
    paid = np.where(
        model.decide(X) == "treat", np.where(Y == "yes", 0, -1), np.where(Y == "yes", -9, 0)
    )
    assert model.score(X, Y) == pytest.approx(paid.mean())
    at_half = LogisticRegression().fit(X, Y)
    cost = np.where(
        at_half.predict(X) == "yes", np.where(Y == "yes", 0, -1), np.where(Y == "yes", -9, 0)
    )
    assert model.score(X, Y) > cost.mean()


def test_three_actions_are_decided_but_no_classes():
    task = DecisionTask({"treat": {0: -3, 1: 0}, "test": {0: -1, 1: -1}, "wait": {0: 0, 1: -9}})
    model = CostSensitiveClassifier(LogisticRegression(), task).fit(X, Y)
    assert set(model.decide(X)) <= {"treat", "test", "wait"}
    with pytest.raises(InvalidOptionError, match="call decide"):
        model.predict(X)


def test_a_fitted_model_is_kept():
    fitted = LogisticRegression().fit(X, Y)
    model = clone(CostSensitiveClassifier(fitted, TASK, prefit=True)).fit(X[:5], Y[:5])
    assert model.estimator_ is fitted


def test_what_cannot_decide_is_refused():
    with pytest.raises(InvalidOptionError, match="task must be"):
        CostSensitiveClassifier(LogisticRegression(), 0.1).fit(X, Y)
    with pytest.raises(InvalidOptionError, match="CalibratedClassifier"):
        CostSensitiveClassifier(LinearSVC(), TASK).fit(X, Y)
    with pytest.raises(InvalidForecastsError, match="Only binary"):
        CostSensitiveClassifier(LogisticRegression(), TASK).fit(X, RNG.integers(0, 3, 800))

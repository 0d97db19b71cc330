"""Measures as scorers of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.svm import LinearSVC

import calibrant as cal
from calibrant.catalogue import CATALOGUE, JOINT_MEASURES
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.integrations import scorers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (RNG.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
WORDS = np.array(["b", "a"])[Y]
THREE = np.array(["x", "y", "z"])[RNG.integers(0, 3, 300)]
TASK = cal.DecisionTask.from_threshold(0.2)


def test_scorers_are_negative_errors():
    for name in ("neg_smooth_calibration_error", "neg_binned_calibration_error"):
        scores = cross_val_score(LogisticRegression(), X, Y, scoring=scorers()[name], cv=3)
        assert (scores <= 0).all()
        assert (scores > -0.3).all()


def test_every_measure_that_needs_only_a_model_has_a_scorer():
    joint = {f"neg_{name.replace('.', '_')}": one for name, one in JOINT_MEASURES.items()}
    names = {name for name, one in joint.items() if not one.requires}
    classes = {
        f"neg_{name.replace('.', '_')}"
        for name, one in CATALOGUE.items()
        if one.domain == "classes" and not one.requires and name != "multiclass.class_wise"
    }
    assert set(scorers()) == names | classes
    assert set(scorers(task=TASK)) == {*joint, *classes, "neg_fixed_decision_loss"}
    with pytest.raises(InvalidOptionError, match="task must be"):
        scorers(task=0.2)


def test_labels_of_words_are_those_of_the_model():
    model = LogisticRegression().fit(X, WORDS)
    expected = cal.smooth_calibration_error(WORDS == "b", model.predict_proba(X)[:, 1])
    scorer = scorers()["neg_smooth_calibration_error"]
    assert scorer(model, X, WORDS) == -float(expected)
    ones = WORDS == "a"  # a fold with one class only
    assert scorer(model, X[ones], WORDS[ones]) < 0
    with pytest.raises(InvalidForecastsError, match="the class 'c'"):
        scorer(model, X, np.full(300, "c"))


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_many_classes_are_judged_by_the_confidence_and_by_all_of_them():
    model = LogisticRegression().fit(X, THREE)
    table = model.predict_proba(X)
    found = {name: scorer(model, X, THREE) for name, scorer in scorers().items()}
    joint = cal.multiclass.top_label(THREE, table, classes=["x", "y", "z"])
    assert found["neg_smooth_calibration_error"] == -float(cal.smooth_calibration_error(joint))
    canonical = cal.multiclass.canonical_calibration_error(THREE, table, classes=["x", "y", "z"])
    assert found["neg_multiclass_canonical_calibration_error"] == -float(canonical)
    assert all(value <= 0 for value in found.values())


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_all_scorers_stand_in_one_cross_validation():
    some = {name: scorers(task=TASK)[name] for name in list(scorers(task=TASK))[:4]}
    some["neg_fixed_decision_loss"] = scorers(task=TASK)["neg_fixed_decision_loss"]
    found = cross_validate(LogisticRegression(), X, WORDS, scoring=some, cv=3)
    assert {f"test_{name}" for name in some} <= set(found)


def test_a_search_looks_at_calibration_beside_a_proper_score():
    search = GridSearchCV(
        LogisticRegression(),
        {"C": [0.01, 1.0]},
        scoring={"log": "neg_log_loss", "smooth": scorers()["neg_smooth_calibration_error"]},
        refit="log",
        cv=3,
    ).fit(X, WORDS)
    assert (search.cv_results_["mean_test_smooth"] <= 0).all()


def test_weights_are_routed_to_a_scorer_that_asks():
    weight = RNG.integers(0, 3, 300)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = scorers()["neg_smooth_calibration_error"].set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        found = cross_val_score(model, X, Y, scoring=scorer, params={"sample_weight": weight}, cv=3)
    assert not np.allclose(found, cross_val_score(LogisticRegression(), X, Y, scoring=scorer, cv=3))


def test_scorers_can_be_pickled_and_read():
    scorer = scorers()["neg_smooth_calibration_error"]
    assert repr(pickle.loads(pickle.dumps(scorer))) == "Scorer(neg_smooth_calibration_error)"  # noqa: S301
    with pytest.raises(InvalidOptionError, match="CalibratedClassifier"):
        scorer(LinearSVC().fit(X, Y), X, Y)

"""scikit-learn's own checks of the omnipredictor.

They feed several columns, which method="isotonic" refuses: it shares all but its one line of
fitting with the others.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from calibrant.groups import Omnipredictor

REPEATS = "check_sample_weight_equivalence_on_dense_data"
EVIDENCE = {REPEATS: "the noise level falls with copies of rows, which weights are not"}
LABELS = {"check_dtype_object": "its columns may hold labels, but no mappings"}
CHECKED = {
    "multiaccuracy": (Omnipredictor(), EVIDENCE),
    "multiaccuracy to a tolerance": (Omnipredictor(tolerance=0.01), {}),
    "isotron": (Omnipredictor("isotron"), EVIDENCE),
    "isotron to a tolerance": (Omnipredictor("isotron", tolerance=0.01), {}),
    "isotron, heads": (Omnipredictor("isotron", heads="average", tolerance=0.01, rounds=20), {}),
    "multicalibration": (Omnipredictor("multicalibration"), LABELS),
}


def checked(model, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = {
        one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"
    }
    unmet = {one["check_name"] for one in found if one["status"] == "xfail"}
    return failed, unmet, sum(one["status"] == "passed" for one in found)


@pytest.mark.parametrize("name", CHECKED)
def test_it_passes_every_check(name):
    model, expected = CHECKED[name]
    failed, unmet, passed = checked(model, expected)
    assert failed == {}
    assert unmet == set(expected)
    assert passed >= 60


def test_tags_say_what_it_takes():
    tags = get_tags(Omnipredictor())
    assert tags.estimator_type == "classifier"
    assert not tags.classifier_tags.multi_class
    assert not tags.input_tags.allow_nan
    assert get_tags(Omnipredictor("multicalibration")).input_tags.allow_nan


def test_it_works_in_pipelines_and_searches():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 3))
    y = rng.random(400) < 1 / (1 + np.exp(-table @ [2.0, 1.0, 0.0]))
    pipeline = make_pipeline(StandardScaler(), Omnipredictor())
    assert cross_val_score(pipeline, table, y, cv=3, scoring="neg_brier_score").mean() > -0.2
    search = GridSearchCV(Omnipredictor(), {"method": ["multiaccuracy", "isotron"]}, cv=3)
    assert search.fit(table, y).best_score_ > 0.7

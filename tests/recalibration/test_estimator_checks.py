"""scikit-learn's own checks of estimators, of every calibrator and of the Multicalibrator.

The checks feed numbers of all sizes in any number of columns, and labels of any kind: no
probabilities, so that a calibrator refuses them, and its tags say that it takes one dimension.
Nothing is left out for that: behind a reading of any numbers as probabilities every estimator must
pass all checks. This reading is all that is added; what is checked is the estimator's own.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator

from calibrant.groups import Multicalibrator
from calibrant.recalibration import CALIBRATORS, MULTICLASS_CALIBRATORS

# Calibrators that are held back by the number of rows: targets, ridges, distance from 0 and 1.
WEIGHT_CHECKS_EXCUSED = (
    "platt", "centered_isotonic", "isotonic", "histogram", "venn_abers", "multiclass_prior",
    "structured_vector", "structured_matrix", "one_vs_rest_isotonic", "subset",
)  # fmt: skip
EVERY = {**CALIBRATORS, **MULTICLASS_CALIBRATORS, "Multicalibrator": Multicalibrator}


def squashed(X, columns):
    """Read any finite numbers as probabilities: of outcome 1, or of so many classes."""
    try:
        table = np.asarray(X)
        if table.dtype.kind == "c" or table.ndim != 2 or 0 in table.shape:
            return X
        table = table.astype(np.float64)
    except (TypeError, ValueError):
        return table[:, :columns] if table.ndim == 2 else X
    if not np.isfinite(table).all():
        return table[:, :columns]
    if columns == 1:
        return 1 / (1 + np.exp(-table.mean(axis=1)))
    score = np.exp(-np.abs(table[:, [i % table.shape[1] for i in range(columns)]]))
    return score / score.sum(axis=1, keepdims=True)


def coded(y, count):
    """Number the labels of any kind."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.dtype.kind == "c" or labels.ndim != 1 or labels.size == 0:
        return y
    return np.unique(labels, return_inverse=True)[1] % count


def one_group(X):
    """Put all rows into one group."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return {"all": ["one"] * shape[0]}


def on_any_numbers(kind):
    """Let an estimator read any numbers as probabilities."""
    of_classes = kind in MULTICLASS_CALIBRATORS.values() and kind not in CALIBRATORS.values()
    columns = 3 if of_classes else 1

    grouped = kind is Multicalibrator

    class Reading(kind):
        def fit(self, X, y=None, sample_weight=None):
            given = {"by": one_group(X)} if grouped else {}
            return super().fit(X, coded(y, max(columns, 2)), sample_weight=sample_weight, **given)

        def fit_transform(self, X, y=None, sample_weight=None):
            return self.fit(X, y, sample_weight).transform(X)

        def transform(self, X):
            return super().transform(X, **({"by": one_group(X)} if grouped else {}))

        def _as_probabilities(self, X):
            return squashed(X, columns)

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
            return tags

    if grouped:
        Reading.predict_proba = lambda self, X: kind.predict_proba(self, X, by=one_group(X))
    Reading.__name__ = Reading.__qualname__ = f"{kind.__name__}OfAnyNumbers"
    globals()[Reading.__name__] = Reading  # where pickle looks for it
    return Reading


def checked(estimator, expected=None):
    """Names of the checks that fail, without those that are expected to, and of these."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not inherit from")
        found = check_estimator(
            estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    results = {kind: set() for kind in ("passed", "failed", "xfail", "skipped")}
    for one in found:
        results[one["status"]].add(one["check_name"])
        print(one["status"], one["check_name"], one["exception"])  # noqa: T201
    return results


ALL = {name: kind() for name, kind in EVERY.items()}
ALL["Multicalibrator by the letter"] = Multicalibrator(judge="fit")
REPEATS = "check_sample_weight_equivalence_on_dense_data"
# Rows that are dealt into those that teach and those that judge may part from their copies. Copies
# are more rows, and weights are not.
EXPECTED = {"Multicalibrator": "rows are dealt, copies of them too"} | dict.fromkeys(
    WEIGHT_CHECKS_EXCUSED, "weights have no unit and add no evidence"
)


@pytest.mark.parametrize("name", ALL)
def test_estimators_pass_every_check_behind_a_reading_of_any_numbers(name):
    estimator = ALL[name]
    reading = on_any_numbers(type(estimator))(**estimator.get_params())
    results = checked(reading, {REPEATS: EXPECTED[name]} if name in EXPECTED else None)
    assert results["failed"] == set()
    assert (results["xfail"] == {REPEATS}) is (name in WEIGHT_CHECKS_EXCUSED)
    assert len(results["passed"]) >= 45


@pytest.mark.parametrize("name", ["platt", "vector", "Multicalibrator"])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dataframe_column_names_consistency,
        estimator_checks.check_set_output_transform,
    ],
    ids=lambda check: check.__name__,
)
def test_names_of_columns_are_remembered(name, check):
    reading = on_any_numbers(EVERY[name])()
    check(type(reading).__name__, reading)


@pytest.mark.parametrize("name", EVERY)
def test_tags_say_what_an_estimator_takes(name):
    tags = get_tags(EVERY[name]())
    assert tags.target_tags.required
    assert tags.transformer_tags is not None
    assert tags.input_tags.one_d_array is (
        name not in MULTICLASS_CALIBRATORS or name in CALIBRATORS
    )
    assert tags.input_tags.two_d_array is (name in MULTICLASS_CALIBRATORS)
    assert not tags.input_tags.sparse

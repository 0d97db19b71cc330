"""What scikit-learn users expect of a calibrator: pipelines, names, containers, errors."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError as TheirNotFitted
from sklearn.pipeline import make_pipeline

from calibrant import groups, recalibration
from calibrant.errors import (
    InvalidForecastsError,
    InvalidOptionError,
    NotFittedError,
    arguments_named,
)

RNG = np.random.default_rng(5)
P = RNG.random(300)
Y = (RNG.random(300) < P**2).astype(int)
W = RNG.integers(1, 4, 300)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_weights_to_a_map():
    wanted = make_pipeline(recalibration.PlattScaling().set_fit_request(sample_weight=True))
    wanted.fit(P, Y, sample_weight=W)
    assert np.array_equal(
        wanted.transform(P), recalibration.PlattScaling().fit(P, Y, W).transform(P)
    )
    assert not np.array_equal(
        wanted.transform(P), recalibration.PlattScaling().fit(P, Y).transform(P)
    )
    refused = make_pipeline(recalibration.PlattScaling().set_fit_request(sample_weight=False))
    with pytest.raises(TypeError, match="sample_weight"):
        refused.fit(P, Y, sample_weight=W)
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        make_pipeline(recalibration.PlattScaling()).fit(P, Y, sample_weight=W)


@pytest.mark.usefixtures("routing")
def test_requests_survive_a_clone_and_a_pickle():
    requesting = recalibration.PlattScaling().set_fit_request(sample_weight="weights")
    for one in (clone(requesting), pickle.loads(pickle.dumps(requesting))):  # noqa: S301
        assert one.get_metadata_routing().fit.requests["sample_weight"] == "weights"
    grouped = groups.Multicalibrator().set_fit_request(by=True).set_transform_request(by=True)
    assert clone(grouped).get_metadata_routing().transform.requests == {"by": True}


def test_requests_for_what_no_method_takes_are_refused(routing):
    with pytest.raises(InvalidOptionError, match="fit has the further arguments sample_weight"):
        recalibration.PlattScaling().set_fit_request(clusters=True)


def test_requests_while_routing_is_off_are_refused():
    with pytest.raises(InvalidOptionError, match="routing that is off"):
        recalibration.PlattScaling().set_fit_request(sample_weight=True)


@pytest.mark.parametrize(
    "kind", ({**recalibration.CALIBRATORS, **recalibration.MULTICLASS_CALIBRATORS}).values()
)
def test_who_asks_before_the_fit_gets_an_error_of_both_libraries(kind):
    with pytest.raises(TheirNotFitted) as caught:
        kind().transform([0.3])
    assert isinstance(caught.value, NotFittedError)
    assert isinstance(caught.value, InvalidOptionError)
    assert type(caught.value).__name__ == "NotFittedError"
    restored = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert isinstance(restored, NotFittedError)


def test_maps_work_where_scikit_learn_is_not_loaded():
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from calibrant.recalibration import PlattScaling\n"
        "from calibrant.errors import NotFittedError\n"
        "try:\n    PlattScaling().transform([0.3])\n"
        "except NotFittedError as error:\n    print(type(error).__module__)\n"
        "print(PlattScaling().fit([0.1, 0.2, 0.7, 0.8], [0, 1, 0, 1]).transform(0.2) > 0)\n"
        "print([m for m in sys.modules if m.startswith('sklearn.')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:3] == ["calibrant.errors", "True", "[]"]


def test_outcomes_are_called_y():
    assert np.array_equal(
        recalibration.PlattScaling().fit(P, y=Y).transform(P),
        recalibration.PlattScaling().fit(X=P, y=Y).transform(X=P),
    )
    with pytest.raises(ValueError, match="requires y to be passed"):
        recalibration.PlattScaling().fit(P)


def test_a_number_becomes_a_number():
    fitted = recalibration.IsotonicCalibration().fit(P, Y)
    for number in (0.3, np.float32(0.3), np.array(0.3), 0, 1):
        answer = fitted.transform(number)
        assert type(answer) is float
        assert answer == fitted.transform([float(number)])[0]
    with pytest.raises(InvalidForecastsError, match="probabilities"):
        fitted.transform(30)
    grouped = groups.Multicalibrator(judge="fit").fit(P, Y, {"site": ["a", "b"] * 150}).to_map()
    by = {"site": ["b"]}
    assert grouped.transform(0.3, {"site": "b"}) == grouped.transform([0.3], by)[0]


class Strict:
    """An array of another library: it knows the array API, and only its own kind."""

    def __init__(self, values):
        self.values = np.asarray(values)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    dtype = property(lambda self: self.values.dtype)
    device = "cpu"

    def __array_namespace__(self, *, api_version=None):
        return Strict

    @staticmethod
    def asarray(values, device=None):
        assert device == "cpu"
        return Strict(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries_come_back_as_such():
    fitted = recalibration.PlattScaling().fit(Strict(P), Strict(Y))
    for given in (P, P[:, np.newaxis], np.c_[1 - P, P]):
        answer = fitted.transform(Strict(given))
        assert isinstance(answer, Strict)
        assert np.array_equal(answer.values, fitted.transform(given))


def test_frames_are_returned_where_they_are_asked_for():
    frame = pd.DataFrame({"score": P}, index=np.arange(300)[::-1])
    fitted = recalibration.PlattScaling().fit(frame, Y)
    expected = fitted.transform(P)
    assert fitted.get_feature_names_out().tolist() == ["score"]
    found = fitted.set_output(transform="pandas").transform(frame)
    assert found.index.equals(frame.index)
    assert found.columns.tolist() == ["score"]
    assert np.array_equal(found["score"], expected)
    assert clone(fitted).fit_transform(frame, Y).equals(found)
    found = fitted.set_output(transform="polars").transform(pl.DataFrame({"score": P}))
    assert isinstance(found, pl.DataFrame)
    assert np.array_equal(found["score"], expected)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(recalibration.BetaCalibration().fit(P, Y).transform(P), pd.DataFrame)
    with pytest.raises(InvalidOptionError, match="transform must be one of"):
        fitted.set_output(transform="excel")
    assert fitted.set_output().transform(P).columns == ["score"]


def test_tables_of_two_columns_and_of_classes_have_names():
    both = pd.DataFrame({"0": 1 - P, "1": P})
    fitted = recalibration.PlattScaling().fit(both, Y).set_output(transform="pandas")
    assert fitted.transform(both).columns.tolist() == ["0", "1"]
    assert fitted.transform(P).shape == (300, 1)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(both[["1", "0"]])
    table = RNG.dirichlet(np.ones(3), 300)
    labels = RNG.integers(0, 3, 300)
    classes = recalibration.TemperatureScaling().fit(table, labels).set_output(transform="pandas")
    assert classes.transform(table).columns.tolist() == ["x0", "x1", "x2"]


def test_a_map_stands_in_a_column_transformer():
    frame = pd.DataFrame({"score": P, "age": W})
    made = ColumnTransformer(
        [("calibrator", recalibration.PlattScaling(), ["score"])], remainder="passthrough"
    )
    found = made.set_output(transform="pandas").fit_transform(frame, Y)
    assert found.columns.tolist() == ["calibrator__score", "remainder__age"]
    assert np.array_equal(
        found["calibrator__score"], recalibration.PlattScaling().fit(P, Y).transform(P)
    )


def test_parameters_of_inner_estimators_are_reached():
    from sklearn.tree import DecisionTreeRegressor

    outer = groups.Multicalibrator("boosted", learner=DecisionTreeRegressor(max_depth=3))
    assert outer.get_params()["learner__max_depth"] == 3
    assert "learner__max_depth" not in outer.get_params(deep=False)
    assert outer.set_params(learner__max_depth=2).learner.max_depth == 2
    with pytest.raises(InvalidOptionError, match="PlattScaling has the parameters"):
        recalibration.PlattScaling().set_params(depth=1)


def test_rows_that_weigh_nothing_are_left_out_of_a_multicalibration():
    by = {"site": np.array(["a", "b"] * 150)}
    weight = np.where(np.arange(300) < 250, 1.0, 0.0)
    kept = weight > 0
    first = groups.Multicalibrator(judge="fit").fit(P, Y, by, weight)
    second = groups.Multicalibrator(judge="fit").fit(P[kept], Y[kept], {"site": by["site"][kept]})
    assert np.array_equal(first.transform(P, by), second.transform(P, by))
    with pytest.raises(ValueError, match="cannot all be zero"):
        groups.Multicalibrator().fit(P, Y, by, np.zeros(300))


GROUPED = {"by": {"half": np.arange(300) % 2}}
FITTED = {
    "a calibrator of two outcomes": (recalibration.PlattScaling(), {}),
    "a calibrator of classes": (recalibration.TemperatureScaling(), {}),
    "a multicalibrator": (groups.Multicalibrator(), GROUPED),
}
BAD_FITS = {
    "beyond one": (P * 3, Y),
    "missing predictions": (np.where(P < 0.5, np.nan, P), Y),
    "text": (P.astype(str)[:, None].repeat(2, 1), Y),
    "other lengths": (P, Y[:-1]),
    "labels": (P, np.where(Y, "b", "a")),
    "missing outcomes": (P, np.where(Y, np.nan, 0.0)),
    "three columns": (np.column_stack([P, P, P]), Y),
    "sparse": (scipy.sparse.csr_array(P[:, None]), Y),
}


def named_in(error):
    return set(re.findall(r"\by_proba\b|\by_true\b|\bX\b|\by\b", str(error)))


@pytest.mark.parametrize("bad", BAD_FITS)
@pytest.mark.parametrize("estimator", FITTED)
def test_errors_of_a_fit_name_its_arguments(estimator, bad):
    one, options = FITTED[estimator]
    with pytest.raises(InvalidForecastsError) as caught:
        clone(one).fit(*BAD_FITS[bad], **options)
    assert named_in(caught.value)
    assert named_in(caught.value) <= {"X", "y"}


@pytest.mark.parametrize("bad", ["beyond one", "missing predictions", "three columns", "sparse"])
@pytest.mark.parametrize("estimator", FITTED)
def test_errors_of_a_transform_name_its_argument(estimator, bad):
    one, options = FITTED[estimator]
    fitted = clone(one).fit(P, Y, **options)
    with pytest.raises(InvalidForecastsError) as caught:
        fitted.transform(BAD_FITS[bad][0], **options)
    assert named_in(caught.value) == {"X"}


def test_swapped_arguments_are_named_as_they_were_given():
    with pytest.raises(InvalidForecastsError, match="probabilities in y and only 0 and 1 in X"):
        recalibration.PlattScaling().fit(Y, P)


def test_a_number_and_patches_for_groups_are_named_too():
    half = np.arange(300) % 2
    patched = groups.recalibrate_by_group(
        np.where(half, Y, 1 - Y), P, {"half": half}, rng=0
    ).calibrator
    for call in (
        lambda: recalibration.PlattScaling().fit(P, Y).transform(2.0),
        lambda: patched.transform([2], [[1]]),
    ):
        with pytest.raises(InvalidForecastsError, match="X must be probabilities"):
            call()


def test_names_that_the_caller_gave_stay_as_they_are():
    with pytest.raises(InvalidForecastsError) as caught, arguments_named(y_true="y"):
        raise InvalidForecastsError("@y_true must be a number", "'y_true' of y_true_2")
    assert str(caught.value) == "y must be a number, got 'y_true' of y_true_2."

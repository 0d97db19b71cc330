"""Outcomes and predictions as other libraries hold them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import calibrant as cal
from calibrant.errors import CalibrantWarning, InvalidForecastsError

RNG = np.random.default_rng(0)
P = RNG.random(60)
Y = (RNG.random(60) < P).astype(int)
EXPECTED = float(cal.smooth_calibration_error(Y, P))
TABLE = RNG.dirichlet(np.ones(3), 60)
LABEL = RNG.integers(0, 3, 60)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def test_one_hot_outcomes_are_those_of_the_second_column():
    for given in (np.c_[1 - Y, Y], np.c_[1.0 - Y, Y], np.c_[Y == 0, Y == 1]):
        assert float(cal.smooth_calibration_error(given, np.c_[1 - P, P])) == EXPECTED
        assert float(cal.smooth_calibration_error(given.tolist(), P)) == EXPECTED
    fitted = cal.recalibration.PlattScaling().fit(np.c_[1 - P, P], np.c_[1 - Y, Y])
    assert fitted.to_json() == cal.recalibration.PlattScaling().fit(P, Y).to_json()
    for wrong in (np.c_[Y, Y], np.c_[0.5 * Y, 1 - 0.5 * Y], np.c_[Y, Y, Y]):
        with pytest.raises(InvalidForecastsError, match="one column"):
            cal.smooth_calibration_error(wrong, P)


def test_one_hot_labels_of_classes():
    measure = cal.multiclass.canonical_calibration_error
    expected = float(measure(LABEL, TABLE))
    assert float(measure(np.eye(3)[LABEL], TABLE)) == expected
    names = ["a", "b", "c"]
    hot = pd.DataFrame(np.eye(3, dtype=int)[LABEL], columns=names)
    frame = pd.DataFrame(TABLE, columns=names)
    assert float(measure(hot, frame)) == expected
    assert float(measure(hot[["c", "a", "b"]], frame)) == expected
    with pytest.raises(InvalidForecastsError, match="one column"):
        measure(np.ones((60, 3)), TABLE)


@pytest.mark.parametrize("shape", [(6, 10), (30, 2), (3, 4, 5)])
def test_grids_of_xarray_are_flattened_and_said_to_be(shape):
    dims = ("time", "lat", "lon")[: len(shape)]
    y, p = (xr.DataArray(values.reshape(shape), dims=dims) for values in (Y, P))
    with pytest.warns(CalibrantWarning, match="are flattened: "):
        assert float(cal.smooth_calibration_error(y, p)) == EXPECTED
    with pytest.warns(CalibrantWarning, match="are flattened: "):
        assert float(cal.smooth_calibration_error(y.transpose(*dims[::-1]), p)) == pytest.approx(
            EXPECTED, abs=1e-15
        )
    with pytest.warns(CalibrantWarning, match="are flattened: "):
        found = cal.verdict(y, p, rng=0)
    assert found.value == pytest.approx(cal.verdict(Y, P, rng=0).value)


def test_one_dimension_of_xarray_needs_no_words():
    y, p = (xr.DataArray(values, dims="time") for values in (Y, P))
    assert float(cal.smooth_calibration_error(y, p)) == EXPECTED


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1], np.array([0.4 + 5j, 0.6])),
        ([0, 1], [0.4 + 5j, 0.6]),
        ([0, 1], np.array([0.4 + 5j, 0.6], dtype=object)),
        (np.array([0, 1 + 2j]), [0.4, 0.6]),
    ],
)
def test_complex_numbers_are_refused(y, p):
    with pytest.raises(InvalidForecastsError):
        cal.smooth_calibration_error(y, p)
    with pytest.raises(InvalidForecastsError):
        cal.recalibration.PlattScaling().fit(p, y)


@pytest.mark.parametrize("outcome", ["Int64", "boolean", "Float64", "category", "int8[pyarrow]"])
@pytest.mark.parametrize("prediction", ["Float64", "Float32", "double[pyarrow]", "category"])
def test_types_of_pandas_are_read(outcome, prediction):
    y, p = pd.Series(Y).astype(outcome), pd.Series(P.round(3)).astype(prediction)
    expected = float(cal.smooth_calibration_error(Y, P.round(3)))
    tolerance = 1e-6 if prediction == "Float32" else 1e-15
    assert float(cal.smooth_calibration_error(y, p)) == pytest.approx(expected, abs=tolerance)
    assert cal.recalibration.IsotonicCalibration().fit(p, y).transform(p).shape == (60,)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(("zero", "one"), [("0", "1"), ("False", "True"), ("0.0", "1.0")])
def test_two_columns_of_a_frame_are_read_by_their_names(frame, zero, one):
    for columns in ({zero: 1 - P, one: P}, {one: P, zero: 1 - P}):
        assert float(cal.smooth_calibration_error(Y, frame(columns))) == EXPECTED
    hot = frame({one: Y, zero: 1 - Y})
    assert float(cal.smooth_calibration_error(hot, P)) == EXPECTED


@pytest.mark.parametrize(("zero", "one"), [(0, 1), (False, True), (0.0, 1.0), (np.int8(0), 1)])
def test_two_columns_of_pandas_may_have_numbers_for_names(zero, one):
    for columns in ({zero: 1 - P, one: P}, {one: P, zero: 1 - P}):
        assert float(cal.smooth_calibration_error(Y, pd.DataFrame(columns))) == EXPECTED


def test_the_positive_label_names_a_column():
    label = np.where(Y == 1, "yes", "no")
    for columns in ({"no": 1 - P, "yes": P}, {"yes": P, "no": 1 - P}):
        found = cal.smooth_calibration_error(label, pd.DataFrame(columns), pos_label="yes")
        assert float(found) == EXPECTED
    turned = cal.Joint.from_samples(label, pd.DataFrame({"yes": P, "no": 1 - P}), pos_label="no")
    assert turned == cal.Joint.from_samples(1 - Y, 1 - P)
    # Columns without names of their own are the chances of 0 and of 1.
    for plain in (pd.DataFrame(np.c_[1 - P, P]), pl.DataFrame(np.c_[1 - P, P])):
        assert float(cal.smooth_calibration_error(label, plain, pos_label="yes")) == EXPECTED
        assert float(cal.smooth_calibration_error(Y, plain)) == EXPECTED


def test_names_that_are_no_outcomes_are_refused():
    odd = pd.DataFrame({"b": P, "a": 1 - P})
    with pytest.raises(InvalidForecastsError, match=r"'b' and 'a' for the outcomes 0 and 1\. Hint"):
        cal.smooth_calibration_error(Y, odd)
    with pytest.raises(InvalidForecastsError, match=r"'b' and 'a' for pos_label='yes'"):
        cal.smooth_calibration_error(np.where(Y == 1, "yes", "no"), odd, pos_label="yes")
    with pytest.raises(InvalidForecastsError, match=r"1 and 2 for the outcomes 0 and 1"):
        cal.smooth_calibration_error(Y, pd.DataFrame({1: 1 - P, 2: P}))


@pytest.mark.parametrize("made", [cal.recalibration.PlattScaling, cal.recalibration.VennAbers])
def test_maps_read_two_columns_by_name_and_keep_their_order(made):
    expected = made().fit(P, Y).transform(P)
    turned = pd.DataFrame({1: P, 0: 1 - P})
    found = made().fit(turned, Y).transform(turned)
    np.testing.assert_allclose(found, np.c_[expected, 1 - expected])
    label, named = np.where(Y == 1, "yes", "no"), pd.DataFrame({"yes": P, "no": 1 - P})
    fitted = made().fit(named, label, pos_label="yes").set_output(transform="pandas")
    np.testing.assert_allclose(fitted.transform(named)["yes"], expected)
    # What was stored no longer knows which column is meant.
    with pytest.raises(InvalidForecastsError, match="named like the outcomes"):
        cal.recalibration.load(fitted.to_json()).transform(named)


ORDERS = [[0, 1, 2], [2, 0, 1], [1, 0, 2]]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("classes", [None, [0, 1, 2], ["0", "1", "2"]])
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_columns_of_classes_are_read_by_their_names(frame, classes, order):
    expected = cal.multiclass.ClassForecasts.read(LABEL, TABLE)
    given = frame({str(k): TABLE[:, k] for k in order})
    found = cal.multiclass.ClassForecasts.read(LABEL, given, classes=classes)
    for k in range(3):
        name = (["0", "1", "2"] if classes is None else classes)[k]
        assert found.one_class(name) == expected.one_class(k)


@pytest.mark.parametrize("order", ORDERS[1:])
def test_columns_with_numbers_for_names_are_read_by_them(order):
    given = pd.DataFrame({k: TABLE[:, k] for k in order})
    names = ["a", "b", "c"]
    expected = cal.multiclass.ClassForecasts.read(LABEL, TABLE)
    for classes in (None, [0, 1, 2], ["0", "1", "2"]):
        found = cal.multiclass.ClassForecasts.read(LABEL, given, classes=classes)
        assert found.top_label() == expected.top_label()
    words = np.array(names)[LABEL]
    with pytest.raises(InvalidForecastsError, match="must be named like the classes"):
        cal.multiclass.ClassForecasts.read(words, given, classes=names)
    plain = cal.multiclass.ClassForecasts.read(words, pd.DataFrame(TABLE), classes=names)
    assert plain.top_label() == expected.top_label()
    # Numbers of columns without names are no names of classes in another order.
    with pytest.raises(InvalidForecastsError, match="in the order of the columns"):
        cal.multiclass.ClassForecasts.read(LABEL, pd.DataFrame(TABLE), classes=[2, 1, 0])


def test_maps_of_classes_read_columns_by_name_and_keep_their_order():
    fitted = cal.recalibration.TemperatureScaling().fit(TABLE, LABEL)
    expected = fitted.transform(TABLE)
    for order in ORDERS:
        frame = pd.DataFrame({k: TABLE[:, k] for k in order})
        np.testing.assert_allclose(fitted.transform(frame), expected[:, order])
    with pytest.raises(InvalidForecastsError, match="must be named like the classes"):
        fitted.transform(pd.DataFrame(TABLE, columns=["a", "b", "c"]))


def test_whole_numbers_are_no_positions_where_names_are_numbers():
    frame = pl.DataFrame(dict(zip("123", TABLE.T, strict=True)))
    assert cal.multiclass.ClassForecasts.read(LABEL + 1, frame).label.tolist() == LABEL.tolist()
    with pytest.raises(InvalidForecastsError, match="must hold labels among the classes"):
        cal.multiclass.ClassForecasts.read(LABEL, frame)

"""Outcomes and predictions as other libraries hold them."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def test_one_hot_outcomes_are_those_of_the_second_column():
    for given in (np.c_[1 - Y, Y], np.c_[1.0 - Y, Y], np.c_[Y == 0, Y == 1]):
        assert float(cal.smooth_calibration_error(given, np.c_[1 - P, P])) == EXPECTED
        assert float(cal.smooth_calibration_error(given.tolist(), P)) == EXPECTED
    fitted = cal.repair.Platt().fit(np.c_[1 - P, P], np.c_[1 - Y, Y])
    assert fitted.to_json() == cal.repair.Platt().fit(P, Y).to_json()
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
        cal.repair.Platt().fit(p, y)


@pytest.mark.parametrize("outcome", ["Int64", "boolean", "Float64", "category", "int8[pyarrow]"])
@pytest.mark.parametrize("prediction", ["Float64", "Float32", "double[pyarrow]", "category"])
def test_types_of_pandas_are_read(outcome, prediction):
    y, p = pd.Series(Y).astype(outcome), pd.Series(P.round(3)).astype(prediction)
    expected = float(cal.smooth_calibration_error(Y, P.round(3)))
    tolerance = 1e-6 if prediction == "Float32" else 1e-15
    assert float(cal.smooth_calibration_error(y, p)) == pytest.approx(expected, abs=tolerance)
    assert cal.repair.Isotonic().fit(p, y).transform(p).shape == (60,)

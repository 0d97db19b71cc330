"""The same numbers from every container and type."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

Y = np.array([0, 1, 1, 0, 1, 0, 1, 1])
P = np.array([0.0, 0.25, 0.5, 0.5, 0.75, 0.25, 1.0, 0.125])
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.0, 2.0])


def big_endian(values):
    return values.astype(values.dtype.newbyteorder(">"))


def strided(values):
    return np.repeat(values, 3)[::3]


def reversed_view(values):
    return values[::-1].copy()[::-1]


def read_only(values):
    frozen = values.copy()
    frozen.flags.writeable = False
    return frozen


CONTAINERS = {
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "pandas": pd.Series,
    "pandas index": lambda v: pd.Series(v, index=range(5, 5 + len(v))),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas arrow": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda v: pl.Series("v", v),
    "arrow": pa.array,
    "arrow chunked": lambda v: pa.chunked_array([v[:3], v[3:]]),
    "object": lambda v: v.astype(object),
    "float32": lambda v: v.astype(np.float32),
    "float16": lambda v: v.astype(np.float16),
    "column": lambda v: v[:, np.newaxis],
    "masked without a mask": np.ma.masked_array,
    "big endian": big_endian,
    "strided": strided,
    "reversed": reversed_view,
    "read only": read_only,
    "fortran": lambda v: np.asfortranarray(np.stack([v, v]))[0],
    "memoryview": memoryview,
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("measure", cal.CATALOGUE.values(), ids=cal.CATALOGUE)
def test_container_does_not_matter(measure, container):
    expected = measure.function(Y, P, sample_weight=W)
    given = measure.function(container(Y), container(P), sample_weight=container(W))
    assert given == expected


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int32, np.uint64, np.int64, np.float32, np.float64]
)
def test_type_of_outcomes_does_not_matter(dtype):
    assert cal.Joint.from_samples(Y.astype(dtype), P) == cal.Joint.from_samples(Y, P)


def test_two_columns_are_the_chances_of_0_and_1():
    both = np.column_stack([1 - P, P])
    expected = cal.Joint.from_samples(Y, P)
    assert cal.Joint.from_samples(Y, both) == expected
    assert cal.Joint.from_samples(Y, pd.DataFrame(both)) == expected
    assert cal.Joint.from_samples(Y, pl.DataFrame(both)) == expected


@pytest.mark.parametrize("labels", [["dry", "rain"], [1, 2], [-1, 1], [False, True]])
def test_labels_with_pos_label(labels):
    named = np.array(labels)[Y]
    for container in (np.array, list, pd.Series, lambda v: pl.Series(list(v))):
        joint = cal.Joint.from_samples(container(named), P, pos_label=labels[1])
        assert joint == cal.Joint.from_samples(Y, P)


def test_pandas_categories():
    named = pd.Series(np.array(["no", "yes"])[Y], dtype="category")
    assert cal.Joint.from_samples(named, P, pos_label="yes") == cal.Joint.from_samples(Y, P)


def test_torch_tensors_where_torch_is_installed():
    torch = pytest.importorskip("torch")
    scores = torch.tensor(P, requires_grad=True)
    assert cal.Joint.from_samples(torch.tensor(Y), scores) == cal.Joint.from_samples(Y, P)
    halves = torch.tensor(P).to(torch.bfloat16)
    assert cal.Joint.from_samples(torch.tensor(Y), halves) == cal.Joint.from_samples(Y, P)


def test_narwhals_stays_away_from_plain_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    assert cal.smooth_calibration_error(Y.tolist(), P) == cal.smooth_calibration_error(Y, P)

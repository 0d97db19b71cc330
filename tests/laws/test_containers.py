"""The same numbers from every container and type."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.errors import InvalidForecastsError

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
@pytest.mark.parametrize("measure", JOINT_MEASURES.values(), ids=JOINT_MEASURES)
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


class Elsewhere:
    """An array of a library that speaks DLPack alone; on a device it may refuse to come."""

    def __init__(self, values, device=(1, 0), *, comes=True):
        self.values, self.device, self.comes = np.asarray(values), device, comes
        self.copied = False

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.device != (1, 0):
            if not self.comes or dl_device != (1, 0):
                raise BufferError("no copy to the host")
            self.copied = True
        return self.values.__dlpack__(max_version=max_version)


class Guarded(Elsewhere):
    """It also has the method that numpy asks for, only to refuse."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion is not allowed")


@pytest.mark.parametrize("kind", [Elsewhere, Guarded])
def test_arrays_come_through_dlpack(kind):
    whole = cal.Joint.from_samples(Y, P)
    assert cal.Joint.from_samples(kind(Y), kind(P)) == whole
    assert cal.Joint.from_samples(Y, kind(np.float32(P))).prediction.size == whole.prediction.size
    weights = np.linspace(1, 2, len(P))
    weighted = cal.Joint.from_samples(Y, P, sample_weight=kind(weights))
    assert weighted == cal.Joint.from_samples(Y, P, sample_weight=weights)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="numpy cannot ask")
def test_arrays_on_a_device_are_asked_for_a_copy():
    there = Elsewhere(P, device=(2, 0))
    assert cal.Joint.from_samples(Y, there) == cal.Joint.from_samples(Y, P)
    assert there.copied


@pytest.mark.parametrize("kind", [Elsewhere, Guarded])
def test_arrays_that_stay_on_their_device_are_explained(kind):
    there = kind(P, device=(2, 0), comes=False)
    with pytest.raises(InvalidForecastsError, match=r"y_proba must be an array that the host"):
        cal.Joint.from_samples(Y, there)


def test_arrays_that_turn_into_numpy_are_taken():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.asarray(P, dtype=dtype)

    assert cal.Joint.from_samples(Y, Wrapped()) == cal.Joint.from_samples(Y, P)


class Sparse:
    """A tensor that numpy cannot read, as torch says it."""

    dtype = "torch.float32"

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        raise TypeError("can't convert Sparse layout tensor to numpy.\nUse Tensor.to_dense()")


class Dense(Sparse):
    def __init__(self, values):
        self.values = values

    def numpy(self):
        return self.values


def test_tensors_that_numpy_cannot_read_are_explained():
    with pytest.raises(InvalidForecastsError, match=r"y_proba must be a dense tensor.*Hint: pass"):
        cal.Joint.from_samples(Y, Sparse())


def test_groups_may_be_a_tensor():
    groups = np.arange(len(Y)) % 2
    expected = cal.groups.multiaccuracy_error(Y, P, groups)
    assert cal.groups.multiaccuracy_error(Y, P, Dense(groups)) == expected
    assert cal.groups.multiaccuracy_error(Y, P, {"x0": Dense(groups)}) == expected


def test_tensors_of_torch_that_are_not_dense():
    torch = pytest.importorskip("torch")
    for odd in (torch.tensor(P).to_sparse(), torch.empty(len(P), device="meta")):
        with pytest.raises(InvalidForecastsError, match="y_proba must be a dense tensor"):
            cal.Joint.from_samples(Y, odd)


def test_short_numbers_of_jax():
    types = pytest.importorskip("ml_dtypes")
    halves = P.astype(types.bfloat16)
    assert cal.Joint.from_samples(Y, halves) == cal.Joint.from_samples(Y, P)
    table = np.column_stack([1 - P, P]).astype(types.bfloat16)
    assert cal.Joint.from_samples(Y, table) == cal.Joint.from_samples(Y, P)


class Expression:
    """A column of Ibis: a query that would be run once for each argument."""

    def __array__(self, dtype=None, copy=None):
        return P


Expression.__module__ = "ibis.expr.types.numeric"


def test_columns_of_ibis_have_no_order_in_common():
    for given in ((Y, Expression()), (Expression(), P), (Y, P, Expression())):
        with pytest.raises(InvalidForecastsError, match="pass the table and the names of its"):
            cal.Joint.from_samples(*given[:2], sample_weight=[*given, None][2])


def test_columns_of_ibis_where_it_is_installed():
    ibis = pytest.importorskip("ibis")
    table = ibis.memtable({"prediction": P, "outcome": Y})
    with pytest.raises(InvalidForecastsError, match="pass the table and the names of its columns"):
        cal.verdict(table.outcome, table.prediction)
    columns = {"prediction": "prediction", "outcome": "outcome"}
    assert cal.Joint.from_frame(table, **columns) == cal.Joint.from_samples(Y, P)


class Connected:
    """A frame of Spark Connect: any attribute is one of its columns, which cannot be called."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NoFunction()


class NoFunction:
    def __call__(self, *_, **__):
        raise TypeError("'Column' object is not callable")


def test_frames_that_answer_to_any_name_are_no_answers():
    for call in (cal.audit, cal.groups.audit_groups, cal.recalibrate):
        options = {"by": "g"} if call is cal.groups.audit_groups else {}
        with pytest.raises(InvalidForecastsError, match="one argument of type Connected"):
            call(Connected(), **options)
    with pytest.raises(InvalidForecastsError, match="y_proba must"):
        cal.audit(Y, Connected())

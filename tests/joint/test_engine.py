"""The same Joint from every engine, and nothing but sums leaves it."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.engine import passes

COLUMNS = {"prediction": "p", "outcome": "y"}


def table_of(rows: int, seed: int = 7) -> pa.Table:
    """Rows with ties, both ends of [0, 1], weights with zeros, and groups."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 2, rows)
    p[: rows // 4] = np.round(p[: rows // 4], 2)
    p[:3] = [0.0, 1.0, -0.0]
    y = rng.random(rows) < p
    return pa.table(
        {
            "p": p,
            "y": y.astype(np.int64),
            "happened": y,
            "share": np.where(rng.random(rows) < 0.5, y, 0.25),
            "label": np.where(y, "rain", "dry"),
            "w": rng.integers(0, 4, rows) * 0.7,
            "site": rng.choice(["north", "south", "west"], rows),
            "round": rng.integers(0, 3, rows),
        }
    )


TABLE = table_of(4000)
P, Y, W = (TABLE[name].to_numpy() for name in ("p", "y", "w"))


def assert_same_sums(joint: cal.Joint, expected: cal.Joint) -> None:
    """Counts are equal, sums almost, and ends of cells are those of the rows."""
    assert joint.resolution == expected.resolution
    assert joint.rows.tolist() == expected.rows.tolist()
    assert joint.prediction == pytest.approx(expected.prediction, rel=1e-12, abs=1e-15)
    for name in ("weight", "positives", "weight_squares"):
        assert getattr(joint, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert joint.binary == expected.binary


@pytest.mark.parametrize("weight", [None, "w"])
def test_auto_sums_into_fine_cells_with_a_certificate(engine, weight):
    joint = cal.Joint.from_frame(engine(TABLE), **COLUMNS, weight=weight)
    weights = None if weight is None else W
    assert_same_sums(joint, cal.Joint.from_samples(Y, P, sample_weight=weights, resolution=2**16))
    exact = cal.Joint.from_samples(Y, P, sample_weight=weights)
    cell_of = np.minimum((exact.prediction * 2**16).astype(int), 2**16 - 1)
    number = np.searchsorted(np.unique(cell_of), cell_of)
    for cell in range(len(joint)):
        there = exact.prediction[number == cell]
        assert (joint.low[cell], joint.high[cell]) == (there.min(), there.max())
    distance = np.abs(exact.prediction - joint.prediction[number]) @ exact.mass
    spread = (joint.high - joint.low) @ joint.mass
    assert 0 < distance <= joint.rounding <= spread / 2 <= 2**-17


@pytest.mark.parametrize("weight", [None, "w"])
def test_auto_is_exact_where_no_two_predictions_share_a_cell(engine, weight):
    rounded = TABLE.set_column(0, "p", pc.round(TABLE["p"], 3))
    joint = cal.Joint.from_frame(engine(rounded), **COLUMNS, weight=weight)
    weights = None if weight is None else W
    expected = cal.Joint.from_samples(Y, rounded["p"].to_numpy(), sample_weight=weights)
    assert joint.prediction.tolist() == expected.prediction.tolist()
    assert_same_sums(joint, expected)
    assert joint.resolution is None
    assert joint.rounding == 0
    assert cal.smooth_calibration_error(joint) == pytest.approx(
        cal.smooth_calibration_error(expected), rel=1e-12
    )


def test_none_keeps_every_prediction(engine):
    joint = cal.Joint.from_frame(engine(TABLE), **COLUMNS, resolution=None)
    assert joint == cal.Joint.from_samples(Y, P)
    assert joint.rounding == 0


def test_a_power_of_two_is_taken(engine):
    joint = cal.Joint.from_frame(engine(TABLE), **COLUMNS, resolution=64)
    whole = cal.Joint.from_samples(Y, P, resolution=64)
    assert_same_sums(joint, whole)
    assert 0 < joint.rounding < whole.rounding


@pytest.mark.parametrize(
    ("outcome", "pos_label"),
    [("happened", None), ("label", "rain"), ("y", 1), ("happened", True)],
)
def test_outcomes_of_every_type(engine, outcome, pos_label):
    joint = cal.Joint.from_frame(
        engine(TABLE), prediction="p", outcome=outcome, pos_label=pos_label, resolution=None
    )
    assert joint == cal.Joint.from_samples(Y, P)


def test_mean_outcomes_are_noticed(engine):
    joint = cal.Joint.from_frame(engine(TABLE), prediction="p", outcome="share", resolution=None)
    expected = cal.Joint.from_samples(TABLE["share"].to_numpy(), P)
    assert_same_sums(joint, expected)
    assert not joint.binary


def test_single_precision_is_enough(engine):
    narrow = TABLE["p"].cast(pa.float32())
    frame = engine(TABLE.set_column(0, "p", narrow))
    joint = cal.Joint.from_frame(frame, **COLUMNS, resolution=None)
    assert joint == cal.Joint.from_samples(Y, narrow.cast(pa.float64()).to_numpy())
    table = pa.table({"p": pa.array([1 + 5e-7, 0.5], pa.float32()), "y": [1, 0]})
    assert cal.Joint.from_frame(engine(table), **COLUMNS).clipped == 1


def test_decimals_are_numbers(engine):
    decimal = pa.table({"p": pc.round(TABLE["p"], 4).cast(pa.decimal128(6, 5)), "y": Y})
    if isinstance(engine(decimal), pd.DataFrame | dd.DataFrame):
        pytest.skip("pandas has no such type, unless Arrow lends it")
    joint = cal.Joint.from_frame(engine(decimal), **COLUMNS, resolution=2**16)
    expected = cal.Joint.from_samples(Y, np.round(P, 4))
    assert joint.prediction == pytest.approx(expected.prediction, rel=1e-15)
    assert joint.rows.tolist() == expected.rows.tolist()


def test_rounding_errors_are_clipped_and_counted(engine):
    table = pa.table({"p": [-1e-12, 0.0, 1 + 1e-12, 1.0, 0.5], "y": [0, 1, 1, 0, 1]})
    for resolution in (None, "auto", 4):
        joint = cal.Joint.from_frame(engine(table), **COLUMNS, resolution=resolution)
        assert joint.clipped == 2
        assert joint.prediction.tolist() == [0, 0.5, 1]
        assert joint.rows.tolist() == [2, 1, 2]
        assert joint.positives.tolist() == [1, 1, 1]
        assert joint.rounding == 0


@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_are_joints_of_their_rows(engine, weight):
    joints = cal.joints_by(engine(TABLE), by=["site", "round"], **COLUMNS, weight=weight)
    names = sorted(set(zip(TABLE["site"].to_pylist(), TABLE["round"].to_pylist(), strict=True)))
    assert list(joints) == names
    for (site, number), joint in joints.items():
        mask = pc.and_(pc.equal(TABLE["site"], site), pc.equal(TABLE["round"], number))
        alone = cal.Joint.from_frame(TABLE.filter(mask), **COLUMNS, weight=weight)
        assert_same_sums(joint, alone)
        assert joint.rounding == pytest.approx(alone.rounding, rel=1e-9)
        assert (joint.low == alone.low).all()


def test_group_keys_are_plain_values(engine):
    day = dt.date(2026, 1, 2)
    table = pa.table(
        {
            "p": [0.1, 0.2, 0.3, 0.4],
            "y": [0, 1, 0, 1],
            "site": ["a", None, "a", "b"],
            "day": [day, day, None, day],
        }
    )
    joints = cal.joints_by(engine(table), by="site", **COLUMNS)
    assert list(joints) == [("a",), ("b",), (None,)]
    assert joints[None,].prediction.tolist() == [0.2]
    if not isinstance(engine(table), pd.DataFrame | dd.DataFrame):  # pandas has no dates
        assert list(cal.joints_by(engine(table), by="day", **COLUMNS)) == [(day,), (None,)]


def test_groups_without_weight_are_left_out(engine):
    table = pa.table({"p": [0.1, 0.2], "y": [0, 1], "w": [0.0, 2.0], "g": [1, 2]})
    joints = cal.joints_by(engine(table), by="g", **COLUMNS, weight="w")
    assert list(joints) == [(2,)]
    assert joints[2,].weight.tolist() == [2.0]


def test_order_and_partition_of_rows_do_not_matter(engine):
    order = np.random.default_rng(3).permutation(TABLE.num_rows)
    shuffled = TABLE.take(pa.array(order))
    chunked = pa.concat_tables([shuffled[:1000], shuffled[1000:1001], shuffled[1001:]])
    joint = cal.Joint.from_frame(engine(chunked), **COLUMNS, weight="w")
    assert_same_sums(joint, cal.Joint.from_frame(TABLE, **COLUMNS, weight="w"))


BAD = {
    "missing prediction": ({"p": [0.5, None, None]}, "'p' must not hold missing.*2 of 3 rows"),
    "NaN": ({"p": [0.5, np.nan, 0.1]}, "'p' must not hold missing values, got 1 of 3 rows"),
    "missing outcome": ({"y": [0, None, 1]}, "'y' must not hold missing.*not a 0"),
    "missing weight": ({"w": [1.0, None, 1.0]}, "'w' must not hold missing"),
    "percent": ({"p": [10.0, 55.0, 0.0]}, "'p' must hold probabilities.*2 of 3.*0 to 55.*percent"),
    "log-odds": ({"p": [-2.0, 0.5, 3.0]}, "2 of 3 rows outside, from -2 to 3.*log-odds"),
    "infinity": ({"p": [0.1, np.inf, 0.9]}, "1 of 3 rows outside, from 0.1 to inf"),
    "minus infinity": ({"p": [0.1, -np.inf, 0.9]}, "1 of 3 rows outside, from -inf to 0.9"),
    "labels": ({"y": [1, 2, 2]}, "'y' must hold 0 and 1.*2 of 3.*from 1 to 2.*pos_label=2"),
    "minus one": ({"y": [-1, 1, 1]}, "1 of 3 rows that do not, values from -1 to 1.*pos_label=1"),
    "negative weight": ({"w": [1.0, -2.0, 1.0]}, "'w' must hold weights.*1 of 3.*from -2 to 1"),
    "infinite weight": ({"w": [1.0, np.inf, 1.0]}, "'w' must hold weights.*from 1 to inf"),
    "no weight": ({"w": [0.0, 0.0, 0.0]}, "positive, finite sum"),
    "text": ({"p": ["0.1", "n/a", "0.3"]}, "'p' must hold numbers, got text such as 'n/a'"),
    "percent signs": ({"p": ["10%", "20 %", "0.3"]}, "remove the percent signs"),
    "decimal commas": ({"p": ["0,25", "0.5", "1"]}, "with a point, not a comma"),
    "text labels": ({"y": ["dry", "rain", "dry"]}, "'y' must hold numbers.*dry.*pos_label"),
    "dates": ({"p": [dt.datetime(2026, 1, 1)] * 3}, "'p' must hold numbers.*Datetime"),  # noqa: DTZ001
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_counted_on_the_engine(engine, columns, message):
    good = {"p": [0.1, 0.5, 0.9], "y": [0, 1, 1], "w": [1.0, 2.0, 1.0]}
    frame = engine(pa.table(good | columns))
    with pytest.raises(InvalidForecastsError, match=message):
        cal.Joint.from_frame(frame, **COLUMNS, weight="w")


@pytest.mark.needs("java")
def test_names_that_spark_takes_for_one_are_refused(spark):
    frame = spark.createDataFrame([(0.1, 0.2, 0), (0.9, 0.3, 1)], ["p", "P", "y"])
    for call in (cal.Joint.from_frame, cal.audit):
        with pytest.raises(InvalidForecastsError, match=r"got 'p' and 'P'\. Hint: rename"):
            call(frame, **COLUMNS)


CONNECTED = """
from pyspark.sql import SparkSession
import calibrant as cal
rows = [(i % 10 / 10, int(i % 3 == 0), i % 2) for i in range(200)]
session = SparkSession.builder.remote("local[2]").getOrCreate()
frame = session.createDataFrame(rows, ["prediction", "outcome", "g"])
found = cal.audit(frame, by="g", draws=39)
columns = list(zip(*rows))
assert found.summary.joint == cal.Joint.from_samples(columns[1], columns[0])
assert len(found.groups.groups) == 2
"""


@pytest.mark.needs("java")
def test_frames_of_spark_connect_are_audited():
    """In a process of its own: Connect and classic sessions do not share one."""
    pytest.importorskip("grpc")
    ended = subprocess.run(
        [sys.executable, "-c", CONNECTED], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_a_label_that_is_not_there_is_refused(engine):
    with pytest.raises(InvalidForecastsError, match=r"'snow' must be one of.*'dry', 'rain'"):
        cal.Joint.from_frame(engine(TABLE), prediction="p", outcome="label", pos_label="snow")
    with pytest.raises(InvalidForecastsError, match="pos_label 1 must be one of the labels"):
        cal.Joint.from_frame(engine(TABLE), prediction="p", outcome="label", pos_label=1)
    only_dry = TABLE.filter(pc.equal(TABLE["label"], "dry"))
    joint = cal.Joint.from_frame(
        engine(only_dry), prediction="p", outcome="label", pos_label="snow"
    )
    assert joint.base_rate == 0


def test_swapped_columns_are_noticed(engine):
    with pytest.raises(InvalidForecastsError, match="are the two columns swapped"):
        cal.Joint.from_frame(engine(TABLE), prediction="y", outcome="p")


def test_an_empty_frame_is_refused(engine):
    with pytest.raises(InvalidForecastsError, match="at least one row"):
        cal.Joint.from_frame(engine(TABLE[:0]), **COLUMNS)
    with pytest.raises(InvalidForecastsError, match="at least one row"):
        cal.joints_by(engine(TABLE[:0]), by="site", **COLUMNS)


def test_a_missing_column_is_named_with_its_neighbours(engine):
    with pytest.raises(
        InvalidForecastsError, match=r"a column 'happend', got columns p, y.*mean 'happened'"
    ):
        cal.Joint.from_frame(engine(TABLE), prediction="p", outcome="happend")
    with pytest.raises(InvalidForecastsError, match="a column 'region'"):
        cal.joints_by(engine(TABLE), by="region", **COLUMNS)


INPUTS = {
    (pl.LazyFrame, "collect"): len,
    (duckdb.DuckDBPyRelation, "fetchnumpy"): lambda columns: len(next(iter(columns.values()))),
    (duckdb.DuckDBPyRelation, "fetchall"): len,
    (duckdb.DuckDBPyRelation, "to_arrow_table"): len,
    (duckdb.DuckDBPyRelation, "df"): len,
}


def all_inputs():
    from pyspark.sql.classic.dataframe import DataFrame

    return INPUTS | {
        (dd.DataFrame, "compute"): len,
        (DataFrame, "toArrow"): len,
        (DataFrame, "toPandas"): len,
        (DataFrame, "collect"): len,
    }


def test_only_sums_leave_a_lazy_engine(lazy_engine, monkeypatch):
    left = []

    def watched(original, size):
        def fetch(self, *arguments, **options):
            result = original(self, *arguments, **options)
            left.append(size(result))
            return result

        return fetch

    frame = lazy_engine(TABLE)
    for (kind, name), size in all_inputs().items():
        monkeypatch.setattr(kind, name, watched(getattr(kind, name), size))
    joint = cal.Joint.from_frame(frame, **COLUMNS, resolution=32)
    assert left == [len(np.unique(np.floor(P * 32)))]
    assert joint.row_count == TABLE.num_rows
    left.clear()
    joints = cal.joints_by(frame, by="site", **COLUMNS, resolution=32)
    assert len(left) == 1
    assert left[0] <= 33 * 3
    assert sum(joint.row_count for joint in joints.values()) == TABLE.num_rows


def test_groups_share_a_budget_of_cells(monkeypatch):
    monkeypatch.setattr(passes, "MOST_SUMS", 2**10)
    joints = cal.joints_by(TABLE, by="site", **COLUMNS)
    assert {joint.resolution for joint in joints.values()} == {256}
    assert all(0 < joint.rounding < 2**-9 for joint in joints.values())
    assert sum(len(joint) for joint in joints.values()) <= 2**10
    few = pa.concat_tables([TABLE[:300], TABLE.filter(pc.equal(TABLE["site"], "west"))])
    skewed = cal.joints_by(few, by="site", **COLUMNS)
    small = sum(joint.row_count for joint in skewed.values()) - skewed["west",].row_count
    assert skewed["west",].resolution == 2 ** int(np.log2(2**10 - small)) > 256
    with pytest.raises(InvalidOptionError, match="at most 64 groups"):
        cal.joints_by(TABLE, by="p", **COLUMNS)
    assert len(cal.joints_by(TABLE, by="p", **COLUMNS, resolution=None)) > 64


@pytest.mark.parametrize("frame", [None, 3, [0.5], {"p": [0.5]}, np.ones(3)])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(InvalidForecastsError, match=r"must be a dataframe.*from_samples"):
        cal.Joint.from_frame(frame, **COLUMNS)


@pytest.mark.parametrize("resolution", ["fine", 3, 0, 2**27])
def test_resolutions_are_checked(resolution):
    with pytest.raises(InvalidOptionError, match="resolution must be"):
        cal.Joint.from_frame(TABLE, **COLUMNS, resolution=resolution)


def test_columns_are_checked():
    with pytest.raises(InvalidOptionError, match="by must name"):
        cal.joints_by(TABLE, by=[], **COLUMNS)
    for names in (
        {"prediction": "p", "outcome": "y", "count": "round"},
        {"prediction": "p", "count": "round", "positives": "y", "weight": "w"},
        {"prediction": "p", "count": "round", "positives": "y", "pos_label": 1},
        {"prediction": "p", "prediction_sum": "w", "count": "round", "positives": "y"},
    ):
        with pytest.raises(InvalidOptionError, match="those of rows"):
            cal.joints_by(TABLE, by="site", **names)


CELLS = pa.table(
    {
        "said": [0.1, 0.5, 0.1, None, 0.9],
        "total": [1.0, 10.0, 3.0, 0.0, 4.5],
        "n": [10, 20, 30, 0, 5],
        "k": [2, 9, 4, 0, 5],
        "site": ["a", "a", "b", "b", "b"],
    }
)


def test_aggregates_count_as_their_rows(engine):
    frame = engine(CELLS)
    expected = cal.Joint.from_counts([0.1, 0.5, 0.9], [40, 20, 5], [6, 9, 5])
    joint = cal.Joint.from_aggregates(frame, prediction="said", count="n", positives="k")
    assert joint == expected
    assert joint.weight_squares.tolist() == [40, 20, 5]
    sums = cal.Joint.from_aggregates(frame, prediction_sum="total", count="n", positives="k")
    assert sums == expected
    joints = cal.joints_by(frame, by="site", prediction="said", count="n", positives="k")
    assert joints["b",] == cal.Joint.from_counts([0.1, 0.9], [30, 5], [4, 5])
    coarse = cal.Joint.from_aggregates(
        frame, prediction="said", count="n", positives="k", width=0.1, resolution=1
    )
    assert coarse.rounding == pytest.approx(expected.rounded(1).rounding + 0.05)


BAD_CELLS = {
    "fraction": ({"n": [10.5]}, "'n' must hold whole numbers of rows.*1 of 1.*from 10.5 to 10.5"),
    "negative": ({"n": [-1]}, "'n' must hold whole numbers of rows"),
    "too many": ({"k": [11]}, "'k' must hold whole numbers of positives, at most count"),
    "half": ({"k": [0.5]}, "'k' must hold whole numbers of positives"),
    "no mean": ({"said": pa.array([None], pa.float64())}, "'said' must not hold missing"),
    "no count": ({"n": pa.array([None], pa.int64())}, "'n' must not hold missing"),
    "no positives": ({"k": pa.array([None], pa.int64())}, "'k' must not hold missing"),
    "outside": ({"said": [12.0]}, "'said' must hold probabilities"),
    "nothing": ({"n": [0], "k": [0]}, "positive, finite sum"),
}


@pytest.mark.parametrize(("columns", "message"), BAD_CELLS.values(), ids=BAD_CELLS)
def test_bad_aggregates_are_refused(columns, message):
    table = pa.table({"said": [0.5], "n": [10], "k": [4]} | columns)
    for frame in (table, pl.from_arrow(table), duckdb.from_arrow(table)):
        with pytest.raises(InvalidForecastsError, match=message):
            cal.Joint.from_aggregates(frame, prediction="said", count="n", positives="k")

"""Files of every kind, queries and batches give the Joint of their rows."""

from __future__ import annotations

import io
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import calibrant as cal
from calibrant.data.compressed import check_whole
from calibrant.data.files import opened
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError, ReadingError

RNG = np.random.default_rng(5)
P = np.round(RNG.random(500), 3)
FRAME = pd.DataFrame(
    {
        "prediction": P,
        "outcome": (RNG.random(500) < P).astype(int),
        "w": RNG.integers(1, 4, 500) / 2,
        "site": RNG.choice(["a", "b"], 500),
    }
)
WHOLE = cal.Joint.from_samples(FRAME["outcome"], P)


def write_csv(path):
    FRAME.to_csv(path, index=False)


def write_tsv(path):
    FRAME.to_csv(path, index=False, sep="\t")


def write_json(path):
    FRAME.to_json(path, orient="records", lines=True)


KINDS = {
    "rows.csv": write_csv,
    "rows.CSV": write_csv,
    "rows.tsv": write_tsv,
    "rows.csv.gz": write_csv,
    "rows.csv.zst": lambda path: pl.from_pandas(FRAME).write_csv(path, compression="zstd"),
    "rows.parquet": FRAME.to_parquet,
    "rows.jsonl": write_json,
    "rows.ndjson": write_json,
    "rows.jsonl.gz": write_json,
    "rows.json": lambda path: FRAME.to_json(path, orient="records"),
}


@pytest.mark.parametrize(("name", "write"), KINDS.items(), ids=KINDS)
def test_every_kind_of_file(tmp_path, name, write):
    write(tmp_path / name)
    assert cal.Joint.from_files(tmp_path / name) == WHOLE
    weighted = cal.Joint.from_files(str(tmp_path / name), weight="w")
    assert weighted.weight.sum() == FRAME["w"].sum()
    assert weighted.row_count == 500
    joints = cal.joints_by(tmp_path / name, by="site")
    assert joints["a",] + joints["b",] == WHOLE


def test_several_files_and_globs(tmp_path):
    FRAME[:200].to_csv(tmp_path / "a.csv", index=False)
    FRAME[200:].to_csv(tmp_path / "b.csv", index=False)
    assert cal.Joint.from_files(tmp_path / "*.csv") == WHOLE
    assert cal.Joint.from_files([tmp_path / "a.csv", str(tmp_path / "b.csv")]) == WHOLE


def test_hive_partitions_are_columns(tmp_path):
    FRAME.to_parquet(tmp_path / "runs", partition_cols=["site"])
    assert cal.Joint.from_files(tmp_path / "runs") == WHOLE
    joints = cal.joints_by(tmp_path / "runs" / "*" / "*.parquet", by="site")
    assert list(joints) == [("a",), ("b",)]
    assert joints["a",].row_count == (FRAME["site"] == "a").sum()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_standard_input(monkeypatch, tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    KINDS[f"rows.{kind}"](path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert cal.Joint.from_files("-") == WHOLE


def test_files_of_aggregates(tmp_path):
    counts = FRAME.groupby("prediction")["outcome"].agg(n="count", k="sum").reset_index()
    counts.to_csv(tmp_path / "cells.csv", index=False)
    assert cal.Joint.from_files(tmp_path / "cells.csv", count="n", positives="k") == WHOLE


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_are_scanned_and_not_loaded(tmp_path, kind):
    path = tmp_path / f"it's.{kind}"
    KINDS[f"rows.{kind}"](path)
    with opened(path, {"prediction": Part.NUMBER}) as (relation, _):
        scan = "READ_JSON" if kind == "jsonl" else f"READ_{kind.upper()}"
        assert scan in relation.explain()


def test_little_memory_is_enough(tmp_path):
    FRAME.to_parquet(tmp_path / "rows.parquet")
    assert cal.Joint.from_files(tmp_path / "rows.parquet", memory_limit="100MB") == WHOLE
    with pytest.raises(InvalidOptionError, match="memory_limit must be an amount"):
        cal.Joint.from_files(tmp_path / "rows.parquet", memory_limit="plenty")


BAD = {
    "percent signs": ("prediction,outcome\n10%,0\n90%,1\n", "such as '10%'.*percent signs"),
    "decimal commas": ("prediction;outcome\n0,1;0\n0,9;1\n", "with a point, not a comma"),
    "words": ("prediction,outcome\n0.1,0\nmany,1\n", "such as 'many'"),
    "column": ("prediciton,outcome\n0.1,0\n", "'prediction', got columns prediciton.*mean 'pred"),
    "empty": ("prediction,outcome\n", "at least one row"),
    "missing": ("prediction,outcome\n0.1,0\n,1\n", "'prediction' must not hold missing.*1 of 2"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_explained(tmp_path, text, message):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(InvalidForecastsError, match=message):
        cal.Joint.from_files(tmp_path / "rows.csv")


def test_text_far_down_is_explained(tmp_path):
    lines = ["prediction,outcome", *["0.5,1"] * 50_000, "12%,1"]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(
        InvalidForecastsError, match=r"'prediction' must hold numbers.*'12%'.*percent signs"
    ):
        cal.Joint.from_files(tmp_path / "rows.csv")


def test_unreadable_files_are_explained(tmp_path):
    FRAME.to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    messages = {"cut.parquet": "must be readable", "nothing*.csv": "no such file"}
    for name, message in (messages | {"nothing.csv": "no such file"}).items():
        with pytest.raises(InvalidForecastsError, match=message) as refusal:
            cal.Joint.from_files(tmp_path / name)
        assert "\n" not in str(refusal.value)
    for name in ("a.csv", "rows.xlsx", "rows"):
        (tmp_path / name).write_text("prediction,outcome\n0.5,1\n")
    with pytest.raises(InvalidForecastsError, match="Excel files are not read"):
        cal.Joint.from_files(tmp_path / "rows.xlsx")
    for names in (["a.csv", "whole.parquet"], ["rows"], []):
        with pytest.raises(InvalidForecastsError, match="must all end in one of"):
            cal.Joint.from_files([tmp_path / name for name in names])


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_files_that_were_cut_off_are_refused(tmp_path, kind):
    rng = np.random.default_rng(1)  # enough digits for several blocks
    frame = pl.DataFrame({"prediction": rng.random(20_000), "outcome": rng.integers(0, 2, 20_000)})
    whole, cut = tmp_path / f"whole.csv.{kind}", tmp_path / f"cut.csv.{kind}"
    frame.write_csv(whole, compression={"gz": "gzip", "zst": "zstd"}[kind])
    assert cal.Joint.from_files(whole).row_count == 20_000
    packed = whole.read_bytes()
    for size in (len(packed) - 1, len(packed) - 5, len(packed) // 2, 7, 3):
        cut.write_bytes(packed[:size])
        with pytest.raises(ReadingError, match="must be readable") as refusal:
            cal.Joint.from_files(tmp_path / f"cut*.csv.{kind}")
        assert "\n" not in str(refusal.value)
    cut.write_text("prediction,outcome\n0.5,1\n")
    with pytest.raises(InvalidForecastsError, match=r"must be readable.*not a .* file"):
        cal.Joint.from_files(cut)
    cut.write_bytes(packed + packed)  # two parts one after the other are a whole
    check_whole(cut)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_mixed_schemas_are_refused(tmp_path, kind):
    table = pl.from_pandas(FRAME)
    for name, part in {"a": table[:200], "b": table[200:].rename({"outcome": "y"})}.items():
        getattr(part, f"write_{kind}")(tmp_path / f"{name}.{kind}")
    with pytest.raises(
        InvalidForecastsError, match=r"must be readable|same columns, got 'outcome'"
    ):
        cal.Joint.from_files(tmp_path / f"*.{kind}")


def test_order_of_columns_may_differ_between_files(tmp_path):
    FRAME[:200].to_parquet(tmp_path / "a.parquet")
    FRAME.loc[200:, ["site", "outcome", "prediction"]].to_parquet(tmp_path / "b.parquet")
    assert cal.Joint.from_files(tmp_path / "*.parquet") == WHOLE


def test_queries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("rows.parquet")
    assert cal.Joint.from_query("from 'rows.parquet'") == WHOLE
    a = cal.Joint.from_query("select * from 'rows.parquet' where site = 'a'")
    b = cal.Joint.from_query("select * from 'rows.parquet' where site = 'b'")
    assert a + b == WHOLE
    with pytest.raises(InvalidForecastsError, match="at least one row"):
        cal.Joint.from_query("select * from 'rows.parquet' where false")
    with pytest.raises(InvalidForecastsError, match="the query must run, got Parser Error"):
        cal.Joint.from_query("selekt")
    with pytest.raises(InvalidForecastsError, match="one select statement, got create"):
        cal.Joint.from_query("create table t (i int)")
    with pytest.raises(InvalidForecastsError, match="one select statement, got select, select"):
        cal.Joint.from_query("select 1; select 2")
    with pytest.raises(InvalidForecastsError, match="one select statement, got none"):
        cal.Joint.from_query(" ")


def test_databases_are_attached(tmp_path):
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("frame", FRAME)
        connection.execute("create table forecasts as select * from frame")
    assert cal.Joint.from_query("select * from forecasts", database=path) == WHOLE
    with pytest.raises(InvalidForecastsError, match="one select statement, got drop"):
        cal.Joint.from_query("drop table forecasts", database=path)


def test_batches(tmp_path):
    parts = [FRAME[:100], FRAME[100:101], FRAME[101:]]
    assert cal.Joint.from_batches(parts) == WHOLE
    assert cal.Joint.from_batches(pl.from_pandas(part) for part in parts) == WHOLE
    tuples = [(part["outcome"], part["prediction"]) for part in parts]
    assert cal.Joint.from_batches(tuples) == WHOLE
    assert cal.Joint.from_batches(tuples, resolution=None) == WHOLE
    labels = [(part["outcome"].map({0: "no", 1: "yes"}), part["prediction"]) for part in parts]
    assert cal.Joint.from_batches(labels, pos_label="yes") == WHOLE
    with pytest.raises(InvalidForecastsError, match="a tuple of 4"):
        cal.Joint.from_batches([([0], [0.5], [1], [1])])
    with pytest.raises(InvalidForecastsError, match="at least one batch"):
        cal.Joint.from_batches([])


@pytest.mark.parametrize("resolution", [16, "auto"])
def test_batches_of_fine_predictions_share_cells(resolution):
    rng = np.random.default_rng(8)
    p = rng.beta(0.3, 3, 20_000)
    y = (rng.random(p.size) < p).astype(int)
    w = rng.random(p.size)
    whole = cal.Joint.from_frame(
        pa.table({"prediction": p, "outcome": y, "w": w}),
        prediction="prediction", outcome="outcome", weight="w", resolution=resolution,
    )  # fmt: skip
    rows = np.array_split(np.arange(p.size), 7)
    frames = [pa.table({"prediction": p[i], "outcome": y[i], "w": w[i]}) for i in rows]
    for batches in (frames, [(y[i], p[i], w[i]) for i in rows]):
        names = {} if isinstance(batches[0], tuple) else {"weight": "w"}
        joint = cal.Joint.from_batches(batches, resolution=resolution, **names)
        assert joint.resolution == whole.resolution
        assert joint.rows.tolist() == whole.rows.tolist()
        assert joint.prediction == pytest.approx(whole.prediction, rel=1e-12)
        assert joint.weight == pytest.approx(whole.weight, rel=1e-12)
        assert joint.low.tolist() == whole.low.tolist()
        assert joint.high.tolist() == whole.high.tolist()


def test_batches_remember_what_was_clipped_and_averaged():
    joint = cal.Joint.from_batches([([0, 1], [-1e-12, 0.5]), ([0.5, 1], [0.5, 0.25])])
    assert joint.clipped == 1
    assert not joint.binary
    assert joint.prediction.tolist() == [0, 0.25, 0.5]


@pytest.mark.parametrize("resolution", [None, 8, "auto"])
def test_stored_joints_come_back(tmp_path, resolution):
    joint = cal.Joint.from_frame(
        FRAME.assign(prediction=P**3), prediction="prediction", outcome="outcome", weight="w",
        resolution=resolution,
    )  # fmt: skip
    joint.to_parquet(tmp_path / "joint.parquet")
    again = cal.Joint.from_parquet(str(tmp_path / "joint.parquet"))
    assert again == joint
    assert again.rounding == joint.rounding
    assert again.low.tolist() == joint.low.tolist()
    metadata = pa.parquet.read_schema(tmp_path / "joint.parquet").metadata
    assert int(metadata[b"calibrant.rows"]) == 500
    assert float(metadata[b"calibrant.rounding"]) == joint.rounding
    assert [path.name for path in tmp_path.iterdir()] == ["joint.parquet"]


def test_a_broken_store_is_refused(tmp_path):
    (tmp_path / "joint.parquet").write_text("nothing")
    with pytest.raises(InvalidForecastsError, match="must be a stored Joint"):
        cal.Joint.from_parquet(tmp_path / "joint.parquet")
    with pytest.raises(InvalidForecastsError, match="must be a stored Joint"):
        cal.Joint.from_parquet(tmp_path / "none.parquet")
    FRAME.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidForecastsError, match=r"calibrant\.schema"):
        cal.Joint.from_parquet(tmp_path / "rows.parquet")

"""Audits of many rows sum them where they live; audits of counts need no rows."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.data.labels import Labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups.audit import groups_of
from calibrant.inputs import Roles, read, source, summed
from commands import run

RNG = np.random.default_rng(21)
ROWS = 3000
P = RNG.random(ROWS)
FRAME = pd.DataFrame(
    {
        "prediction": P,
        "outcome": (RNG.random(ROWS) < P).astype(int),
        "label": np.where(RNG.random(ROWS) < P, "yes", "no"),
        "w": RNG.integers(1, 4, ROWS) / 2,
        "site": RNG.choice(["a", "b", "c"], ROWS),
        "shift": RNG.integers(0, 2, ROWS),
    }
)


@pytest.fixture
def many(monkeypatch):
    """Let a thousand rows be many."""
    for module in (source, summed):
        monkeypatch.setattr(module, "MOST_ROWS_READ", 1000)


def numbers(audit: cal.Audit) -> dict:
    return {part["name"]: part["value"] for part in json.loads(audit.to_json())["measures"]}


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars lazy", "duckdb"])
def test_many_rows_are_summed_and_say_so(many, tmp_path, monkeypatch, kind):
    makers = {
        "csv": lambda: FRAME.to_csv(tmp_path / "rows.csv", index=False) or tmp_path / "rows.csv",
        "parquet": lambda: FRAME.to_parquet(tmp_path / "r.parquet") or tmp_path / "r.parquet",
        "pandas": lambda: FRAME,
        "polars lazy": lambda: pl.from_pandas(FRAME).lazy(),
        "duckdb": lambda: duckdb.from_df(FRAME),
    }
    monkeypatch.setattr(source, "prepare", None)  # rows would pass through here
    audit = cal.audit(makers[kind](), by=["site", "shift"], draws=99)
    exact = cal.audit(FRAME["outcome"], P, by={n: FRAME[n] for n in ("site", "shift")}, draws=99)
    assert audit.summary.data.rows == ROWS
    assert audit.summary.joint.resolution == 2**16
    low, high = audit.measures["smooth_calibration_error"].bounds
    assert low <= exact.measures["smooth_calibration_error"] <= high
    assert high - low <= 2**-15
    assert "CAL053" in {finding.code for finding in audit.findings}
    assert "3 000 forecasts in " in audit.to_text()
    mine, theirs = ({(g.by, g.name): g for g in a.groups} for a in (audit, exact))
    assert mine.keys() == theirs.keys()
    for key, group in mine.items():
        assert group.rows == theirs[key].rows
        assert group.value == pytest.approx(theirs[key].value, abs=2**-16)


def test_few_rows_are_exact(tmp_path):
    FRAME.to_parquet(tmp_path / "rows.parquet")
    audit = cal.audit(tmp_path / "rows.parquet", draws=99)
    assert audit.summary.joint == cal.Joint.from_samples(FRAME["outcome"], P)


def test_clusters_and_times_keep_the_rows(many):
    for roles in (Roles(clusters="site"), Roles(time="shift")):
        found = read(FRAME, None, roles)
        assert np.array_equal(found.rows.prediction, P)
        assert found.joint.resolution == found.described["cells"] == 2**16
        assert read(FRAME[:900], None, roles).joint.resolution is None


def test_weights_labels_and_percentages_of_many_rows(many):
    weighted = read(FRAME, None, Roles(weight="w")).joint
    assert weighted.total == pytest.approx(FRAME["w"].sum())
    assert weighted.row_count == ROWS
    labelled = read(FRAME, None, Roles(outcome="label"), labels=Labels("yes")).joint
    assert labelled.positives.sum() == (FRAME["label"] == "yes").sum()
    flipped = read(FRAME, None, Roles(), labels=Labels("0")).joint
    assert flipped.positives.sum() == (FRAME["outcome"] == 0).sum()
    percent = read(FRAME.assign(prediction=100 * P), None, Roles(), percent=True).joint
    assert percent.mean_prediction == pytest.approx(P.mean())


def test_truth_has_two_labels(many):
    frame = FRAME.assign(outcome=FRAME["outcome"] == 1)
    for few in (frame, frame[:900]):
        joint = read(few, None, Roles(), labels=Labels("False")).joint
        assert joint.positives.sum() == (~few["outcome"]).sum()


def test_missing_values_of_many_rows(many):
    holes = FRAME.assign(
        prediction=np.where(np.arange(ROWS) < 3, np.nan, P),
        site=np.where(np.arange(ROWS) < 5, None, FRAME["site"]),
    )
    with pytest.raises(
        InvalidForecastsError, match=r"'prediction' must not hold missing.*3 of 3000"
    ):
        read(holes, None, Roles())
    found = read(holes, None, Roles(by=["site"]), drop_missing=True)
    assert found.dropped == 3
    assert found.joint.row_count == ROWS - 3
    assert found.groups["site", "missing"].row_count == 2


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("digits", [None, 2])
def test_many_rows_of_arrays_are_summed_like_those_of_a_frame(many, digits, weight):
    frame = FRAME if digits is None else FRAME.assign(prediction=P.round(digits))
    frame = frame.assign(w=np.where(np.arange(ROWS) < 50, 0, FRAME["w"]))
    theirs = read(frame, None, Roles(weight=weight))
    weights = None if weight is None else frame[weight]
    ours = read(frame["outcome"], frame["prediction"], Roles(weight=weights))
    assert ours.rows is None
    assert ours.joint.resolution == theirs.joint.resolution == (None if digits else 2**16)
    assert ours.joint.rounding == pytest.approx(theirs.joint.rounding, abs=1e-15)
    for name, column in theirs.joint.sums().columns().items():
        np.testing.assert_allclose(ours.joint.sums().columns()[name], column, rtol=1e-13)


def test_many_rows_of_arrays_are_kept_where_rows_are_needed(many):
    by = {"site": FRAME["site"]}
    for roles in (Roles(by=by), Roles(clusters=FRAME["site"]), Roles(time=np.arange(ROWS))):
        found = read(FRAME["outcome"], P, roles)
        assert np.array_equal(found.rows.prediction, P)
        assert found.joint.resolution == 2**16


def test_groups_of_many_rows_are_those_of_rows(many, monkeypatch):
    frame = FRAME.assign(
        size=np.where(np.arange(ROWS) < 7, np.nan, np.arange(ROWS) % 500 / 7),
        flag=np.arange(ROWS) % 3 == 0,
        who=np.arange(ROWS) % 300,
        name=(np.arange(ROWS) % 300).astype(str),
    )
    by = ["site", "size", "flag", "name"]
    summed = read(frame, None, Roles(by=by, pairs=True)).groups
    monkeypatch.setattr(source, "MOST_ROWS_READ", ROWS)
    rows = {
        (by, name): group.prediction.size
        for by, name, group in groups_of(read(frame, None, Roles(by=by, pairs=True))).groups()
    }
    counted = {key: joint.row_count for key, joint in summed.items()}
    for plain in ("site", "flag", "site & flag"):
        mine = {key: count for key, count in counted.items() if key[0] == plain}
        assert mine == {key: count for key, count in rows.items() if key[0] == plain}
    assert counted["size", "missing"] == 7
    assert len([key for key in counted if key[0] == "size"]) == 6
    assert all(
        abs(count - ROWS / 5) < 20 for (by, name), count in counted.items()
        if by == "size" and name != "missing"
    )  # fmt: skip
    assert counted["name", "other (50 values)"] == rows["name", "other (50 values)"]
    assert sum(count for (by, _), count in counted.items() if by == "name") == ROWS


def test_a_column_that_is_missing(many):
    for roles in (Roles(outcome="label2"), Roles(by="label2"), Roles(weight="label2")):
        with pytest.raises(InvalidForecastsError, match=r"a column 'label2'.*did you mean 'label'"):
            read(FRAME, None, roles)


def without_intervals(text: str) -> list[str]:
    report = text.split("Next:", maxsplit=1)[0]
    return [line.split("  0.")[0] for line in report.splitlines()]


def test_an_audit_of_counts_is_that_of_their_rows(tmp_path):
    rows = FRAME.assign(prediction=P.round(2))
    cells = rows.groupby(["site", "prediction"], as_index=False)["outcome"].agg(n="count", k="sum")
    expected = cal.audit(rows, by="site", draws=99)
    counted = cal.audit(cells, by="site", count="n", positives="k", draws=99)
    assert numbers(counted) == pytest.approx(numbers(expected), rel=1e-12)
    assert counted.verdict.pvalue == expected.verdict.pvalue
    assert [(g.name, g.rows, g.state) for g in counted.groups] == [
        (g.name, g.rows, g.state) for g in expected.groups
    ]
    path = str(tmp_path / "cells.csv")
    cells.to_csv(path, index=False)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = ("--by", "site")
    done = run("audit", path, *options, "--count", "n", "--positives", "k")
    assert done.returncode == 0, done.stderr
    of_rows = run("audit", str(tmp_path / "rows.csv"), *options)
    # Without rows every group has draws of its own: intervals differ in their last digits.
    assert without_intervals(done.stdout) == without_intervals(of_rows.stdout)
    gate = run("check", path, "--tolerance", "0.1", "--count", "n", "--positives", "k")
    assert gate.returncode == 0, gate.stderr


def test_counts_are_checked(tmp_path):
    cells = pd.DataFrame({"prediction": [0.5], "n": [10], "k": [4], "w": [1.0]})
    with pytest.raises(InvalidOptionError, match="those of aggregates"):
        cal.audit(cells, count="n")
    with pytest.raises(InvalidOptionError, match="those of aggregates"):
        cal.audit(cells, count="n", positives="k", sample_weight="w")
    with pytest.raises(InvalidForecastsError, match="rows are needed for clusters"):
        cal.audit(cells, count="n", positives="k", clusters="w")
    with pytest.raises(InvalidForecastsError, match="count cannot be used with a Joint"):
        cal.audit(cal.Joint.from_samples([0, 1], [0.5, 0.5]), count="n")


BAD_FILES = {
    "column": ("prediciton,outcome\n0.1,0\n", "did you mean 'prediciton'"),
    "type": ("prediction,outcome\n0.1,0\nhigh,1\n", "'high'"),
    "percent signs": ("prediction,outcome\n10%,0\n", "10%"),
    "no rows": ("prediction,outcome\n", "at least one row"),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_end_with_one_message(tmp_path, text, message):
    (tmp_path / "rows.csv").write_text(text)
    one_message(tmp_path, "rows.csv", message)


def one_message(folder, name, message):
    done = run("audit", str(folder / name), "--html", str(folder / "out.html"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "out.html").exists()


def test_files_that_cannot_be_read_end_with_one_message(tmp_path):
    FRAME.to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    one_message(tmp_path, "cut.parquet", "must be readable")
    one_message(tmp_path, "none*.parquet", "no such file")
    (tmp_path / "cut.parquet").unlink()
    FRAME.rename(columns={"outcome": "y"}).to_parquet(tmp_path / "x.parquet")
    one_message(tmp_path, "*.parquet", "must be readable")

"""Columns may have any name, whatever an engine would read into it."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from commands import run

NAMES = ("a.b", 'quo"te', "x.y.z", "it's", "sp ace", 'a."b".c', "select", "*", "`", ".", '"')
PARTS = (
    "prediction",
    "other",
    "outcome",
    "group",
    "cluster",
    "time",
    "weight",
    "key",
    "word",
    "real",
)
ENDINGS = ("csv", "parquet", "jsonl")


def _written(folder, name, frame):
    """Write a frame as CSV, Parquet and JSON lines."""
    frame.to_csv(folder / f"{name}.csv", index=False)
    frame.to_parquet(folder / f"{name}.parquet")
    frame.to_json(folder / f"{name}.jsonl", orient="records", lines=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows under plain names and under names with dots and quotes."""
    folder = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    p = rng.random(300).round(3)
    outcome = (rng.random(300) < p**1.6).astype(int)
    rows = pd.DataFrame(
        {
            "prediction": p,
            "other": (p**1.2).round(3),
            "outcome": outcome,
            "group": rng.choice(["u", "v"], 300),
            "cluster": np.arange(300) // 2,
            "time": np.arange(300),
            "weight": rng.integers(1, 4, 300),
            "key": np.arange(300),
            "word": np.where(outcome == 1, "yes", "no"),
            "real": (10 * p + rng.normal(size=300)).round(3),
        }
    )
    _written(folder, "plain", rows)
    _written(folder, "odd", rows.rename(columns=_odd))
    sums = pd.DataFrame({"prediction": np.arange(1, 10) / 10, "count": 100})
    sums["positives"] = (100 * sums["prediction"] ** 1.6).astype(int)
    sums["sum"] = 100 * sums["prediction"]
    sums["group"] = ["u", "v", "w"] * 3
    _written(folder, "plain_sums", sums)
    _written(folder, "odd_sums", sums.rename(columns=_odd))
    chances = rng.dirichlet([5, 3, 2], size=300).round(4)
    classes = pd.DataFrame(chances, columns=["one", "two", "three"])
    classes["three"] = (1 - classes["one"] - classes["two"]).round(4)
    classes["label"] = rng.choice(["one", "two", "three"], 300)
    _written(folder, "plain_classes", classes)
    odd = classes.rename(columns=_odd)
    odd[_odd("label")] = classes["label"].map(_odd)
    _written(folder, "odd_classes", odd)
    return folder


def _odd(name):
    """Another name, with a dot and a quotation mark."""
    return f'x.{name}."y'


# What {} stands for is a name.
COMMANDS = [
    "audit FILE COLUMNS --quiet",
    "audit FILE COLUMNS --by {group} --weight {weight} --quiet",
    "audit FILE COLUMNS --cluster {cluster} --time {time} --quiet",
    "audit FILE --prediction {prediction} --outcome {word} --pos-label yes --na drop --quiet",
    "audit FILE --prediction {prediction} --outcome {real} --kind mean --by {group} --quiet",
    "audit SUMS COUNTS --quiet",
    "audit SUMS --prediction-sum {sum} --count {count} --positives {positives} --by {group}",
    "audit SUMS COUNTS --na drop --quiet",
    "audit CLASSES --classes {one},{two},{three} --outcome {label} --quiet",
    "check FILE COLUMNS --by {group} --cluster {cluster} --json -",
    "check FILE COLUMNS --baseline FILE --key {key} --json -",
    "compare FILE --prediction {prediction},{other} --outcome {outcome} --weight {weight} --json -",
    "compare FILE FILE --prediction {prediction},{other} --outcome {outcome} --key {key} --json -",
    "monitor FILE COLUMNS --time {time} --by {group} --json -",
    "explain FILE COLUMNS --weight {weight} --json -",
    "recalibrate FILE COLUMNS --by {group} --methods platt --json -",
    "recalibrate SUMS COUNTS --methods platt --json -",
    "recalibrate FILE COLUMNS --base-rate 0.2 --calibrator -",
    (
        "recalibrate CLASSES --classes {one},{two},{three} --outcome {label} "
        "--methods temperature --json -"
    ),
    "online foster FILE --outcome {outcome} --rounds 20",
]
PLAYED = (*PARTS, "count", "positives", "sum", "one", "two", "three", "label")


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_command_reads_columns_of_any_name(folder, number):
    command = COMMANDS[number]
    wanted = _numbers(_ran(folder, command, "plain", "csv"))
    assert wanted
    # All commands read alike: not every one needs every kind of file.
    for ending in ENDINGS if command.startswith("audit") else [ENDINGS[number % len(ENDINGS)]]:
        assert _numbers(_ran(folder, command, "odd", ending)) == wanted


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_map_is_applied_to_a_column_of_any_name(folder, tmp_path, ending):
    rows, out, fitted = (
        tmp_path / name for name in (f"again.{ending}", "out.parquet", "calibrator.json")
    )
    options = "COLUMNS --by {group} --methods platt"
    _ran(folder, f"recalibrate FILE {options} --calibrator {fitted} --out {rows}", "odd", ending)
    _ran(folder, f"apply {fitted} FILE --out {out} --prediction {{prediction}}", "odd", ending)
    found = pd.read_parquet(out)
    assert list(found.columns) == [*map(_odd, PARTS), "recalibrated"]
    assert found[_odd("prediction")].astype(float).between(0, 1).all()


def _ran(folder, command, kind, ending):
    """Run a command on files of a kind, and return what it prints."""
    files = {"FILE": "", "SUMS": "_sums", "CLASSES": "_classes"}
    names = {part: _odd(part) if kind == "odd" else part for part in PLAYED}
    columns = "--prediction {prediction} --outcome {outcome}"
    counts = "--prediction {prediction} --count {count} --positives {positives}"
    command = command.replace("COLUMNS", columns).replace("COUNTS", counts)
    words = [
        str(folder / f"{kind}{files[word]}.{ending}") if word in files else word.format(**names)
        for word in command.split()
    ]
    done = run(*words)
    assert done.returncode in {0, 1, 3}, done.stderr
    return done.stdout


def _numbers(text):
    """All numbers but those of a fingerprint of the files."""
    return re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-\d+)?(?![\w.])", text)


@pytest.mark.parametrize("name", NAMES)
def test_joints_of_columns_of_any_name(tmp_path, name):
    rng = np.random.default_rng(1)
    p = rng.random(300).round(2)
    plain = pd.DataFrame(
        {"p": p, "y": (rng.random(300) < p).astype(int), "g": rng.choice(["a", "b"], 300)}
    )
    names = {"p": f"p{name}", "y": f"y{name}", "g": f"g{name}"}
    odd = plain.rename(columns=names)
    odd.to_parquet(tmp_path / "odd.parquet")
    columns = {"prediction": names["p"], "outcome": names["y"]}
    relation = duckdb.from_df(odd)
    wanted = cal.Joint.from_frame(plain, prediction="p", outcome="y")
    assert cal.Joint.from_files(tmp_path / "odd.parquet", **columns) == wanted
    assert cal.Joint.from_frame(relation, **columns) == wanted
    groups = cal.joints_by(plain, by="g", prediction="p", outcome="y")
    assert cal.joints_by(relation, by=names["g"], **columns) == groups
    audits = [
        cal.audit(relation, **columns, by=names["g"], pos_label=1),
        cal.audit(str(tmp_path / "odd.parquet"), **columns, by=names["g"]),
        cal.audit(odd, **columns, by=names["g"]),
    ]
    assert len({one.verdict.value for one in audits}) == 1
    with pytest.raises(cal.errors.InvalidForecastsError) as raised:
        cal.Joint.from_frame(relation, prediction=names["p"], outcome=names["g"])
    assert f"column {names['g']!r} must hold" in str(raised.value)


def test_a_query_that_fails_is_not_blamed_on_the_file(tmp_path):
    from calibrant.data.files import opened
    from calibrant.data.tables import Part

    (tmp_path / "rows.csv").write_text("p\n0.5\n")
    with (
        pytest.raises(duckdb.BinderException),
        opened(tmp_path / "rows.csv", {"p": Part.NUMBER}) as (relation, _),
    ):
        relation.project("nosuch")

"""`calibrant audit`, `check` and `monitor` with `--classes`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.multiclass import ClassForecasts
from commands import run
from oracles.class_definitions import draw_labels
from samples import ANIMALS, animals


def test_command_reads_columns_and_lists(tmp_path):
    label, table = animals(200)
    frame = pd.DataFrame(table, columns=ANIMALS).assign(outcome=label)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with (tmp_path / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row, name in zip(table.tolist(), label, strict=True):
            file.write(json.dumps({"prediction": row, "outcome": str(name)}) + "\n")
    outputs = [
        run("audit", str(tmp_path / f"rows.{kind}"), "--classes", "cat,dog,cow", "--json", "-")
        for kind in ("csv", "jsonl")
    ]
    assert [done.returncode for done in outputs] == [0, 0], [done.stderr for done in outputs]
    first, second = (json.loads(done.stdout) for done in outputs)
    assert first["title"] == "rows.csv"
    assert first["verdict"] == second["verdict"]
    assert first["classes"] == second["classes"]
    expected = cal.audit(label, table, classes=ANIMALS)
    scores = json.loads(expected.to_json())["classes"]["scores"]
    assert first["classes"]["scores"] == scores


def test_command_takes_positions_percent_and_missing_rows(tmp_path):
    label, table = animals(150)
    frame = pd.DataFrame(100 * table, columns=["c0", "c1", "c2"])
    frame["truth"] = [ANIMALS.index(name) for name in label]
    frame.loc[0, "c0"] = np.nan
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    common = ["audit", str(path), "--classes", "c0,c1,c2", "--outcome", "truth"]
    options = ["--scale", "percent", "--na", "drop", "--html", str(tmp_path / "page.html")]
    done = run(*common, *options)
    assert done.returncode == 0, done.stderr
    assert "149 forecasts: confidence" in done.stdout
    assert "1 row with a missing value left out" in run(*common, *options, "--full").stdout
    assert (tmp_path / "page.html").exists()
    assert run(*common, "--scale", "percent").returncode == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--classes", "cat,dog,fox"], "column 'fox'"),
        (["--classes", "ape,bee,fox"], "lists of numbers"),
        (["--classes", "cat,dog"], "sum to one"),
        (["--classes", "cat,dog,cow", "--pos-label", "cat"], "--pos-label is for"),
        (["--classes", "cat,dog,cow", "--count", "prediction"], "--count is for"),
        (["--classes", "cat,dog,cow", "--outcome", "truth"], "truth"),
        (["--classes", "cat,dog,cow", "--find-segments"], "--by"),
    ],
    ids=["stranger", "strangers", "too few", "label", "counts", "no outcome", "no columns"],
)
def test_command_refuses_with_one_message(tmp_path, options, message):
    label, table = animals(20)
    frame = pd.DataFrame(table, columns=ANIMALS).assign(outcome=label, prediction=0.5)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run("audit", str(tmp_path / "rows.csv"), *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_numbers_may_be_names_in_a_file(tmp_path):
    label, table = animals(100)
    frame = pd.DataFrame(table, columns=["1", "2", "3"])
    frame["outcome"] = [ANIMALS.index(name) + 1 for name in label]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run("audit", str(tmp_path / "rows.csv"), "--classes", "1,2,3", "--json", "-")
    assert done.returncode == 0, done.stderr
    plain = cal.audit(ClassForecasts.read(label, table, classes=ANIMALS))
    assert json.loads(done.stdout)["verdict"]["value"] == pytest.approx(plain.verdict.value)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, rows, lift in (("fair", 40_000, (1, 1, 1)), ("off", 1500, (6, 1, 1)),
                             ("few", 60, (1, 1, 1))):  # fmt: skip
        label, table = animals(rows, lift=lift)
        frame = pd.DataFrame(table, columns=ANIMALS).assign(outcome=label)
        frame["day"] = np.arange(rows) // 100
        frame["site"] = np.array(["north", "south"])[np.arange(rows) % 2]
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "task.csv").write_text("action,cat,dog,cow\nwait,0,0,0\nrun,-1,3,2\n")
    return folder


CLASSES = ("--classes", "cat,dog,cow")


@pytest.mark.parametrize(("name", "code"), [("fair", 0), ("off", 1), ("few", 3)])
def test_the_gate_looks_at_confidence_and_at_classes(logs, name, code):
    done = run("check", str(logs / f"{name}.csv"), *CLASSES, "--tolerance", "0.03", "--json", "-")
    assert done.returncode == code, done.stderr
    checks = {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}
    states = {0: "passed", 1: "failed", 3: "undecided"}
    assert checks.pop("smooth calibration error of the confidence") == states[code]
    assert checks.pop("typical gap of the confidence") in {states[code], "undecided"}
    ((classes, state),) = checks.items()
    assert classes.startswith("3 classes, worst class ")
    assert state == states[code]


def test_classes_fail_the_gate_where_confidence_holds(tmp_path):
    """Confidence is right, and two classes are mistaken for each other."""
    rng = np.random.default_rng(8)
    table = np.tile([0.6, 0.3, 0.1], (20_000, 1))
    label = draw_labels(rng, table[:, [0, 2, 1]])
    pd.DataFrame(table, columns=ANIMALS).assign(outcome=np.array(ANIMALS)[label]).to_csv(
        tmp_path / "rows.csv", index=False
    )
    done = run("check", str(tmp_path / "rows.csv"), *CLASSES)
    assert done.returncode == 1, done.stderr
    assert "passed       smooth calibration error of the confidence" in done.stdout
    assert "failed       3 classes" in done.stdout


def test_the_command_takes_the_options_of_two_outcomes(logs, tmp_path):
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    options = ["--by", "site", "--time", "day", "--cluster", "day", "--find-segments"]
    written = ["--task", str(logs / "task.csv"), "--html", str(page), "--markdown", str(text)]
    done = run("audit", str(logs / "off.csv"), *CLASSES, *options, *written, "--full")
    assert done.returncode == 0, done.stderr
    assert "Trusting the forecasts promises" in done.stdout
    assert "Row by row in the order of time" in done.stdout
    assert "site south" in done.stdout
    assert "Segments found" in done.stdout
    assert "not tested" in done.stdout
    assert page.read_text().count("<svg") == 7
    assert "| group |" in text.read_text()


@pytest.mark.parametrize(("name", "code"), [("fair", 0), ("off", 1)])
def test_a_monitor_watches_the_most_likely_class(logs, name, code):
    done = run("monitor", str(logs / f"{name}.csv"), *CLASSES, "--time", "day", "--until", "14")
    assert done.returncode == code, done.stderr
    assert "1 500 rows from 0 to 14" in done.stdout


def test_a_key_joins_two_outcomes_only(logs):
    off = str(logs / "off.csv")
    done = run("check", off, *CLASSES, "--baseline", str(logs / "few.csv"))
    assert done.returncode == 1, done.stderr
    assert "not worse than the baseline" in done.stdout
    done = run("check", off, *CLASSES, "--baseline", off, "--key", "day")
    assert done.returncode == 2
    assert "--key" in done.stderr

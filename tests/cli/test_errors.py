"""Errors say what is wrong, where, and which option to type."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from commands import run

ROWS = "prediction,outcome,day,region\n" + "0.2,0,2024-01-01,n\n0.7,1,2024-01-02,s\n" * 20
MISSING = ROWS + "0.4,,2024-01-03,n\n"
NO_PREDICTION = ROWS + ",1,2024-01-03,n\n"
SWAPPED = "outcome,prediction\n0.2,0\n0.7,1\n0.4,0\n0.9,1\n0.3,1\n"
FILES = {
    "rows.csv": ROWS,
    "missing.csv": MISSING,
    "no_prediction.csv": NO_PREDICTION,
    "no_day.csv": ROWS + "0.4,1,,n\n",
    "swapped.csv": SWAPPED,
    "ragged.csv": "prediction,outcome\n0.2,0\n0.3,1,5\n",
    "separator.csv": "sep=;\nprediction;outcome\n0.2;0\n",
    "text.csv": "prediction,outcome,weight\n0.2,0,a\n0.3,1,b\n",
    "compact.csv": "prediction,outcome,day\n" + "0.2,0,20240115\n0.7,1,20240116\n" * 20,
    "book.xlsx": "PK\x03\x04",
    "table.feather": "ARROW1",
    "rows.csv.bz2": "BZh",
    "rows.csv.xz": "x",
}
DROP = "Hint: --na drop leaves them out"
CASES = [
    (
        ["audit", "missing.csv"],
        (
            f"column 'outcome' must not hold missing values (NaN), got 1 of 41, "
            f"first rows 41. {DROP}; an unresolved outcome is not a 0."
        ),
    ),
    (["audit", "no_prediction.csv"], f"first rows 41. {DROP}."),
    (["check", "missing.csv"], DROP),
    (["recalibrate", "missing.csv"], DROP),
    (["explain", "missing.csv"], DROP),
    (["compare", "missing.csv", "--prediction", "prediction,day"], "day"),
    (["monitor", "missing.csv", "--time", "day"], DROP),
    (["monitor", "no_day.csv", "--time", "day"], DROP),
    (
        ["audit", "swapped.csv"],
        (
            "column 'outcome' must be outcomes and column 'prediction' "
            "probabilities, got probabilities in column 'outcome' and only 0 and 1 in column "
            "'prediction'. Hint: --prediction and --outcome look swapped."
        ),
    ),
    (["audit", "rows.csv", "--by", "regoin"], "did you mean 'region'"),
    (
        ["audit", "rows.csv", "--time", "hour"],
        "there must be a column 'hour', got columns prediction, outcome, day, region.",
    ),
    (["audit", "book.xlsx"], "book.xlsx: Excel files are not read. Hint: save the sheet as CSV."),
    (["llm", "book.xlsx"], "Excel files are not read"),
    (["audit", "table.feather"], "Arrow files are not read. Hint: write Parquet or CSV."),
    (["audit", "rows.csv.bz2"], "Hint: unpack them, or pack them as .gz or .zst."),
    (["audit", "rows.csv.xz"], "Hint: unpack them, or pack them as .gz or .zst."),
    (
        ["audit", "separator.csv"],
        (
            "separator.csv, line 1: a line for Excel (sep=;), not the names "
            "of the columns. Hint: remove that line."
        ),
    ),
    (["audit", "ragged.csv"], "ragged.csv, line 3: 3 columns, expected 2."),
    (["audit", "nosuch.csv"], "nosuch.csv: no such file."),
    (["apply", "nosuch.json", "rows.csv", "--out", "new.csv"], "nosuch.json: no such file."),
    (
        ["check", "rows.csv", "--measure", "smece"],
        (
            "--measure must be in the catalogue, got 'smece'. "
            "Hint: did you mean kernel_smoothed_calibration_error (SMECE)."
        ),
    ),
    (
        ["check", "rows.csv", "--measure", "smooth_calibration_eror"],
        "Hint: did you mean smooth_calibration_error.",
    ),
    (
        ["audit", "rows.csv", "--kind", "foo"],
        (
            "--kind must be mean, median, quantile=LEVEL, "
            "expectile=LEVEL, interval=LOW,HIGH or survival, got 'foo'."
        ),
    ),
    (["audit", "rows.csv", "--horizon", "3"], "--horizon needs --kind survival."),
    (["audit", "rows.csv", "--pairs"], "--pairs needs two columns in --by."),
    (["audit", "rows.csv", "--seed", "-1"], "--seed must be a seed"),
    (["audit", "text.csv", "--prediction", "weight"], "Hint: turn it into numbers first."),
    (["audit", "text.csv", "--weight", "weight"], "Hint: turn it into numbers first."),
    (
        ["monitor", "compact.csv", "--time", "day", "--window", "7d"],
        (
            "--window must be a positive number, like 100, got '7d'. Hint: these times are "
            "numbers: write dates as 2024-01-15."
        ),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("words", "wanted"), CASES, ids=range(len(CASES)))
def test_an_error_says_what_to_type(folder, words, wanted):
    there = {*FILES, "nosuch.csv", "nosuch.json", "new.csv"}
    done = run(*(str(folder / word) if word in there else word for word in words))
    assert done.returncode == 2, done.stdout
    assert wanted in done.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_compared_with_itself_is_identical(tmp_path, kind):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"prediction": rng.random(200), "outcome": rng.integers(0, 2, 200)})
    file = str(tmp_path / f"rows.{kind}")
    rows.to_csv(file, index=False) if kind == "csv" else rows.to_parquet(file)
    done = run("compare", file, file)
    assert done.stdout.splitlines()[0] == "The two forecasts are identical."
    assert "not tell" not in done.stdout
    assert done.returncode == 0


def test_models_that_say_the_same_are_identical(tmp_path):
    lines = [
        {"id": n, "model": model, "confidence": n % 10 / 10, "correct": n % 3 == 0}
        for n in range(60)
        for model in ("a", "b")
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("compare", str(log))
    assert done.stdout.startswith("The two forecasts are identical.\nnote:"), done.stdout


def test_json_lines_hold_neither_nan_nor_infinity(tmp_path):
    rows = pd.DataFrame({
        "prediction": [0.2, 0.7, 0.4],
        "outcome": [0, 1, 1],
        "x": [np.nan, np.inf, 0.5],
        "y": np.array([-np.inf, 1, np.nan], dtype=np.float32),
    })  # fmt: skip
    rows.to_parquet(tmp_path / "rows.parquet")
    fitted = str(tmp_path / "calibrator.json")
    files = [str(tmp_path / "rows.parquet"), "--base-rate", "0.3", "--calibrator", fitted]
    out = tmp_path / "out.jsonl"
    done = run("recalibrate", *files, "--out", str(out))
    assert done.returncode == 0, done.stderr

    def refuse(word):
        raise AssertionError(word)

    found = [json.loads(line, parse_constant=refuse) for line in out.read_text().splitlines()]
    assert [row["x"] for row in found] == [None, None, 0.5]
    assert [row["y"] for row in found] == [None, 1, None]
    assert [row["prediction"] for row in found] == [0.2, 0.7, 0.4]

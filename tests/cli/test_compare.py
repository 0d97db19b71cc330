"""`calibrant compare`, as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from commands import run

rng = np.random.default_rng(0)
N = 1500
Q = rng.random(N).round(3)
Y = (rng.random(N) < Q).astype(int)
OLD = pd.DataFrame({"id": [f"r{i}" for i in range(N)], "prediction": Q**2, "outcome": Y})
NEW = OLD.assign(prediction=Q, w=rng.integers(1, 4, N), team=np.arange(N) // 5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    OLD.to_csv(tmp_path / "old.csv", index=False)
    NEW.sample(frac=0.9, random_state=1).to_csv(tmp_path / "new.csv", index=False)
    NEW.to_csv(tmp_path / "same.csv", index=False)
    OLD.assign(other=Q).to_csv(tmp_path / "both.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(*arguments):
    done = run("compare", *arguments, "--json", "-")
    assert done.returncode in {0, 1, 3}, done.stderr
    return json.loads(done.stdout)


def test_a_sentence_first_then_what_was_compared(folder):
    done = run("compare", "old.csv", "new.csv", "--key", "id")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("The second forecaster is better: smooth calibration error 0.1")
    assert lines[1].startswith("The second forecaster is better: Brier score")
    assert lines[2] == "first: old.csv; second: new.csv"
    assert lines[3] == (
        "1 350 keys in both; 150 rows of the first file and 0 rows of the second file have no "
        "partner."
    )
    quiet = run("compare", "old.csv", "new.csv", "--key", "id", "--quiet").stdout
    assert quiet == f"{lines[0]}\n"


def test_all_ways_to_pair_the_same_rows_agree(folder):
    by_column = compared("both.csv", "--prediction", "prediction,other")
    by_order = compared("old.csv", "same.csv")
    by_key = compared("old.csv", "same.csv", "--key", "id")
    expected = cal.compare(Y, Q**2, Q, rng=0)
    for found in (by_column, by_order, by_key):
        first = found["comparisons"][0]
        assert first["difference"] == pytest.approx(expected.difference)
        assert first["low"] == pytest.approx(expected.low, abs=2e-3)
        assert found["unpaired"] == [0, 0]
    assert (by_column["first"], by_column["second"]) == ("prediction", "other")
    assert by_order["comparisons"] == by_column["comparisons"]


def test_weights_and_clusters_are_those_of_the_second(folder):
    found = compared("old.csv", "same.csv", "--weight", "w", "--cluster", "team")["comparisons"][1]
    expected = cal.compare(
        Y, Q**2, Q, sample_weight=NEW.w, clusters=NEW.team, measure="brier", rng=0
    )
    assert found["difference"] == pytest.approx(expected.difference)
    assert found["low"] == pytest.approx(expected.low)


@pytest.mark.parametrize(
    ("files", "code", "state"),
    [
        (["old.csv", "same.csv"], 0, "passed"),
        (["same.csv", "old.csv"], 1, "failed"),
        (["old.csv", "old.csv"], 0, "passed"),
    ],
    ids=["better", "worse", "itself"],
)
def test_a_limit_decides_the_exit_code(folder, files, code, state):
    done = run("compare", *files, "--max-worse", "0.02")
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"{state}: ")
    assert run("compare", *files).returncode == 0


def test_rows_that_cannot_tell_are_code_3(folder):
    few = NEW.head(30)
    few.assign(prediction=np.clip(few.prediction + 0.05, 0, 1)).to_csv("few.csv", index=False)
    few.to_csv("less.csv", index=False)
    done = run("compare", "less.csv", "few.csv", "--max-worse", "0.001")
    assert done.returncode == 3
    assert done.stdout.startswith("undecided: ")


def changed(**columns):
    NEW.assign(**columns).to_csv("odd.csv", index=False)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: None, ["old.csv", "new.csv"],
         "must have the same rows, got 1500 and 1350. Hint: join them by --key"),
        (lambda: NEW.sample(frac=1, random_state=2).to_csv("odd.csv", index=False),
         ["old.csv", "odd.csv"], "paired by their order must have the same outcome"),
        (lambda: changed(outcome=1 - Y), ["old.csv", "odd.csv", "--key", "id"],
         "rows with the same key must have the same outcome"),
        (lambda: changed(id="r1"), ["old.csv", "odd.csv", "--key", "id"],
         "--key must name each row of the second file once"),
        (lambda: changed(id=np.arange(N)), ["old.csv", "odd.csv", "--key", "id"],
         "the first file must share rows with the second file, got no common 'id'"),
        (lambda: None, ["old.csv", "same.csv", "--key", "outcome"],
         "--key must be a column of its own"),
        (lambda: None, ["both.csv"], "--prediction must name two columns of one file"),
        (lambda: None, ["both.csv", "--prediction", "other,outcome"],
         "column 'outcome' must not be the prediction as well"),
        (lambda: None, ["both.csv", "--prediction", "outcome,other"],
         "column 'outcome' must not be the prediction as well"),
        (lambda: None, ["both.csv", "--prediction", "a,b,c"], "one column or two"),
        (lambda: None, ["both.csv", "--prediction", "prediction,other", "--key", "id"],
         "--key joins two files"),
        (lambda: None, ["old.csv", "new.csv", "same.csv"], "compare takes one file or two"),
        (lambda: None, ["old.csv", "same.csv", "--max-worse", "2"], "--max-worse must lie"),
        (lambda: None, ["old.csv", "same.csv", "--measure", "nonsense"], "nonsense"),
        (lambda: None, ["old.csv", "same.csv", "--json", "old.csv"], "must not name a file that"),
        (lambda: changed(prediction=np.where(Q > 0.5, np.nan, Q)),
         ["old.csv", "odd.csv", "--na", "drop"], "paired by their order must all be there"),
    ],
    ids=["lengths", "order", "outcomes", "repeated", "none common", "key", "one column", "outcome",
         "outcome first", "three columns", "key of one", "three files", "limit", "measure",
         "output", "missing"],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(folder, make, arguments, message):
    make()
    done = run("compare", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr, done.stderr


def test_large_keys_are_not_rounded(folder):
    """As doubles, 2**53 and 2**53 + 1 would be one key."""
    keys = 2**53 + np.arange(2)
    NEW.head(2).assign(id=keys).to_parquet("whole.parquet")
    OLD.head(1).assign(id=[float(2**53)]).to_parquet("doubles.parquet")
    done = run("compare", "doubles.parquet", "whole.parquet", "--key", "id")
    assert done.returncode == 2
    assert "keys must be whole numbers or text in both files" in done.stderr


def test_outcomes_that_are_missing_are_called_so(folder):
    NEW.assign(outcome=np.where(np.arange(N) == 5, np.nan, Y)).to_csv("odd.csv", index=False)
    done = run("compare", "old.csv", "odd.csv", "--key", "id")
    assert done.returncode == 2
    assert "must have an outcome, got 1 without one. Hint: --na drop leaves them out" in done.stderr
    assert compared("old.csv", "odd.csv", "--key", "id", "--na", "drop")["rows"] == N - 1


def test_keys_of_numbers_and_of_text_are_joined(folder):
    """A file that writes keys as text, and one that writes them as numbers."""
    NEW.assign(id=np.arange(N)).to_parquet("numbers.parquet")
    OLD.assign(id=[str(i) for i in range(N)]).to_parquet("texts.parquet")
    found = compared("texts.parquet", "numbers.parquet", "--key", "id")
    assert found["rows"] == N

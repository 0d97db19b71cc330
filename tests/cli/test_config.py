"""Defaults of a project, in the nearest pyproject.toml."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from commands import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.random(600).round(2)
    frame = pd.DataFrame({"p": p, "prediction": p**2, "rain": (rng.random(600) < p) * 1})
    frame["outcome"], frame["site"], frame["day"] = frame.rain, ["a", "b"] * 300, np.arange(600)
    inner = tmp_path / "inner"
    inner.mkdir()
    frame.to_csv(inner / "rows.csv", index=False)
    monkeypatch.chdir(inner)
    monkeypatch.delenv("CALIBRANT_NO_CONFIG", raising=False)
    return tmp_path


def configured(folder, text):
    (folder / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.calibrant]\n{text}")


def error_of(done):
    assert done.returncode < 70, done.stderr
    return json.loads(done.stdout)["checks"][0]["value"]


def test_columns_tolerance_and_groups_come_from_the_project(folder):
    plain = run("check", "rows.csv", "--prediction", "p", "--outcome", "rain", "--tolerance", "0.3",
                "--by", "site", "--json", "-")  # fmt: skip
    assert plain.stderr == ""
    configured(folder, 'prediction = "p"\noutcome = "rain"\ntolerance = 0.3\nby = ["site"]\n')
    done = run("check", "rows.csv", "--json", "-")
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    assert done.stderr == (
        "calibrant: note: --tolerance 0.3, --prediction p, --outcome rain, --by site from "
        "[tool.calibrant] of ../pyproject.toml; --no-config ignores it\n"
    )


def test_what_is_typed_comes_first(folder):
    configured(folder, 'prediction = "p"\ntolerance = "5%"\ntime = "day"\n')
    done = run(
        "check", "rows.csv", "--prediction", "prediction", "--tolerance", "0.2", "--json", "-"
    )
    assert done.stderr == ""
    ignored = run("--no-config", "check", "rows.csv", "--tolerance", "0.2", "--json", "-")
    assert error_of(done) == error_of(ignored)
    assert ignored.stderr == ""
    watched = run("monitor", "rows.csv", "--json", "-")
    assert watched.returncode in {0, 1}, watched.stderr
    assert "--time day" in watched.stderr
    assert json.loads(watched.stdout)["tolerance"] == "5%"


def test_the_environment_can_switch_it_off(folder, monkeypatch):
    configured(folder, 'prediction = "p"\n')
    monkeypatch.setenv("CALIBRANT_NO_CONFIG", "1")
    assert run("audit", "rows.csv", "--quiet").stderr == ""
    monkeypatch.setenv("CALIBRANT_NO_CONFIG", "0")
    assert "--prediction p" in run("audit", "rows.csv", "--quiet").stderr


def test_the_nearest_file_counts_alone(folder):
    configured(folder, 'prediction = "p"\n')
    (folder / "inner" / "pyproject.toml").write_text("[tool.other]\n")
    assert run("audit", "rows.csv", "--quiet").stderr == ""


def test_sums_of_predictions_come_before_a_column_of_the_project(folder):
    configured(folder, 'prediction = "p"\n')
    (folder / "inner" / "cells.csv").write_text("n,k,total\n10,3,2\n400,220,200\n")
    done = run("check", "cells.csv", "--count", "n", "--positives", "k", "--prediction-sum",
               "total", "--json", "-")  # fmt: skip
    assert json.loads(done.stdout)["rows"] == 410


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('predicton = "p"', "got 'predicton'. Hint: did you mean 'prediction'"),
        ("html = 'x.html'", "must hold known options, got 'html'"),
        ("prediction = 3", "prediction of [tool.calibrant] must be text, got 3"),
        ("tolerance = true", "tolerance of [tool.calibrant] must be a number or text, got True"),
        ("by = []", "by of [tool.calibrant] must name something, got []"),
        ("by = [3]", "by of [tool.calibrant] must name something, got [3]"),
        ("prediction = ''", "prediction of [tool.calibrant] must be text, got ''"),
        ("prediction = [", "pyproject.toml must be TOML"),
        ("tolerance = 5", "--tolerance must lie between 0 and 1"),
        ("scale = 'thousand'", "'thousand' is not one of"),
        ("weight = 'none'", "there must be a column 'none'"),
    ],
)
def test_what_nobody_can_mean_is_refused(folder, text, message):
    configured(folder, text)
    done = run("audit", "rows.csv", "--quiet")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    # Commands that read no forecasts do not look.
    assert run("measures").returncode == 0


def test_names_may_be_written_with_dashes(folder):
    configured(folder, 'prediction = "p"\npos-label = "1"\ngap-tolerance = 1\n')
    done = run("audit", "rows.csv", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "--gap-tolerance 1" in done.stderr
    assert "--pos-label 1" in done.stderr


def test_the_help_names_the_table_that_is_ignored():
    assert "Ignore [tool.calibrant]" in run("--help").stdout

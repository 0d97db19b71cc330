"""The library names arguments, the command line options."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import typer

import calibrant
from calibrant._base.words import count_text, plural
from calibrant.cli.main import _warn, app
from calibrant.cli.wording import OPTIONS, on_the_command_line
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError
from commands import run


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            InvalidForecastsError("@pos_label 'x' must be one of the labels", "labels 'a', 'b'"),
            "--pos-label 'x' must be one of the labels, got labels 'a', 'b'.",
        ),
        (
            InvalidForecastsError("@y_true must hold 0 and 1", "2", "name one, @pos_label"),
            "--outcome must hold 0 and 1, got 2. Hint: name one, --pos-label.",
        ),
        (
            InvalidOptionError("@window must be a number", "'x'"),
            "--window must be a number, got 'x'.",
        ),
        (
            InvalidForecastsError(
                "there must be a column 'pos_label'", "columns sample_weight, by"
            ),
            "there must be a column 'pos_label', got columns sample_weight, by.",
        ),
        (
            InvalidForecastsError("column 'time' must hold numbers", "text"),
            "column 'time' must hold numbers, got text.",
        ),
        (InvalidOptionError("rows are cut by time", "none"), "rows are cut by time, got none."),
    ],
    ids=["named", "given", "word", "column", "columns", "prose"],
)
def test_arguments_become_options_and_words_of_others_stay(error, text):
    assert on_the_command_line(error) == text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "check means.csv",
            "--positives, or judge them as continuous outcomes, with --kind 'mean' and --range.",
        ),
        ("audit ends.csv --kind interval=b,a --level 0.9", "Hint: are the two ends swapped."),
        ("check ends.csv --classes a,b", "--classes must name every class; write rounded"),
        ("recalibrate ends.csv --base-rate 0", "--base-rate must lie between 0 and 1"),
        ("recalibrate ends.csv --dialect mysql --sql -", "--dialect must be one of duckdb"),
        ("recalibrate ends.csv --score foo", "--score must be one of brier, log, spherical, got"),
        (
            "recalibrate ends.csv --out new.csv --column=",
            "--column must name the new column, got ''.",
        ),
    ],
)
def test_every_hint_can_be_typed(command, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    means = ["prediction,outcome", *(f"0.{i},0.{i}" for i in range(1, 9))]
    (tmp_path / "means.csv").write_text("\n".join(means))
    ends = ["prediction,outcome,a,b", *(f"0.{i},{i % 2},0.1,0.{i + 1}" for i in range(1, 9))]
    (tmp_path / "ends.csv").write_text("\n".join(ends))
    done = run(*command.split())
    assert done.returncode == 2
    assert text in done.stderr
    for word in ("y_true", "y_proba", "Joint", "sum_tolerance", "logits=", "DecisionTask"):
        assert word not in done.stderr


def test_warnings_name_options(capsys):
    _warn("@y_true holds numbers, and @y_proba only 0 and 1", CalibrantWarning)
    text = "calibrant: warning: --outcome holds numbers, and --prediction only 0 and 1\n"
    assert capsys.readouterr().err == text


def test_every_option_that_is_named_exists():
    command = typer.main.get_command(app)
    known = {
        option for one in command.commands.values() for entry in one.params for option in entry.opts
    }
    assert set(OPTIONS.values()) <= known


def test_the_library_names_no_option():
    """Findings and examples may show a whole command; errors may not name its options."""
    root = Path(inspect.getfile(calibrant)).parent
    flag = re.compile(r"""Error\([^)]*["' (]--[a-z]""", re.DOTALL)
    found = [
        path.relative_to(root)
        for path in root.rglob("*.py")
        if path.parts[len(root.parts)] != "cli" and flag.search(path.read_text("utf-8"))
    ]
    assert found == []


def test_plurals():
    assert [count_text(n, "probability") for n in (0, 1, 2)] == [
        "0 probabilities",
        "1 probability",
        "2 probabilities",
    ]
    assert [plural(noun) for noun in ("class", "row", "day", "box")] == [
        "classes",
        "rows",
        "days",
        "boxes",
    ]

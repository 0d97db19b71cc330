"""The library names arguments, the command line options."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import typer

import calibrant
from calibrant.cli.main import app
from calibrant.cli.wording import NAMES, WORDS, on_the_command_line
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.words import count_text, plural


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            InvalidForecastsError("pos_label 'x' must be one of the labels", "labels 'a', 'b'"),
            "--pos-label 'x' must be one of the labels, got labels 'a', 'b'.",
        ),
        (
            InvalidForecastsError("y_true must hold 0 and 1", "2", "name one, pos_label=..."),
            "--outcome must hold 0 and 1, got 2. Hint: name one, --pos-label.",
        ),
        (
            InvalidOptionError("window must be a number", "'x'"),
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
def test_arguments_become_options_and_words_of_others_stay(error, said):
    assert on_the_command_line(error) == said


def test_every_option_that_is_named_exists():
    command = typer.main.get_command(app)
    known = {
        option for one in command.commands.values() for entry in one.params for option in entry.opts
    }
    assert set((NAMES | WORDS).values()) <= known


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

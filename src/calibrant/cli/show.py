"""An audit as a command prints it: one screen, in colour on a terminal; all numbers; or a line."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from calibrant.cli.write import is_terminal, print_line, print_written

if TYPE_CHECKING:
    from calibrant.report import Audit, Line, RecalibrateCommand

# Colours of states, and what they mean on most terminals.
COLOURS = {"calibrated": "green", "miscalibrated": "red", "undecided": "yellow"}
# Options that say where to write, that divide the rows, and that are for two outcomes only.
WRITTEN = {"--html", "--json", "--markdown", "--full", "--quiet"}
OF_GROUPS = {"--by", "--pairs"}
OF_TWO_OUTCOMES = {"--task", "--pos-label", "--neg-label", "--na-label"}
# A screen that nobody has measured.
COLUMNS, LINES = 100, 24


def show_screen(
    result: Audit,
    command: str,
    *,
    title: str = "",
    written: Mapping[str, str | None] | None = None,
    decided: Sequence[str] = (),
) -> None:
    """Print an audit on one screen, above all that was decided on a log."""
    from calibrant.report import sentence_lines

    before = [title] if title else []
    files = {what: path for what, path in (written or {}).items() if path is not None}
    width = shutil.get_terminal_size((COLUMNS, LINES)).columns
    lines = result.screen(
        width=width,
        command=command,
        taken=len(before) + len(files),
        diagram=is_terminal(),
        notes=not decided,
    )
    for text in before:
        print_line(text)
    for line in lines:
        print_line(*_painted(line, result.summary.state))
    print_written(files)
    if decided:
        print_line("")
    for sentence in decided:
        for line in sentence_lines(f"note: {sentence}", min(width, COLUMNS)):
            print_line(*_painted(line, result.verdict.state))


def _painted(line: Line, state: str) -> list[tuple[str, dict[str, object]]]:
    """Give pieces of a line their colours, if there are any."""
    looks: dict[str, dict[str, object]] = {
        "state": {"fg": COLOURS[state], "bold": True},
        "quiet": {"dim": True},
        "strong": {"bold": True},
    }
    last = line[-1:] and len(line) - 1
    pieces = [
        (piece.text.rstrip() if index == last else piece.text, looks.get(piece.style, {}))
        for index, piece in enumerate(line)
    ]
    return pieces if _is_coloured() else [(text, {}) for text, _ in pieces]


def _is_coloured() -> bool:
    return is_terminal() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def next_command(context: typer.Context, result: Audit) -> str:
    """Write the command that comes next: one that recalibrates, a page to look at, or the gate.

    It takes every option of this one that it knows, so that it reads the same rows.
    """
    from calibrant.report import fixed_name, recalibration_is_next

    if result.summary.loss is not None or result.summary.censored:
        more = ["--html", "report.html"] if context.params.get("html") is None else ["--full"]
        return _like(context, "audit", WRITTEN, more)
    summary = result.summary
    if context.params.get("calibrator_file") is not None and context.params.get("html") is not None:
        words = ["calibrant", "apply", context.params["calibrator_file"], *context.params["files"]]
        return shlex.join([*words, "--out", fixed_name(context.params["files"])])
    done = context.params.get("calibrator_file") is not None
    if done or not recalibration_is_next(summary):
        if context.params.get("html") is None:
            return _like(context, "audit", WRITTEN, ["--html", "report.html"])
        return _like(context, "check", set(WRITTEN), [])
    failing = summary.groups is not None and bool(summary.groups.failing)
    return recalibrate_command(context, by_group=failing).whole


def recalibrate_command(context: typer.Context, *, by_group: bool = False) -> RecalibrateCommand:
    """Write the command that recalibrates the files that are audited, read in the same way."""
    from calibrant.report import RecalibrateCommand

    left_out = set(WRITTEN)
    of_classes = context.params.get("classes") is not None
    if of_classes or not by_group:
        left_out |= OF_GROUPS
    if of_classes:
        left_out |= OF_TWO_OUTCOMES
    return RecalibrateCommand(
        tuple(context.params["files"]), tuple(_shared(context, "recalibrate", left_out))
    )


def _like(context: typer.Context, name: str, left_out: set[str], more: list[str]) -> str:
    """Write another command on the same files, with the options that it shares with this one."""
    shared = _shared(context, name, left_out)
    return shlex.join(["calibrant", name, *context.params["files"], *shared, *more])


def _shared(context: typer.Context, name: str, left_out: set[str]) -> list[str]:
    """Options of this command that another one knows too, as they were given."""
    from calibrant.cli.main import app_for

    program = typer.main.get_command(app_for([name]))
    other = program.get_command(context, name)  # type: ignore[attr-defined]
    known = {option for parameter in other.params for option in parameter.opts}
    words: list[str] = []
    for parameter in context.command.params:
        option, value = parameter.opts[0], context.params.get(parameter.name or "")
        origin = context.get_parameter_source(parameter.name or "")
        if option not in known or option in left_out or origin is None:
            continue
        if origin.name == "COMMANDLINE" and option.startswith("--"):
            values = value if isinstance(value, list | tuple) else [value]
            words += [option] if value is True else [w for v in values for w in (option, f"{v}")]
    return words

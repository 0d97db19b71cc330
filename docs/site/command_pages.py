"""The reference of the command line, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args, get_type_hints

import typer

from calibrant.cli.main import app

LOG = """calibrant audit log.jsonl --prediction confidence --outcome correct \\
    --scale percent --by model,benchmark --cluster question"""
INTRODUCTION = (
    "`calibrant COMMAND --help` prints what stands here. Every command reads CSV, Parquet and "
    "JSON lines, several files at once, or `-` for standard input; "
    "[how files are read](../audit.md#how-files-are-read). Outputs are whole files or none, "
    "and an output that is an input is refused."
)
CODES = (
    "Exit codes are the same for all commands: [what they mean](../gate.md#exit-codes). "
    "`--debug` before the command, or `CALIBRANT_DEBUG=1`, shows where an error was raised."
)
EXAMPLES = {
    "demo": [("Audit the forecasts that ship and write a report.", "calibrant demo")],
    "audit": [
        (
            "A verdict on one screen, and a report to open in a browser.",
            "calibrant audit forecasts.csv --html report.html",
        ),
        (
            "Other names of columns, percentages, and a verdict for every group.",
            LOG,
        ),
        (
            "Lines that stand for many rows.",
            "calibrant audit cells.csv --prediction mean_p --count n --positives k",
        ),
        (
            "More than two classes, one column of probabilities each.",
            "calibrant audit animals.csv --classes cat,dog,cow --outcome label",
        ),
    ],
    "check": [
        (
            "May this release pass? Exit code 0, 1, or 3 if the rows cannot tell.",
            "calibrant check new.parquet --tolerance 0.02 --by country --markdown summary.md",
        ),
        (
            "Is it worse than the release before, row by row?",
            "calibrant check new.parquet --baseline old.parquet --key id --max-worse 0.01",
        ),
    ],
    "watch": [
        (
            "Windows of a week, an alarm with a bound on false alarms, one monitor a region.",
            "calibrant watch log.parquet --time due --window 7d --by region --json watch.json",
        ),
    ],
    "repair": [
        (
            "Choose a map on rows it has not seen; write rows, map and SQL.",
            "calibrant repair rows.parquet --out fixed.parquet --map map.json --sql map.sql",
        ),
        (
            "Patches for groups on top of the map, if they help.",
            "calibrant repair rows.parquet --by site,age --out fixed.parquet --map map.json",
        ),
    ],
    "apply": [
        (
            "Recalibrate new rows with a stored map.",
            "calibrant apply map.json new.parquet --out new_fixed.parquet",
        ),
    ],
    "measures": [("What can be measured, and what each measure misses.", "calibrant measures")],
    "play": [
        (
            "A forecaster against an adversary, and a picture of the game.",
            "calibrant play foster breaker --rounds 100000 --picture game.png",
        ),
    ],
}
"""What a command is used for, and how; tests try to read each of them."""


def commands() -> dict[str, Any]:
    """Every command by name."""
    return dict(typer.main.get_command(app).commands)


def command_page(name: str, command: Any) -> str:
    """Usage, examples, arguments and options of one command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    wanted = [one.name.upper() + ("..." if one.nargs < 0 else "") for one in arguments]
    usage = " ".join(["calibrant", name, *wanted, "[OPTIONS]"])
    lines = [f"# calibrant {name}", "", _sentence(command.help), "", "```text", usage, "```", ""]
    if name in EXAMPLES:
        lines += ["## Examples", ""]
        for words, example in EXAMPLES[name]:
            lines += [words, "", "```console", f"$ {example}", "```", ""]
    options = [one for one in command.params if one.param_type_name == "option"]
    known = kinds(command)
    if arguments:
        lines += ["## Arguments", "", "| argument | meaning |", "|---|---|"]
        lines += [f"| `{one.name.upper()}` | {_words(one.help)} |" for one in arguments]
        lines += [""]
    if options:
        lines += ["## Options", "", "| option | meaning | default |", "|---|---|---|"]
        lines += [
            f"| {_spelled(one, known.get(one.name, set()))} | {_words(one.help)}"
            f"{_choices(known.get(one.name, set()))} | {_default(one)} |"
            for one in options
        ]
        lines += [""]
    lines += ["What the command ends with: [exit codes](../gate.md#exit-codes)."]
    return "\n".join(lines)


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())


def _words(text: str | None) -> str:
    return _sentence(text).replace("|", "\\|")


def kinds(command: Any) -> dict[str, set[type]]:
    """Types that each parameter can have, as the function behind a command declares them."""
    hints = get_type_hints(command.callback)
    return {name: set(_types(hint)) for name, hint in hints.items()}


def _types(hint: Any) -> Iterator[type]:
    inner = get_args(hint)
    if not inner and isinstance(hint, type):
        yield hint
    for one in inner:
        yield from _types(one)


def _spelled(option: Any, known: set[type]) -> str:
    value = "" if option.is_flag or option.count else f" {_value(known)}"
    return ", ".join(f"`{name}{value}`" for name in option.opts)


def _value(known: set[type]) -> str:
    if any(issubclass(kind, Enum) for kind in known):
        return "CHOICE"
    return "NUMBER" if known & {int, float} and str not in known else "TEXT"


def _choices(known: set[type]) -> str:
    for kind in known:
        if issubclass(kind, Enum):
            return " One of " + ", ".join(f"`{one.value}`" for one in kind) + "."
    return ""


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    return "" if value is None or value is False else f"`{value}`"


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page of the command line."""
    found = commands()
    lines = [
        "# Command line",
        "",
        INTRODUCTION,
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`calibrant {n}`]({n}.md) | {_words(one.help)} |" for n, one in found.items()),
        "",
        CODES,
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(f"{name} <{name}>" for name in found),
        "```",
        "",
    ]
    yield "commands/index.md", "\n".join(lines)
    for name, command in found.items():
        yield f"commands/{name}.md", command_page(name, command)

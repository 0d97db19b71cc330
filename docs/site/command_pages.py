"""The reference of the command line, read from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args, get_type_hints

import typer

from calibrant.cli.examples import EXAMPLES
from calibrant.cli.main import app

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
        for example, words in EXAMPLES[name]:
            lines += [words, "", "```console", f"$ {example}", "```", ""]
    options = [one for one in command.params if one.param_type_name == "option"]
    known = kinds(command)
    if arguments:
        lines += ["## Arguments", "", "| argument | meaning |", "|---|---|"]
        lines += [f"| `{one.name.upper()}` | {_words(one.help)} |" for one in arguments]
        lines += [""]
    if options:
        lines += ["## Options", "", "```{table}", ":class: options", ""]
        lines += ["| option | meaning | default |", "|---|---|---|"]
        lines += [
            f"| {_spelled(one, known.get(one.name, set()))} | {_words(one.help)}"
            f"{_choices(known.get(one.name, set()))} | {_default(one)} |"
            for one in options
        ]
        lines += ["```", ""]
    lines += ["What the command ends with: [exit codes](../gate.md#exit-codes)."]
    return "\n".join(lines)


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())


def _words(text: str | None) -> str:
    options = re.compile(r"(?<![\w`-])--[a-z][a-z-]*")
    return options.sub(lambda option: f"`{option[0]}`", _sentence(text)).replace("|", "\\|")


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
    return ", ".join(f"`{name}`{value}" for name in option.opts)


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

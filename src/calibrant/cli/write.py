"""What a command prints and writes, checked before it begins to work."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import Any

import typer

from calibrant.errors import InvalidOptionError

STANDARD = "-"
# What runners of builds (GitHub, Azure) take for a command when it is printed.
_COMMAND = re.compile(r"^\s*:(?=:)|#(?=#(?:\[|vso\[))")


def check_files(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None], *, force: bool = True
) -> None:
    """Refuse, before any work is done, files that a command must not write.

    Parameters
    ----------
    outputs : mapping of str to str or None
        Where each option writes; `-` is standard output.
    inputs : iterable of str or None
        Files, globs and folders that are read; `-` is standard input.
    force : bool, default=True
        Whether files that are there may be replaced.
    """
    from calibrant._base.writing import check_outputs

    read = [path for path in inputs if path is not None]
    if STANDARD in read:
        _refuse_closed_input()
    printed = [option for option, path in outputs.items() if path == STANDARD]
    if len(printed) > 1:
        raise InvalidOptionError(
            f"{' and '.join(printed)} must not share standard output", hint="name a file"
        )
    written = {option: path for option, path in outputs.items() if path not in {None, STANDARD}}
    check_outputs(written, _files_of(read))
    for option, path in written.items():
        if _is_open(path, sys.stdout.fileno()):
            raise InvalidOptionError(
                f"{option} must not name the file of standard output", path, "use -"
            )
        if not force and Path(path).is_file():
            raise InvalidOptionError(
                f"{option} must not name a file that is there", path, "--force replaces it"
            )


def write_text(text: str, path: str) -> None:
    """Write to a file, or to standard output for `-`."""
    from calibrant._base.writing import write_whole

    if path == STANDARD:
        typer.echo(text.rstrip("\n"))
        return
    write_whole(path, text if text.endswith("\n") else text + "\n")


def print_written(files: Mapping[str, str | None]) -> None:
    """Name every file that a command wrote, by what it holds."""
    for what, path in files.items():
        if path not in {None, STANDARD}:
            print_line(f"{what}: {path}")


def print_line(*pieces: str | tuple[str, Mapping[str, Any]]) -> None:
    """Print one line on standard output; what came with the data cannot act on the terminal.

    Pieces of a line may have a look, as `typer.style` takes it. A terminal gets thin spaces.
    """
    from calibrant._base.words import typeset

    written = []
    for piece in pieces:
        text, look = (piece, {}) if isinstance(piece, str) else piece
        shown = harmless(text)
        shown = typeset(shown) if is_terminal() else shown
        written.append(typer.style(shown, **look) if look and shown.strip() else shown)
    typer.echo("".join(written))


def print_text(text: str) -> None:
    """Print text of several lines, none of which the data may have begun (`words.page`)."""
    for line in text.split("\n"):
        print_line(line)


def is_terminal() -> bool:
    """Whether a person looks at standard output, on a screen that knows all characters."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    return encoding == "utf8" and sys.stdout.isatty()


def complain(text: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"calibrant: {harmless(text)}", err=True)


def harmless(line: str) -> str:
    """Show line breaks, control characters and the marks of a runner's commands as escapes."""
    from calibrant._base.words import visible

    return _COMMAND.sub(_escaped_mark, visible(line))


def _escaped_mark(found: re.Match[str]) -> str:
    return found.group().translate({ord(":"): "\\x3a", ord("#"): "\\x23"})


def _files_of(inputs: Iterable[str]) -> Iterator[str | Path]:
    """All files behind names, globs and folders; standard input is the file it comes from."""
    for name in inputs:
        if name == STANDARD:
            yield f"/dev/fd/{sys.stdin.fileno()}"
        elif Path(name).is_dir():
            yield from Path(name).rglob("*.parquet")
        else:
            yield name
            yield from glob(name, recursive=True)  # noqa: PTH207  # may be absolute


def _refuse_closed_input() -> None:
    try:
        os.read(sys.stdin.fileno(), 0)
    except OSError as error:
        raise InvalidOptionError(
            "- must have something to read on standard input", error.strerror or "a closed one"
        ) from error


def _is_open(path: str, stream: int) -> bool:
    """Whether a path and an open stream are one file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(stream)) and Path(path).is_file()  # noqa: PTH116
    except OSError:
        return False

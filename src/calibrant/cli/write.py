"""Writing what a command found: the whole file, or the old one stays."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from calibrant.errors import InvalidOptionError


def write_text(text: str, path: str, option: str) -> None:
    """Write to a file, or to standard output for `-`."""
    from calibrant.report.write import write_whole

    if path == "-":
        typer.echo(text.rstrip("\n"))
        return
    try:
        write_whole(path, text if text.endswith("\n") else text + "\n")
    except OSError as error:
        raise InvalidOptionError(
            f"{option} must name a file that can be written", str(error)
        ) from error


def refuse_to_overwrite(files: dict[str, str | None], *, force: bool) -> None:
    """Refuse files that are there already, by the option that names them, unless forced."""
    for option, path in files.items():
        if path not in {None, "-"} and Path(str(path)).exists() and not force:
            raise InvalidOptionError(
                f"{option} must not name a file that is there", str(path), "--force replaces it"
            )


@contextmanager
def drafted(path: str, option: str) -> Iterator[str]:
    """Give the name of a file beside its place, which is moved there when it is complete."""
    target = Path(path)
    try:
        folder = tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InvalidOptionError(
            f"{option} must name a file that can be written", str(error)
        ) from error
    with folder as name:
        draft = Path(name) / target.name
        yield str(draft)
        draft.replace(target)

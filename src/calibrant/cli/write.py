"""Writing what a command found: the whole file, or the old one stays."""

from __future__ import annotations

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

"""`calibrant show-versions` and `calibrant completion SHELL`: about the command itself."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

PROGRAM = "calibrant"
# The variable by which a shell asks for words, as typer names it.
COMPLETE = "_CALIBRANT_COMPLETE"


class Shell(StrEnum):
    """Shells that complete words."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def show_versions() -> None:
    """Print the versions that a report of a problem should name."""
    from calibrant._base.versions import versions
    from calibrant.cli.write import print_line

    found = versions()
    width = max(map(len, found))
    for name, version in found.items():
        print_line(f"{name:<{width}}  {version}")


def completion(
    shell: Annotated[Shell, typer.Argument(help="Your shell.")],
) -> None:
    """Print a script that lets a shell complete commands and options; load it when it starts."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETE, shell=shell.value)
    typer.echo(script)


def complete(app: typer.Typer) -> None:
    """Answer a shell that asks which words may come next."""
    from typer._completion_classes import completion_init

    completion_init()
    typer.main.get_command(app).main(args=[], prog_name=PROGRAM, complete_var=COMPLETE)

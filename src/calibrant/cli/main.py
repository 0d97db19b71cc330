"""The `calibrant` command."""

from __future__ import annotations

import sys

import typer

from calibrant.cli.apply import apply
from calibrant.cli.audit import audit
from calibrant.cli.check import check
from calibrant.cli.demo import demo
from calibrant.cli.measures import measures
from calibrant.cli.play import play
from calibrant.cli.repair import repair
from calibrant.cli.watch import watch
from calibrant.errors import CalibrantError

WRONG_INPUT = 2

app = typer.Typer(
    name="calibrant",
    help="How far can predicted probabilities be trusted?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(audit)
app.command()(check)
app.command()(watch)
app.command()(repair)
app.command()(apply)
app.command()(measures)
app.command()(play)


def main() -> None:
    """Run the command line; wrong input ends with one message on stderr and exit code 2."""
    try:
        app()
    except CalibrantError as error:
        print(f"calibrant: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(WRONG_INPUT)

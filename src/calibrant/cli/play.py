"""`calibrant play`: a forecaster against a nature."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from calibrant.errors import InvalidOptionError
from calibrant.joint.files import read_columns
from calibrant.online import FORECASTERS, NATURES, Game, Nature, Replay
from calibrant.online import play as play_game
from calibrant.online.players import choose


def play(
    forecaster: Annotated[
        str, typer.Argument(help=f"One of {', '.join(FORECASTERS)}.")
    ] = "defensive",
    nature: Annotated[
        str, typer.Argument(help=f"One of {', '.join(NATURES)}, or a file of outcomes.")
    ] = "breaker",
    rounds: Annotated[int | None, typer.Option(help="Number of rounds.")] = None,
    outcome: Annotated[str, typer.Option(help="Column of outcomes in the file.")] = "outcome",
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the errors over time into this file.")
    ] = None,
) -> None:
    """Let an online forecaster play against a nature, and show every calibration error."""
    make = choose(forecaster, FORECASTERS, "forecaster")
    opponent, length = _opponent(nature, outcome, rounds)
    if picture is not None and not picture.parent.is_dir():
        raise InvalidOptionError("--picture must lie in a folder that exists", str(picture))
    if length < 1:
        raise InvalidOptionError("--rounds must be at least 1", str(length))
    with _bar() as bar:
        task = bar.add_task("playing", total=length)
        game = play_game(
            make(length), opponent, length, seed, progress=lambda done: bar.advance(task, done)
        )
    typer.echo(f"{game}\n")
    Console().print(_table(game))
    if picture is not None:
        _draw(game, picture)
        typer.echo(f"\nThe errors over time are drawn in {picture}")


def _opponent(nature: str, outcome: str, rounds: int | None) -> tuple[Nature, int]:
    """Nature by its name, or a replay of the outcomes in a file; and the number of rounds."""
    if nature in NATURES or not Path(nature).exists():
        made = choose(nature, NATURES, "nature (or a file of outcomes)")()
        return made, 10_000 if rounds is None else rounds
    recorded = read_columns([nature], [outcome])[outcome]
    return Replay(recorded), recorded.size if rounds is None else rounds


def _bar() -> Progress:
    """Show a bar on a terminal; say nothing in a pipe."""
    console = Console(stderr=True)
    columns = ("playing", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())


def _table(game: Game) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    for heading in ("T x measure", "per round"):
        table.add_column(heading, justify="right")
    for name, error in game.errors().items():
        table.add_row(name.replace("_", " "), f"{error:.2f}", f"{error / game.rounds:.5f}")
    low, high = game.distance()
    shown = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
    table.add_row("true distance to calibration", shown, f"{high / game.rounds:.5f}")
    promise = game.forecaster.guarantee
    if promise is not None:
        bound = game.forecaster.bound(game.rounds)
        about = f"promise for the {promise.measure.replace('_', ' ')}"
        table.add_row(about, f"{bound:.2f}", f"{bound / game.rounds:.5f}")
    return table


def _draw(game: Game, picture: Path) -> None:
    from calibrant.plots.style import detached_figure, drawing

    with drawing():
        display = game.plot(detached_figure(7.2, 4.8).add_subplot())
    try:
        display.figure_.savefig(picture, dpi=120)
    except ValueError as error:
        raise InvalidOptionError("--picture must be a file of a known kind", str(error)) from error

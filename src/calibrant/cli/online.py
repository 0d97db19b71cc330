"""`calibrant online`: a forecaster against a nature."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.progress import counted
from calibrant.cli.write import check_files, print_line, print_text
from calibrant.errors import InvalidForecastsError, InvalidOptionError

if TYPE_CHECKING:
    from rich.table import Table

    from calibrant.online import Game, Nature

ROUNDS = 10_000


def online(
    forecaster: Annotated[
        str, typer.Argument(help="defensive, foster, decision, ...; any other word lists them all.")
    ] = "defensive",
    nature: Annotated[
        str,
        typer.Argument(help="breaker, coins, drift, ...; or a file of outcomes, in their order."),
    ] = "breaker",
    rounds: Annotated[
        int | None, typer.Option(help=f"Number of rounds; {ROUNDS}, or as many as in the file.")
    ] = None,
    outcome: Annotated[str, typer.Option(help="Column of outcomes in the file.")] = "outcome",
    seed: Annotated[int, typer.Option(help="Seed of all coins.")] = 0,
    picture: Annotated[
        str | None, typer.Option(help="Draw the errors over time into this file.")
    ] = None,
) -> None:
    """Let an online forecaster play against a nature, and show every calibration error."""
    from rich.console import Console

    from calibrant.online import FORECASTERS, choose, simulate

    check_files({"--picture": picture}, [nature])
    make = choose(forecaster, FORECASTERS, "forecaster")
    opponent, length = _opponent(nature, outcome, rounds)
    kind = None if picture is None else _kind(picture)
    if length < 1:
        raise InvalidOptionError("--rounds must be at least 1", str(length))
    with counted(length, "rounds") as advance:
        game = simulate(make(length), opponent, length, seed, progress=advance)
    print_text(f"{game}\n")
    Console().print(_table(game))
    print_text(f"\n{_unavoidable(length)}")
    if picture is not None and kind is not None:
        _draw(game, picture, kind)
        print_line("")
        print_line(f"The errors over time are drawn in {picture}")


def _opponent(nature: str, outcome: str, rounds: int | None) -> tuple[Nature, int]:
    """Nature by its name, or a replay of the outcomes in a file; and the number of rounds."""
    from calibrant.data.files import read_columns
    from calibrant.data.tables import Part
    from calibrant.online import NATURES, Replay, choose

    if nature in NATURES or not Path(nature).exists():
        made = choose(nature, NATURES, "nature (or a file of outcomes)")()
        return made, ROUNDS if rounds is None else rounds
    recorded = read_columns(nature, {outcome: Part.OUTCOME})[0][outcome]
    if not recorded.size:
        raise InvalidForecastsError("there must be at least one row", f"none in {nature}")
    return Replay(recorded), recorded.size if rounds is None else rounds


def _table(game: Game) -> Table:
    from rich.table import Table

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
        # A measure is at most 1, so a bound of T or more says nothing.
        informative = bound < game.rounds
        numbers = (
            (f"{bound:.2f}", f"{bound / game.rounds:.5f}") if informative else ("none yet", "")
        )
        table.add_row(about, *numbers)
    return table


def _unavoidable(rounds: int) -> str:
    """Say what every forecaster must expect."""
    from calibrant.online import least_error

    loss = least_error("calibration_decision_loss", rounds)
    error = least_error("exact_calibration_error", rounds)
    return (
        "On fair independent outcomes no forecaster can expect a T x calibration decision loss "
        f"below {loss:.2f}, nor a T x exact calibration error below {error:.2f}."
    )


def _kind(picture: str) -> str:
    """Kind of a picture by the end of its name."""
    from calibrant.plots import picture_kinds

    kind = Path(picture).suffix[1:].lower() or "png"
    known = picture_kinds()
    if kind not in known:
        raise InvalidOptionError(
            f"--picture must be a file of a known kind: {', '.join(known)}", picture
        )
    return kind


def _draw(game: Game, picture: str, kind: str) -> None:
    from calibrant._base.writing import drafted
    from calibrant.plots import detached_figure, drawing

    with drawing(), drafted(picture) as draft:
        display = game.plot(detached_figure(7.2, 4.8).add_subplot())
        display.figure_.savefig(draft, dpi=120, format=kind)

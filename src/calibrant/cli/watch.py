"""`calibrant watch FILE... --time t`: an alarm when a log of forecasts goes wrong."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from calibrant.cli.options import (
    FilesArgument,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, say, write_text
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.exit_codes import ExitCode


def watch(
    files: FilesArgument,
    time: Annotated[str, typer.Option(help="Column of the times at which outcomes were due.")],
    window: Annotated[
        str | None, typer.Option(help="Length of a window, like 7d, 12h, or 100 for numbers.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Columns of groups, each with a monitor; commas, or repeated."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Leave out rows that are due after this time.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Error that is worth no alarm; 0.02 or a tenth of p if not given."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Bound on the chance of ever a false alarm.")] = 0.05,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the result as JSON, or - for stdout.")
    ] = None,
) -> None:
    """Watch a log of forecasts: exit code 0 for no alarm, 1 for an alarm."""
    from calibrant.data.files import read_columns
    from calibrant.data.labels import Labels
    from calibrant.data.paths import settled
    from calibrant.data.times import read_dates
    from calibrant.inputs.source import Roles, prepare, reading_notes
    from calibrant.monitoring.watch import watch as watch_rows

    check_files({"--json": json_path}, files)
    groups = names_of(by, "--by") or []
    roles = Roles(prediction, outcome, by=groups, time=time)
    labels = Labels.of(pos_label, neg_label, na_label)
    with progress(2) as tell, settled(files) as found:
        tell("reading")
        columns, told = read_columns(found, roles.parts(), labels)
        columns[time] = read_dates(columns[time])
        if until is not None:
            columns = _until(columns, time, until)
        forecasts = prepare(
            columns,
            prediction,
            outcome,
            percent=scale is Scale.PERCENT,
            drop_missing=na is Missing.DROP,
        )
        tell("watching")
        result = watch_rows(
            forecasts.outcome,
            forecasts.prediction,
            forecasts.columns[time],
            by=_groups(forecasts.columns, groups),
            window=window,
            tolerance=tolerance,
            alpha=alpha,
        )
    if json_path is not None:
        how = {"dropped": forecasts.dropped, "notes": reading_notes(found, told)}
        write_text(json.dumps(result.as_dict() | how, allow_nan=False), json_path)
    if json_path != "-":
        say(str(result))
        for note in reading_notes(found, told, forecasts.dropped):
            say(f"note: {note}")
    if result.alarm:
        raise typer.Exit(ExitCode.FAILED)


def _until(columns: dict[str, Any], time: str, until: str) -> dict[str, Any]:
    """Leave out rows whose outcome was not due by a time, whether it is known or not."""
    moments = columns[time]
    try:
        last: Any = np.datetime64(until) if moments.dtype.kind == "M" else float(until)
    except ValueError as error:
        raise InvalidOptionError(
            "--until must be a time like those of the column", until
        ) from error
    late = ~np.ma.getmaskarray(moments) & (np.ma.getdata(moments) > last)
    if late.all():
        raise InvalidForecastsError("there must be at least one row", f"none due until {until}")
    return {name: values[~late] for name, values in columns.items()}


def _groups(columns: dict[str, Any], by: list[str]) -> npt.NDArray[Any] | None:
    for name in by:
        missing = int(np.ma.getmaskarray(columns[name]).sum())
        if missing:
            raise InvalidForecastsError(
                f"column {name!r} must not hold missing values",
                f"{missing} rows",
                "--na drop leaves them out",
            )
    if len(by) < 2:
        return np.asarray(columns[by[0]]) if by else None
    labels = zip(*(columns[name].tolist() for name in by), strict=True)
    return np.array([" & ".join(map(str, label)) for label in labels], dtype=object)

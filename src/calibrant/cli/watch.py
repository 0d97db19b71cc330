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
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
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
    by: Annotated[str | None, typer.Option(help="Column of groups, each with a monitor.")] = None,
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
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the result as JSON, or - for stdout.")
    ] = None,
) -> None:
    """Watch a log of forecasts: exit code 0 for no alarm, 1 for an alarm."""
    from calibrant.joint.files import read_columns
    from calibrant.report.source import prepare
    from calibrant.report.watch import watch as watch_rows
    from calibrant.report.windows import read_dates

    check_files({"--json": json_path}, files)
    names = dict.fromkeys([prediction, outcome, time, *([by] if by else [])])
    with progress(2) as tell:
        tell("reading")
        columns = read_columns(files, list(names))
        columns[time] = read_dates(columns[time])
        if until is not None:
            columns = _until(columns, time, until)
        forecasts = prepare(
            columns,
            prediction,
            outcome,
            pos_label,
            percent=scale is Scale.PERCENT,
            drop_missing=na is Missing.DROP,
        )
        tell("watching")
        result = watch_rows(
            forecasts.outcome,
            forecasts.prediction,
            forecasts.columns[time],
            pos_label=forecasts.pos_label,
            by=_groups(forecasts.columns, by),
            window=window,
            tolerance=tolerance,
            alpha=alpha,
        )
    if json_path is not None:
        text = json.dumps(result.as_dict() | {"dropped": forecasts.dropped}, allow_nan=False)
        write_text(text, json_path)
    if json_path != "-":
        say(str(result))
        if forecasts.dropped:
            say(f"note: {forecasts.dropped} rows with a missing value were dropped")
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


def _groups(columns: dict[str, Any], by: str | None) -> npt.NDArray[Any] | None:
    if by is None:
        return None
    missing = int(np.ma.getmaskarray(columns[by]).sum())
    if missing:
        raise InvalidForecastsError(
            f"column {by!r} must not hold missing values",
            f"{missing} rows",
            "--na drop leaves them out",
        )
    return np.asarray(columns[by])

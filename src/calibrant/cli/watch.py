"""`calibrant watch FILE... --time t`: an alarm when a log of forecasts goes wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from calibrant.cli.options import (
    ClassesOption,
    ClusterOption,
    FilesArgument,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OfACluster,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, say, write_text
from calibrant.data.groupings import AND
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
    cluster: ClusterOption = None,
    cluster_forecast: Annotated[
        OfACluster | None,
        typer.Option(help="Forecast that a cluster enters with, once; last if not given."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Leave out rows that are due after this time.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Error that is worth no alarm; 0.02 or a tenth of p if not given."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Lifetime false-alarm probability.")] = 0.05,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    classes: ClassesOption = None,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the result as JSON, or - for stdout.")
    ] = None,
) -> None:
    """Watch a log of forecasts: exit code 0 for no alarm, 1 for an alarm.

    Of classes, the confidence in the most likely one is watched, and whether it was right.
    """
    from calibrant.data.labels import Labels
    from calibrant.inputs import Roles, read
    from calibrant.monitoring import watch as watch_rows

    check_files({"--json": json_path}, files)
    if cluster_forecast is not None and cluster is None:
        raise InvalidOptionError("--cluster-forecast needs --cluster", cluster_forecast.value)
    groups = names_of(by, "--by") or []
    named = names_of(classes, "--classes")
    roles = Roles(
        prediction,
        outcome,
        clusters=cluster,
        by=groups,
        time=time,
        classes=named,
        until=until,
        all_grouped=True,
    )
    with progress(2) as tell:
        tell("reading")
        source = read(
            files,
            None,
            roles,
            labels=Labels.of(pos_label, neg_label, na_label),
            percent=scale is Scale.PERCENT,
            drop_missing=na is Missing.DROP,
        )
        tell("watching")
        rows, times = source.rows, source.times
        assert rows is not None and times is not None  # noqa: PT018, S101  # times need rows
        result = watch_rows(
            rows.outcome,
            rows.prediction,
            times,
            by=_groups(source.by),
            window=window,
            tolerance=tolerance,
            alpha=alpha,
            clusters=source.clusters,
            cluster_forecast=(cluster_forecast or OfACluster.LAST).value,
        )
    if json_path is not None:
        how = {"dropped": source.dropped, "notes": list(source.notes)}
        write_text(json.dumps(result.as_dict() | how, allow_nan=False), json_path)
    if json_path != "-":
        say(str(result))
        for note in source.all_notes:
            say(f"note: {note}")
    if result.alarm:
        raise typer.Exit(ExitCode.FAILED)


def _groups(columns: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    """Name the group of each row, by one column or several."""
    for name, values in columns.items():
        missing = int(np.ma.getmaskarray(values).sum())
        if missing:
            raise InvalidForecastsError(
                f"column {name!r} must not hold missing values",
                f"{missing} rows",
                "--na drop leaves them out",
            )
    if len(columns) < 2:
        return next((np.asarray(values) for values in columns.values()), None)
    labels = zip(*(values.tolist() for values in columns.values()), strict=True)
    return np.array([AND.join(map(_part, label)) for label in labels], dtype=object)


def _part(value: object) -> str:
    """Name one part of a group; quoted where the whole could be read as other parts."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if AND in text or text.startswith('"') else text

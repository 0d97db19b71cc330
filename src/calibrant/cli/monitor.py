"""`calibrant monitor FILE... --time t`: an alarm when a log of forecasts goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from calibrant._base.exit_codes import ExitCode
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
    PredictionScale,
    ScaleOption,
    in_percent,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, print_line, print_text, print_written, write_text
from calibrant.data.groupings import AND
from calibrant.errors import InvalidForecastsError, InvalidOptionError

if TYPE_CHECKING:
    from calibrant.inputs import Source
    from calibrant.monitoring import MonitorRun, MonitorState


def monitor(
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
        str | None,
        typer.Option(
            help="Error that is worth no alarm: 0.01, or 5% of the smaller of p and 1 - p; "
            "0.02, or 10% if that is less, if not given."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Lifetime false-alarm probability.")] = 0.05,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    classes: ClassesOption = None,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = PredictionScale.UNIT,
    na: MissingOption = Missing.REFUSE,
    state: Annotated[
        str | None,
        typer.Option(help="File that carries the log on from run to run; it is made if missing."),
    ] = None,
    html: Annotated[str | None, typer.Option(help="File for a page with pictures.")] = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the result as JSON, or - for stdout.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the forecasts are about.")] = None,
    full: Annotated[  # noqa: FBT002
        bool, typer.Option("--full", help="Print the windows of all groups.")
    ] = False,
) -> ExitCode:
    """Watch a log of forecasts: exit code 0 for no alarm, 1 for an alarm.

    Of classes, the confidence in the most likely one is watched, and whether it was right.
    """
    from calibrant.data.labels import Labels
    from calibrant.inputs import Roles, read
    from calibrant.monitoring import log_text

    check_files({"--json": json_path, "--html": html, "--state": state}, files)
    if state is not None:
        _refuse_with_state(state, cluster)
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
    labels = Labels.of(pos_label, neg_label, na_label)
    with (
        progress(["reading", "watching", *(["pictures"] if html else [])]) as report_stage,
        _locked_state(state),
    ):
        report_stage("reading")
        source = read(
            files,
            None,
            roles,
            labels=labels,
            percent=in_percent(scale),
            drop_missing=na is Missing.DROP,
            title=title,
        )
        report_stage("watching")
        described = {
            "prediction": prediction if named is None else None,
            "outcome": outcome,
            "time": time,
            "by": groups,
            "classes": named,
            "pos_label": pos_label,
            "neg_label": neg_label,
            "na_label": na_label,
            "scale": scale.value,
            "tolerance": tolerance,
            "alpha": alpha,
            "window": window,
        }
        options = {
            "window": window,
            "tolerance": tolerance,
            "alpha": alpha,
            "cluster_forecast": (cluster_forecast or OfACluster.LAST).value,
        }
        result, after = _watched(source, state, described, options)
        notes = [*source.all_notes, *_state_notes(result, state)]
        if html is not None:
            from calibrant.report import render_monitor

            report_stage("pictures")
            write_text(render_monitor(result, source.title, notes), html)
        if json_path is not None:
            how = {"dropped": source.dropped, "notes": list(source.notes)}
            write_text(json.dumps(result.as_dict() | how, allow_nan=False), json_path)
        if state is not None:
            write_text(after.to_json(), state)
    if json_path != "-":
        print_text(log_text(result, full=full))
        for note in notes:
            print_line(f"note: {note}")
        print_written({"report": html, "JSON": json_path, "state": state})
    return ExitCode.FAILED if result.alarm else ExitCode.PASSED


def _refuse_with_state(state: str, cluster: str | None) -> None:
    """Refuse what cannot be carried on."""
    if state == "-":
        raise InvalidOptionError("--state must name a file", "standard output")
    if cluster is not None:
        raise InvalidOptionError(
            "--state cannot be used with --cluster",
            cluster,
            "rows of a cluster may be in several runs: announce events to a CalibrationMonitor "
            "with expect",
        )


@contextmanager
def _locked_state(state: str | None) -> Iterator[None]:
    """Hold the file of the state, if there is one, so that nobody else writes it meanwhile."""
    if state is None:
        yield
        return
    from calibrant._base.writing import locked

    with locked(state, "--state"):
        yield


def _watched(
    source: Source, state: str | None, described: dict[str, Any], options: dict[str, Any]
) -> tuple[MonitorRun, MonitorState]:
    """Watch rows, perhaps after those of earlier runs."""
    from pathlib import Path

    from calibrant._base.stored import load_text
    from calibrant.monitoring import MonitorState, continue_monitor, run_monitor

    rows, times = source.rows, source.times
    assert rows is not None and times is not None  # noqa: PT018, S101  # times need rows
    arguments = (rows.outcome, rows.prediction, times)
    by = _groups(source.by)
    log = MonitorState(described)
    if state is None:
        return run_monitor(*arguments, by=by, clusters=source.clusters, **options), log
    if options["window"] is None and times.dtype.kind != "M":
        raise InvalidOptionError("--state needs --window where times are numbers")
    if Path(state).exists():
        log = MonitorState.from_json(load_text(state, "the file of --state"))
        log.require(described)
    return continue_monitor(log, *arguments, by=by, zoned=source.zoned, **options)


def _state_notes(result: MonitorRun, state: str | None) -> Iterator[str]:
    from calibrant._base.words import count_text

    if state is None or result.new_rows is None:
        return
    known = result.rows - result.new_rows
    if not result.new_rows:
        yield f"no new rows: all of them were watched before ({state})"
    elif known:
        new = count_text(result.new_rows, "new row")
        yield f"{new} after {count_text(known, 'row')} of {state}"
    else:
        yield f"{state} begins with these rows"


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

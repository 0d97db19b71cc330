"""`calibrant audit FILE...`: how far the forecasts in files can be trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.options import (
    ByOption,
    ClusterOption,
    ConfidenceOption,
    FilesArgument,
    Missing,
    MissingOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    SeedOption,
    ToleranceOption,
    WeightOption,
    names_of,
)
from calibrant.cli.write import write_text

if TYPE_CHECKING:
    from calibrant.report.source import Source


def audit(
    files: FilesArgument,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    by: ByOption = None,
    pairs: Annotated[  # noqa: FBT002
        bool, typer.Option("--pairs", help="Judge pairs of the columns of --by as well.")
    ] = False,
    find_segments: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--find-segments", help="Look for the worst combinations of the columns of --by."
        ),
    ] = False,
    cluster: ClusterOption = None,
    tolerance: ToleranceOption = None,
    confidence: ConfidenceOption = 0.95,
    time: Annotated[str | None, typer.Option(help="Column of times, for windows.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Your decision: a TOML, JSON or CSV file of payoffs.")
    ] = None,
    html: Annotated[str | None, typer.Option(help="File for the report as HTML.")] = None,
    json: Annotated[str | None, typer.Option(help="File for JSON, or - for stdout.")] = None,
    markdown: Annotated[
        str | None, typer.Option(help="File for a Markdown summary, or - for stdout.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the forecasts are about.")] = None,
    pos_label: PosLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
) -> None:
    """Tell how far the forecasts in a file can be trusted."""
    from calibrant.decisions import DecisionTask
    from calibrant.report.audit import DRAWS, audit_source
    from calibrant.report.source import Roles, read

    source = read(
        files,
        None,
        Roles(prediction, outcome, weight, cluster, names_of(by), time, pairs),
        pos_label=pos_label,
        percent=scale is Scale.PERCENT,
        drop_missing=na is Missing.DROP,
        title=title,
    )
    if task is not None:
        source = replace(source, task=DecisionTask.from_file(task))
    result = audit_source(source, tolerance, confidence, DRAWS, seed)
    segments = _segments(source, confidence, seed) if find_segments else ""
    if html is not None:
        write_text(result.to_html(), html, "--html")
    if json is not None:
        write_text(result.to_json(), json, "--json")
    if markdown is not None:
        write_text(result.to_markdown(), markdown, "--markdown")
    if "-" not in {json, markdown}:
        typer.echo(str(result))
        if segments:
            typer.echo(f"\n{segments}")
        if html is not None:
            typer.echo(f"\nreport: {html}")


def _segments(source: Source, confidence: float, seed: int) -> str:
    """Say which combinations of columns are worst, by rows that did not choose them."""
    import numpy as np

    from calibrant.errors import InvalidOptionError
    from calibrant.groups.segments import DEPTH, SEGMENTS, WIDTH, search_segments

    if source.groups is None:
        raise InvalidOptionError("--find-segments needs columns", "none", "name them with --by")
    found = search_segments(
        source.groups.rows,
        source.groups.parts,
        DEPTH,
        WIDTH,
        SEGMENTS,
        1 - confidence,
        np.random.default_rng(seed),
    )
    lines = [
        f"  {segment.sentence}{'' if segment.confirmed else ': may be chance'}" for segment in found
    ]
    return "\n".join(["Segments found on one half of the rows and judged on the other:", *lines])

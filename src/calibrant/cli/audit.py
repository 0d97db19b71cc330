"""`calibrant audit FILE...`: how far the forecasts in files can be trusted."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant import report
from calibrant.cli.options import (
    FilesArgument,
    Missing,
    MissingOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    prepare,
)
from calibrant.joint.files import read_columns


def audit(
    files: FilesArgument,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    pos_label: PosLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: Annotated[int, typer.Option(help="Seed of the redraws.")] = 0,
) -> None:
    """Tell how far the forecasts in a file can be trusted."""
    names = [prediction, outcome] + ([weight] if weight else [])
    forecasts = prepare(read_columns(files, names), prediction, outcome, pos_label, scale, na)
    result = report.audit(
        forecasts.outcome,
        forecasts.prediction,
        sample_weight=forecasts.columns[weight] if weight else None,
        pos_label=forecasts.pos_label,
        rng=seed,
    )
    typer.echo(str(result))
    if forecasts.note:
        typer.echo(forecasts.note)

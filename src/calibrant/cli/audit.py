"""`calibrant audit FILE...`: how far the forecasts in files can be trusted."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import numpy as np
import typer

from calibrant import report
from calibrant.errors import InvalidForecastsError
from calibrant.joint.files import read_columns, without_missing


class Scale(StrEnum):
    """Units of the predictions."""

    UNIT = "unit"
    PERCENT = "percent"


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    REFUSE = "refuse"
    DROP = "drop"


def audit(
    files: Annotated[
        list[str],
        typer.Argument(help="CSV, Parquet or JSON lines files, globs, or - for CSV on stdin."),
    ],
    prediction: Annotated[str, typer.Option(help="Column of predictions.")] = "prediction",
    outcome: Annotated[str, typer.Option(help="Column of outcomes.")] = "outcome",
    weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column that names rows which depend on each other.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Smooth error that is small enough.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the verdict.")] = 0.95,
    pos_label: Annotated[str | None, typer.Option(help="Label that counts as outcome 1.")] = None,
    scale: Annotated[Scale, typer.Option(help="Units of the predictions.")] = Scale.UNIT,
    na: Annotated[Missing, typer.Option(help="Rows with a missing value.")] = Missing.REFUSE,
    seed: Annotated[int, typer.Option(help="Seed of the redraws.")] = 0,
) -> None:
    """Tell how far the forecasts in a file can be trusted."""
    names = [prediction, outcome, *filter(None, (weight, cluster))]
    columns = read_columns(files, names)
    dropped = 0
    if na is Missing.DROP:
        columns, dropped = without_missing(columns)
        if not columns[outcome].size:
            raise InvalidForecastsError("there must be at least one row without missing values")
    probabilities = columns[prediction]
    if scale is Scale.PERCENT:
        probabilities = np.asarray(probabilities, dtype=float) / 100
    result = report.audit(
        columns[outcome],
        probabilities,
        sample_weight=columns[weight] if weight else None,
        pos_label=_label(pos_label, columns[outcome]),
        tolerance=tolerance,
        confidence=confidence,
        clusters=columns[cluster] if cluster else None,
        rng=seed,
    )
    typer.echo(str(result))
    if dropped:
        typer.echo(f"note: {dropped} rows with a missing value were dropped")


def _label(text: str | None, labels: np.ndarray) -> object:
    """Turn the text of an option into the type of the labels."""
    if text is None or labels.dtype.kind in "OUS":
        return text
    try:
        return labels.dtype.type(text)
    except ValueError as error:
        raise InvalidForecastsError(
            "--pos-label must be one of the labels", f"{text!r} for labels of type {labels.dtype}"
        ) from error

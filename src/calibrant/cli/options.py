"""Options that several commands share, and what they do to the columns of a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from calibrant.errors import InvalidForecastsError
from calibrant.joint.files import without_missing

Columns = dict[str, npt.NDArray[Any]]


class Scale(StrEnum):
    """Units of the predictions."""

    UNIT = "unit"
    PERCENT = "percent"


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    REFUSE = "refuse"
    DROP = "drop"


FilesArgument = Annotated[
    list[str],
    typer.Argument(help="CSV, Parquet or JSON lines files, globs, or - for CSV on stdin."),
]
PredictionOption = Annotated[str, typer.Option(help="Column of predictions.")]
OutcomeOption = Annotated[str, typer.Option(help="Column of outcomes.")]
PosLabelOption = Annotated[str | None, typer.Option(help="Label that counts as outcome 1.")]
ScaleOption = Annotated[Scale, typer.Option(help="Units of the predictions.")]
MissingOption = Annotated[Missing, typer.Option(help="Rows with a missing value.")]


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Columns as the options want them."""

    prediction: npt.NDArray[Any]
    outcome: npt.NDArray[Any]
    pos_label: object
    columns: Columns
    """All columns, without the rows that were dropped."""
    dropped: int

    @property
    def note(self) -> str:
        """Say how many rows were dropped; empty if none."""
        return (
            f"note: {self.dropped} rows with a missing value were dropped" if self.dropped else ""
        )


def prepare(
    columns: Columns,
    prediction: str,
    outcome: str,
    pos_label: str | None,
    scale: Scale,
    na: Missing,
) -> Forecasts:
    """Drop rows with missing values, rescale, and give the label the type of the outcomes."""
    dropped = 0
    if na is Missing.DROP:
        columns, dropped = without_missing(columns)
        if not columns[outcome].size:
            raise InvalidForecastsError("there must be at least one row without missing values")
    probabilities = columns[prediction]
    if scale is Scale.PERCENT:
        probabilities = np.asarray(probabilities, dtype=float) / 100
    label = _label(pos_label, columns[outcome])
    return Forecasts(probabilities, columns[outcome], label, columns, dropped)


def _label(text: str | None, labels: npt.NDArray[Any]) -> object:
    """Turn the text of an option into the type of the labels."""
    if text is None or labels.dtype.kind in "OUS":
        return text
    try:
        return labels.dtype.type(text)
    except ValueError as error:
        raise InvalidForecastsError(
            "--pos-label must be one of the labels", f"{text!r} for labels of type {labels.dtype}"
        ) from error

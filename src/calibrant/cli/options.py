"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import typer

from calibrant.errors import InvalidOptionError


class PredictionScale(StrEnum):
    """Units of the predictions."""

    UNIT = "unit"
    PERCENT = "percent"
    LOGIT = "logit"
    MIXED = "mixed"
    """Of logs of language models: bare numbers are per cent where they exceed 1."""


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    REFUSE = "refuse"
    DROP = "drop"


class OfACluster(StrEnum):
    """Which forecast a cluster of rows enters a monitor with."""

    LAST = "last"
    FIRST = "first"
    MEAN = "mean"
    DRAWN = "drawn"


FilesArgument = Annotated[
    list[str],
    typer.Argument(help="CSV, Parquet or JSON lines files, globs, or - for CSV on stdin."),
]
PredictionOption = Annotated[str, typer.Option(help="Column of predictions.")]
OutcomeOption = Annotated[str, typer.Option(help="Column of outcomes.")]
PosLabelOption = Annotated[str | None, typer.Option(help="Label that counts as outcome 1.")]
NegLabelOption = Annotated[
    list[str] | None,
    typer.Option(help="Label that counts as outcome 0, where there are more; may be repeated."),
]
NaLabelOption = Annotated[
    list[str] | None,
    typer.Option(help="Label of outcomes that are missing, for --na drop; may be repeated."),
]
ScaleOption = Annotated[
    PredictionScale,
    typer.Option(
        help="Units of the predictions; logit: log-odds; mixed is for logs of language models, "
        "whose bare numbers are then per cent where they exceed 1."
    ),
]
MissingOption = Annotated[Missing, typer.Option(help="Rows with a missing value.")]
WeightOption = Annotated[str | None, typer.Option(help="Column of weights.")]
CountOption = Annotated[
    str | None, typer.Option(help="Column of counts: each line stands for so many rows.")
]
PositivesOption = Annotated[
    str | None, typer.Option(help="Column of how many of them had outcome 1.")
]
PredictionSumOption = Annotated[
    str | None,
    typer.Option(
        "--prediction-sum", help="Column of the sum of their predictions, instead of --prediction."
    ),
]
ClusterOption = Annotated[
    str | None, typer.Option(help="Column that names rows which depend on each other.")
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(help="Columns that group the rows, with commas between them; may be repeated."),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="Names of more than two classes, with commas between them: columns of "
        "probabilities, or the order of lists in the column of predictions."
    ),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        help="Largest acceptable smooth error: 0.01, or 5% of the rarer outcome's share; "
        "by default 0.02, or 10% if that is less."
    ),
]
GapToleranceOption = Annotated[
    str | None,
    typer.Option(
        help="Largest acceptable typical gap between forecast and observed rate; "
        "twice the tolerance if not given, 1 to leave it out."
    ),
]
RatioToleranceOption = Annotated[
    str | None,
    typer.Option(
        "--oe-tolerance",
        help="How far observed over expected events may be from 1, as 10% or 0.1.",
    ),
]
RiskOption = Annotated[
    str | None,
    typer.Option(
        "--risk", help="Wrong answers to allow, as 5%: certifies from which forecast on to act."
    ),
]
ConfidenceOption = Annotated[float, typer.Option(help="Confidence of the verdict.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the simulations.")]


def in_percent(scale: PredictionScale) -> bool:
    """Whether predictions are in per cent, for commands that read no log-odds."""
    if scale is PredictionScale.LOGIT:
        raise InvalidOptionError(
            "--scale logit is for audit, recalibrate and apply",
            "logit",
            "write probabilities first",
        )
    return scale is PredictionScale.PERCENT


def is_passed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, and not left at its default."""
    found = context.get_parameter_source(name)
    return found is not None and found.name == "COMMANDLINE"


def passed_options(context: typer.Context, names: Iterable[str]) -> dict[str, object]:
    """Options of these names that were typed, with their values."""
    return {name: context.params[name] for name in names if is_passed(context, name)}


def names_of(value: str | list[str] | None, option: str) -> list[str] | None:
    """Split names at their commas; none of them may be empty."""
    if value is None:
        return None
    texts = [value] if isinstance(value, str) else value
    names = [name.strip() for text in texts for name in text.split(",")]
    if not all(names):
        raise InvalidOptionError(f"{option} must name something", repr(",".join(texts)))
    return list(dict.fromkeys(names))

"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from calibrant.errors import InvalidOptionError
from calibrant.options import check_positive


class Scale(StrEnum):
    """Units of the predictions."""

    UNIT = "unit"
    PERCENT = "percent"


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
ScaleOption = Annotated[Scale, typer.Option(help="Units of the predictions.")]
MissingOption = Annotated[Missing, typer.Option(help="Rows with a missing value.")]
WeightOption = Annotated[str | None, typer.Option(help="Column of weights.")]
CountOption = Annotated[
    str | None, typer.Option(help="Column of counts: each line stands for so many rows.")
]
PositivesOption = Annotated[
    str | None, typer.Option(help="Column of how many of them had outcome 1.")
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
    float | None,
    typer.Option(
        help="Largest acceptable smooth error; by default 0.02, or a tenth of the rarer outcome."
    ),
]
GapToleranceOption = Annotated[
    float | None,
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


def share_of(given: str | None, option: str) -> float | None:
    """Read a share, as a number or in per cent."""
    if given is None:
        return None
    text, percent = given.strip(), given.strip().endswith("%")
    try:
        share = float(text.rstrip("% ")) / (100 if percent else 1)
    except ValueError as error:
        raise InvalidOptionError(f"{option} must be a number, or per cent", repr(given)) from error
    check_positive(option, share)
    if share > 1 and not percent:  # 10 may mean 10 %, which 1000 % would let pass
        raise InvalidOptionError(
            f"{option} beyond 1 must be in per cent", repr(given), f"write {text}% or {share:.0%}"
        )
    return share


def names_of(given: str | list[str] | None, option: str) -> list[str] | None:
    """Split names at their commas; none of them may be empty."""
    if given is None:
        return None
    texts = [given] if isinstance(given, str) else given
    names = [name.strip() for text in texts for name in text.split(",")]
    if not all(names):
        raise InvalidOptionError(f"{option} must name something", repr(",".join(texts)))
    return list(dict.fromkeys(names))

"""Audits of continuous outcomes on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.errors import InvalidOptionError
from calibrant.kinds import ALIASES, CONTINUOUS

if TYPE_CHECKING:
    from calibrant.inputs import KindRequest, Roles, Source
    from calibrant.survival import Survival

KindOption = Annotated[
    str | None,
    typer.Option(
        help="What forecasts of continuous outcomes are of: mean, median, quantile=0.9, "
        "expectile=0.8, or interval=low,high with the columns of both ends."
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option("--range", help="Least and largest continuous outcome there can be, as 0,100."),
]
LevelOption = Annotated[
    float | None, typer.Option(help="Share of outcomes that intervals promise to hold, as 0.9.")
]
HorizonOption = Annotated[
    float | None,
    typer.Option(help="Time by which risks are for, with --kind survival, in units of --duration."),
]
DurationOption = Annotated[
    str | None,
    typer.Option(
        help="Column of times until the event, or until a row was last seen, with --kind survival; "
        "the column of outcomes then says what ended them: 0 censored, 1 the event, 2 others."
    ),
]
# So many different outcomes are numbers rather than labels.
MANY_OUTCOMES = 10


def range_from(text: str | None) -> tuple[float, float] | None:
    """Read two numbers with a comma between them."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidOptionError("--range must be two numbers, as 0,100", repr(text)) from error
    return low, high


def request_from(
    kind: str | None,
    range_: str | None,
    level: float | None,
    horizon: float | None,
    duration: str | None,
) -> KindRequest | Survival | None:
    """Read what the forecasts are forecasts of; None for probabilities."""
    if kind is None:
        return None
    from calibrant.inputs import KindRequest
    from calibrant.survival import Survival

    of_survival = {"horizon": horizon, "duration": duration}
    if kind == "survival":
        refuse_other_options("survival", {"range": range_, "level": level})
        for name, value in of_survival.items():
            if value is None:
                raise InvalidOptionError(f"--kind survival needs --{name}", "none")
        return Survival(float(horizon or 0), str(duration))
    if kind.strip().partition("=")[0] not in (*CONTINUOUS, *ALIASES):
        raise InvalidOptionError(
            "--kind must be mean, median, quantile=LEVEL, expectile=LEVEL, interval=LOW,HIGH or "
            "survival",
            repr(kind),
        )
    refuse_other_options(kind, of_survival)
    return KindRequest(kind, range_from(range_), level)


def refuse_other_options(kind: str, options: Mapping[str, object]) -> None:
    """Refuse options of other kinds."""
    for name, value in options.items():
        if value is not None:
            raise InvalidOptionError(f"--{name} is not for --kind {kind}", str(value))


def assumed_mean(
    files: object, roles: Roles, *, drop_missing: bool, title: str | None
) -> Source | None:
    """Read files as forecasts of a mean where they are nothing else; None where they may be.

    Outcomes of many different values, beside forecasts that are no probabilities.
    """
    import numpy as np

    from calibrant._base.words import count_text, number_text
    from calibrant.errors import CalibrantError
    from calibrant.inputs import KindRequest, read

    try:
        with_kind = replace(roles, kind=KindRequest("mean"))
        found = read(files, None, with_kind, drop_missing=drop_missing, title=title)
    except CalibrantError:
        return None
    assert found.rows is not None  # noqa: S101  # forecasts of numbers are read by row
    forecast, outcome = found.rows.prediction, np.unique(found.rows.outcome)
    if outcome.size < MANY_OUTCOMES or (forecast.min() >= 0 and forecast.max() <= 1):
        return None
    ends = f"from {number_text(float(outcome[0]))} to {number_text(float(outcome[-1]))}"
    note = (
        f"outcomes have {count_text(outcome.size, 'different value')}, {ends}, and forecasts are "
        "no probabilities: they were taken for forecasts of the mean (--kind mean)"
    )
    return replace(found, notes=(*found.notes, note))

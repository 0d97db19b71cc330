"""`calibrant audit --classes a,b,c`: forecasts of more than two classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.progress import progress
from calibrant.cli.write import say, write_text
from calibrant.errors import InvalidOptionError

# Reading, verdict, classes, sets of classes.
STAGES = 4

ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="Names of more than two classes, with commas between them: columns of "
        "probabilities, or the order of lists in the column of predictions."
    ),
]


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Which column plays which part."""

    prediction: str
    outcome: str
    weight: str | None
    cluster: str | None


@dataclass(frozen=True, slots=True)
class Choices:
    """What the verdicts depend on beside the data."""

    tolerance: float | None
    confidence: float
    seed: int
    title: str | None


def refuse_with_classes(given: Mapping[str, object], markdown: str | None = None) -> None:
    """Refuse options that are not for classes."""
    unknown = [name for name, value in {**given, "--markdown": markdown}.items() if value]
    if unknown:
        raise InvalidOptionError(
            f"{unknown[0]} is for forecasts of two outcomes", "--classes", "leave one of them out"
        )


def audit_class_files(
    files: list[str],
    classes: list[str],
    columns: ClassColumns,
    choices: Choices,
    html: str | None,
    json: str | None,
    *,
    percent: bool,
    drop_missing: bool,
) -> None:
    """Audit forecasts of classes and write what was asked for."""
    from calibrant.inference.settings import Settings
    from calibrant.report.class_audit import audit_forecasts, read_class_files

    with progress(STAGES + (html is not None)) as tell:
        tell("reading")
        forecasts, beside, dropped = read_class_files(
            files,
            classes,
            prediction=columns.prediction,
            outcome=columns.outcome,
            weight=columns.weight,
            cluster=columns.cluster,
            percent=percent,
            drop_missing=drop_missing,
        )
        result = audit_forecasts(
            forecasts,
            beside.get("clusters"),
            choices.title or ", ".join(Path(file).name for file in files),
            dropped,
            Settings.read(
                confidence=choices.confidence, tolerance=choices.tolerance, rng=choices.seed
            ),
            tell,
        )
        if html is not None:
            tell("pictures")
            page = result.to_html()
    if html is not None:
        write_text(page, html)
    if json is not None:
        write_text(result.to_json(), json)
    if json != "-":
        say(str(result))
        if html is not None:
            say(f"\nreport: {html}")

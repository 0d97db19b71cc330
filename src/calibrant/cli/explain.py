"""`calibrant explain`: the calibration error of other programs on the same rows."""

from __future__ import annotations

import json as json_module
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from calibrant.cli.options import (
    FilesArgument,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    PredictionScale,
    ScaleOption,
    WeightOption,
    in_percent,
)
from calibrant.cli.write import check_files, print_line, write_text

# Numbers of bins beside the default of each program.
BINS = (None, 10, 15)
HEADS = ("own bins", "10 bins", "15 bins")
WIDTH, INDENT = 80, "    "


def explain(
    files: FilesArgument,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = PredictionScale.UNIT,
    na: MissingOption = Missing.REFUSE,
    json: Annotated[str | None, typer.Option(help="File for JSON, or - for stdout.")] = None,
) -> None:
    """Show the calibration error of other programs on the same rows, and why they differ."""
    check_files({"--json": json}, files)
    from calibrant._base.words import comparable_texts
    from calibrant.data.labels import Labels
    from calibrant.inputs import Roles, read
    from calibrant.measures.conventions import conventions

    source = read(
        files,
        None,
        Roles(prediction, outcome, weight),
        labels=Labels.of(pos_label, neg_label, na_label),
        percent=in_percent(scale),
        drop_missing=na is Missing.DROP,
    )
    found = [conventions(source.joint, n_bins=count) for count in BINS]
    if json is not None:
        tables = zip(HEADS, found, strict=True)
        contents = {head: [asdict(one) for one in table] for head, table in tables}
        write_text(json_module.dumps(contents, indent=2), json)
    if json == "-":
        return
    for note in source.all_notes:
        print_line(note)
    print_line(f"{'':<38}{HEADS[0]:>12}{HEADS[1]:>12}{HEADS[2]:>12}")
    for row in zip(*found, strict=True):
        texts = comparable_texts(*(one.value for one in row))
        alike = len({one.how for one in row}) == 1
        cells = (texts[0], "", "") if alike else texts
        print_line(f"{row[0].program:<38}" + "".join(f"{cell:>12}" for cell in cells).rstrip())
        for line in textwrap.wrap(row[0].how, WIDTH - len(INDENT)):
            print_line(f"{INDENT}{line}")

"""`calibrant apply CALIBRATOR FILE...`: recalibrate files with a stored calibrator."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.cli.options import FilesArgument, PredictionOption, PredictionScale
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, print_line

OutOption = Annotated[
    str, typer.Option(help="File for all rows with the new column: .parquet, .csv or .jsonl.")
]
ColumnOption = Annotated[
    str, typer.Option(help="Name of the new column; with classes the beginning of their names.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


def apply(
    calibrator_file: Annotated[
        str, typer.Argument(metavar="CALIBRATOR", help="JSON file of a fitted calibrator.")
    ],
    files: FilesArgument,
    out: OutOption,
    prediction: PredictionOption = "prediction",
    column: ColumnOption = "recalibrated",
    scale: Annotated[
        PredictionScale | None,
        typer.Option(help="Units of the predictions; those of the calibrator by default."),
    ] = None,
    force: ForceOption = False,  # noqa: FBT002
) -> None:
    """Copy files with a column of recalibrated predictions, or one for each class."""
    from calibrant._base.words import count_text
    from calibrant._base.writing import drafted
    from calibrant.data.paths import settled
    from calibrant.inputs import reading_notes
    from calibrant.recalibration import (
        Identity,
        apply_to_files,
        check_output,
        group_columns,
        load_of_probabilities,
        output_names,
    )

    check_files({"--out": out}, [calibrator_file, *files], force=force)
    check_output(out)
    fitted = load_of_probabilities(calibrator_file)
    with (
        progress(["recalibrating"]) as report_stage,
        settled(files) as found,
        drafted(out) as draft,
    ):
        report_stage("recalibrating")
        done = apply_to_files(
            fitted,
            found,
            draft,
            prediction=prediction,
            column=column,
            scale=scale,
        )
    names = ", ".join(output_names(fitted, column))
    print_line(f"{count_text(done.rows, 'row')} with {names}: {out}")
    for note in reading_notes(found, None):
        print_line(f"note: {note}")
    if done.strange:
        print_line(
            f"note: {count_text(done.strange, 'row')} with values that the fit has not seen in "
            f"{', '.join(group_columns(fitted))} keep the prediction of the calibrator for all rows"
        )
    if done.in_sample and not isinstance(fitted, Identity):
        print_line(
            f"note: in-sample: the predictions of these {count_text(done.rows, 'row')} are those "
            f"that taught the calibrator, so that an audit of {out} flatters it"
        )

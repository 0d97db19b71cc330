"""`calibrant compare A B`: which of two forecasters is better, and is the difference real."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant._base.exit_codes import ExitCode
from calibrant.cli.logs import (
    FieldOption,
    OriginOption,
    PassMarkOption,
    Reading,
    ScorerOption,
    WordsOption,
    answers_of,
    typed_of,
)
from calibrant.cli.options import (
    ClusterOption,
    ConfidenceOption,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OutcomeOption,
    PosLabelOption,
    PredictionScale,
    ScaleOption,
    SeedOption,
    WeightOption,
    in_percent,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, print_line, write_text
from calibrant.errors import InvalidOptionError

if TYPE_CHECKING:
    from calibrant.inference import Comparison
    from calibrant.llm import Answers


SCHEMA = 1


def compare_logs(
    answers: Answers,
    models: Sequence[str] | None,
    between: str | None,
    *,
    measures: Sequence[str] | None,
    max_worse: float | None,
    confidence: float,
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> ExitCode:
    """Compare two models, print it and write it; the first measure decides the exit code."""
    from calibrant.gate import EXIT_CODES, state_of_difference
    from calibrant.llm import COMPARED, compare_models

    if models is not None and len(models) != 2:
        raise InvalidOptionError("--models must name two", ", ".join(models))
    if max_worse is not None and models is None:
        raise InvalidOptionError(
            "--max-worse needs to know which model is the second", "no --models", "--models OLD,NEW"
        )
    column = between or _compared_column(answers)
    first, second = models or (None, None)
    with progress(["comparing"]) as report_stage:
        report_stage("comparing")
        found = compare_models(
            answers,
            first,
            second,
            between=column,
            measures=list(dict.fromkeys(measures or COMPARED)),
            margin=max_worse,
            confidence=confidence,
            rng=seed,
        )
    state = None
    if max_worse is not None:
        decides = found.comparisons[0]
        state = state_of_difference(decides.low, decides.high, max_worse)
    if json_path is not None:
        pairs = zip(found.comparisons, found.sentences, strict=True)
        result = {
            "schema": SCHEMA,
            "state": state,
            "first": found.first,
            "second": found.second,
            "between": column,
            "questions": found.questions,
            "max_worse": max_worse,
            "comparisons": [as_dict(one, sentence) for one, sentence in pairs],
            "notes": [*answers.found, *found.notes],
        }
        write_text(json.dumps(result, allow_nan=False), json_path)
    if json_path != "-":
        verdict = "" if state is None else f"{state}: "
        # Of two that say the same, all measures say the same.
        sentences = tuple(dict.fromkeys(found.sentences[:1] if quiet else found.sentences))
        print_line(f"{verdict}{sentences[0]}")
        notes = [f"note: {note}" for note in (*answers.found, *found.notes)]
        for line in (*sentences[1:], *(() if quiet else notes)):
            print_line(line)
    return ExitCode.PASSED if state is None else EXIT_CODES[state]


def _compared_column(answers: Answers) -> str:
    """Compare models; files if one model wrote two of them."""
    one_model = len(answers.names("model")) < 2
    two_files = "file" in answers.columns and len(answers.names("file")) == 2
    return "file" if one_model and two_files else "model"


def as_dict(comparison: Comparison, sentence: str) -> dict[str, Any]:
    """Return a comparison as JSON has it."""
    numbers = {
        name: getattr(comparison, name)
        for name in ("first", "second", "difference", "low", "high", "confidence")
    }
    finite = {name: n if math.isfinite(n) else None for name, n in numbers.items()}
    return {"measure": comparison.measure, "sentence": sentence, **finite}


# Calibration first, then a score that also asks how well forecasts tell outcomes apart.
MEASURES = ("smooth_calibration_error", "brier")


def compare(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files with the same rows, the first one first; one with both columns; or "
            "logs of language models that answered the same questions."
        ),
    ],
    prediction: Annotated[
        str,
        typer.Option(
            help="Column of predictions; two with a comma for one file, or for different names."
        ),
    ] = "prediction",
    outcome: OutcomeOption = "outcome",
    key: Annotated[
        str | None,
        typer.Option(help="Column that joins the rows of two files; else by their order."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure, or score: brier, log, spherical; may be repeated, the first decides."
        ),
    ] = None,
    max_worse: Annotated[
        float | None,
        typer.Option(help="How much worse the second may be: decides the exit code."),
    ] = None,
    weight: WeightOption = None,
    cluster: ClusterOption = None,
    confidence: ConfidenceOption = 0.95,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = PredictionScale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the result as JSON, or - for stdout.")
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(help="Logs of language models: the first and the second model, with a comma."),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            help="Logs of language models: what tells the two apart (model, prompt, file, trial)."
        ),
    ] = None,
    origin: OriginOption = None,
    scorer: ScorerOption = None,
    pass_mark: PassMarkOption = None,
    field: FieldOption = None,
    words: WordsOption = None,
    quiet: Annotated[  # noqa: FBT002
        bool, typer.Option("--quiet", help="Print the first sentence alone.")
    ] = False,
) -> ExitCode:
    """Compare two forecasters on the same rows, and say whether the difference is real.

    Of logs of language models, two models are compared on the questions that both answered.
    Without --max-worse the exit code is 0 whatever is found.
    """
    from calibrant._base.options import check_share
    from calibrant.data.labels import Labels
    from calibrant.data.paths import settled
    from calibrant.gate import EXIT_CODES, state_of_difference
    from calibrant.inference import compare as compare_rows
    from calibrant.inputs import Roles, pair_columns, pair_files

    check_files({"--json": json_path}, [*files, words])
    if max_worse is not None:
        check_share("max_worse", max_worse)
    how = Reading(origin, scorer, pass_mark, scale, field, words, typed_of(context, "cluster"))
    with settled(files) as found_files:
        answers = answers_of(found_files, Roles(prediction, outcome), how)
    if answers is not None:
        return compare_logs(
            answers,
            names_of(models, "--models"),
            between,
            measures=measure,
            max_worse=max_worse,
            confidence=confidence,
            seed=seed,
            json_path=json_path,
            quiet=quiet,
        )
    _refuse_for_tables({"--models": models, "--between": between})
    columns = _columns(files, names_of(prediction, "--prediction") or [], key)
    options: dict[str, Any] = {
        "labels": Labels.of(pos_label, neg_label, na_label),
        "percent": in_percent(scale),
        "drop_missing": na is Missing.DROP,
    }
    roles = Roles(columns[1], outcome, weight, cluster)
    measures = list(dict.fromkeys(measure or MEASURES))
    with progress(["reading", *measures]) as report_stage:
        report_stage("reading")
        if len(files) == 1:
            pairs = pair_columns(files[0], columns[0], roles, **options)
        else:
            pairs = pair_files(files[0], files[1], columns[0], key, roles, **options)
        found = []
        for name in measures:
            report_stage(name)
            found.append(
                compare_rows(
                    pairs.outcome,
                    pairs.old,
                    pairs.new,
                    sample_weight=pairs.weight,
                    clusters=pairs.clusters,
                    measure=name,
                    margin=max_worse,
                    confidence=confidence,
                    rng=seed,
                )
            )
    first = found[0]
    state = None
    if max_worse is not None:
        state = state_of_difference(first.low, first.high, max_worse)
    names = _names(files, columns)
    if json_path is not None:
        result = {
            "schema": SCHEMA,
            "state": state,
            "first": names[0],
            "second": names[1],
            "rows": len(pairs.outcome),
            "unpaired": [count - len(pairs.outcome) for count in pairs.counts],
            "max_worse": max_worse,
            "comparisons": [as_dict(one, one.sentence) for one in found],
            "notes": list(pairs.notes),
        }
        write_text(json.dumps(result, allow_nan=False), json_path)
    if json_path != "-":
        verdict = "" if state is None else f"{state}: "
        print_line(f"{verdict}{first.sentence}")
        further = [] if first.identical else [comparison.sentence for comparison in found[1:]]
        further += [f"first: {names[0]}; second: {names[1]}", f"{pairs.sentence}."]
        for line in () if quiet else (*further, *(f"note: {note}" for note in pairs.notes)):
            print_line(line)
    return ExitCode.PASSED if state is None else EXIT_CODES[state]


def _refuse_for_tables(options: dict[str, str | None]) -> None:
    for option, value in options.items():
        if value is not None:
            raise InvalidOptionError(f"{option} is for logs of language models", "a table")


def _columns(files: list[str], columns: list[str], key: str | None) -> tuple[str, str]:
    """Find the column of either forecaster."""
    if len(files) > 2:
        raise InvalidOptionError("compare takes one file or two", f"{len(files)} files")
    if len(columns) > 2:
        raise InvalidOptionError("--prediction must name one column or two", ", ".join(columns))
    if len(files) == 1 and len(columns) == 1:
        raise InvalidOptionError(
            "--prediction must name two columns of one file",
            repr(columns[0]),
            "write --prediction old,new, or name a second file",
        )
    if len(files) == 1 and key is not None:
        raise InvalidOptionError("--key joins two files", "one file", "leave it out")
    if files.count("-") > 1:
        raise InvalidOptionError("standard input can be read once", "- twice")
    return columns[0], columns[-1]


def _names(files: list[str], columns: tuple[str, str]) -> tuple[str, str]:
    """Name the forecasters by what differs between them."""
    if len(files) == 1:
        return columns
    if columns[0] == columns[1]:
        return files[0], files[1]
    return f"{files[0]} ({columns[0]})", f"{files[1]} ({columns[1]})"

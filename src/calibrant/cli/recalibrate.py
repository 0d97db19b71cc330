"""`calibrant recalibrate FILE...`: choose a calibrator that recalibrates, judge it, write it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from calibrant.cli.apply import ColumnOption, ForceOption
from calibrant.cli.logs import (
    FieldOption,
    OriginOption,
    PassMarkOption,
    Reading,
    ScorerOption,
    WordsOption,
    tables_of,
    typed_of,
)
from calibrant.cli.options import (
    ByOption,
    ClassesOption,
    ClusterOption,
    ConfidenceOption,
    CountOption,
    FilesArgument,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OutcomeOption,
    PositivesOption,
    PosLabelOption,
    PredictionOption,
    PredictionScale,
    PredictionSumOption,
    ScaleOption,
    SeedOption,
    WeightOption,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, print_line, print_text, print_written, write_text

if TYPE_CHECKING:
    from calibrant._base.stages import StageReporter
    from calibrant.data.labels import LabelMeanings, Labels
    from calibrant.data.paths import Files
    from calibrant.groups import GroupRecalibration
    from calibrant.inputs import Roles
    from calibrant.recalibration import Calibrator, Dialect, Recalibration

STAGES = ["reading", "choosing a calibrator"]
# What the files hold that --out, --calibrator, --sql, --python and --json name.
WRITTEN = ("rows", "calibrator", "SQL", "Python", "judgement")


def recalibrate(
    context: typer.Context,
    files: FilesArgument,
    out: Annotated[str | None, typer.Option(help="File for all rows with the new column.")] = None,
    calibrator_file: Annotated[
        str | None,
        typer.Option("--calibrator", help="File for the calibrator as JSON, or - for stdout."),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(help="File for the calibrator as SQL, or - for stdout.")
    ] = None,
    python: Annotated[
        str | None, typer.Option(help="File for the calibrator as Python, or - for stdout.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="Kind of SQL: duckdb, postgres, spark or sqlite.")
    ] = "duckdb",
    table: Annotated[
        str | None,
        typer.Option(help="Table of the SQL: a query in steps, which every calibrator can be."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Calibrators to choose from, with commas; all by default.")
    ] = None,
    score: Annotated[str, typer.Option(help="Score to choose by: log, brier, spherical.")] = "log",
    folds: Annotated[int, typer.Option(help="Parts of the rows, each judged unseen.")] = 5,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    classes: ClassesOption = None,
    weight: WeightOption = None,
    count: CountOption = None,
    positives: PositivesOption = None,
    prediction_sum: PredictionSumOption = None,
    by: ByOption = None,
    pairs: Annotated[  # noqa: FBT002
        bool, typer.Option("--pairs", help="Patch pairs of the columns of --by as well.")
    ] = False,
    cluster: ClusterOption = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times: calibrators learn from earlier rows only.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Your decision: a TOML, JSON or CSV file of payoffs.")
    ] = None,
    base_rate: Annotated[
        float | None,
        typer.Option(
            help="Base rate where forecasts will be used: shifts all odds from the base rate of "
            "these rows, or their mean prediction where there is no column of outcomes."
        ),
    ] = None,
    column: ColumnOption = "recalibrated",
    confidence: ConfidenceOption = 0.95,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = PredictionScale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the judgement as JSON, or - for stdout.")
    ] = None,
    origin: OriginOption = None,
    scorer: ScorerOption = None,
    pass_mark: PassMarkOption = None,
    field: FieldOption = None,
    words: WordsOption = None,
    force: ForceOption = False,  # noqa: FBT002
) -> None:
    """Recalibrate forecasts with a calibrator chosen on held-out rows, if one helps."""
    from calibrant.data.labels import Labels
    from calibrant.decisions import DecisionTask
    from calibrant.inputs import Roles, reading_notes
    from calibrant.recalibration import check_output, choice_text, dialect_of

    written = {"--out": out, "--calibrator": calibrator_file, "--sql": sql, "--python": python,
               "--json": json_path}  # fmt: skip
    check_files(written, [*files, task, words], force=force)
    dialect_of(dialect)
    _ = out is None or check_output(out)
    groups = names_of(by, "--by") or []
    requested = Roles(
        prediction, outcome, weight, cluster, groups, time, count, positives,
        prediction_sum=prediction_sum,
    )  # fmt: skip
    how = Reading(origin, scorer, pass_mark, scale, field, words, typed_of(context))
    opened = context.with_resource(tables_of(files, requested, how))
    found, roles, prediction = opened.files, opened.roles, opened.roles.prediction
    if not opened.percent and not how.logits:
        scale = PredictionScale.UNIT  # of a log, whose confidences are probabilities by now
    options: dict[str, Any] = {
        "methods": names_of(methods, "--methods"),
        "score": score,
        "folds": folds,
        "confidence": confidence,
        "rng": seed,
    }
    reading: dict[str, Any] = {
        "percent": opened.percent,
        "logits": how.logits,
        "drop_missing": na is Missing.DROP,
    }
    named = names_of(classes, "--classes")
    choice: Recalibration | GroupRecalibration | None = None
    assumed: list[str] = []
    if base_rate is not None:
        labels = Labels.of(pos_label, neg_label, na_label)
        fitted, meanings, dropped, assumed = _shifted(found, roles, labels, reading, base_rate)
    elif named is not None:
        roles = replace(roles, by=None, classes=named)
        with progress(STAGES) as report_stage:
            choice, meanings, dropped = _of_classes(found, roles, reading, options, report_stage)
    else:
        decision = None if task is None else DecisionTask.from_file(task)
        labels = Labels.of(pos_label, neg_label, na_label)
        options |= {"task": decision, "pairs": pairs}
        with progress(STAGES) as report_stage:
            choice, meanings, dropped = _of_two(
                found, roles, labels, reading, options, report_stage
            )
    if choice is not None:
        fitted = choice.calibrator
    notes = (*reading_notes(found, meanings, dropped), *assumed, *_in_sample_notes(choice, out))
    sentence = fitted.sentence if choice is None else choice_text(choice)
    # All texts come first: a calibrator that cannot be written must not leave some files behind.
    fitted = fitted.with_scale(scale.value)

    texts: list[tuple[str | None, Callable[[], str]]] = [
        (calibrator_file, fitted.to_json),
        (sql, lambda: _commented(fitted, prediction, table, column, dialect_of(dialect))),
        (python, fitted.to_python),
        (json_path, lambda: _judged(choice, fitted, dropped, reading_notes(found, meanings))),
    ]
    written_texts = [(text(), path) for path, text in texts if path is not None]
    if out is not None:
        _write_rows(fitted, found, out, prediction, column)
    _write_and_print(written_texts, written, sentence, notes)


def _write_and_print(
    texts: list[tuple[str, str]],
    written: Mapping[str, str | None],
    page: str,
    notes: Sequence[str],
) -> None:
    """Write the texts, then speak, because a reader may stop listening.

    A file on standard output stands alone.
    """
    for text, path in texts:
        write_text(text, path)
    if "-" not in written.values():
        print_text(page)
        for note in notes:
            print_line(f"note: {note}")
        print_written(dict(zip(WRITTEN, written.values(), strict=True)))


def _write_rows(fitted: Calibrator, files: Files, out: str, prediction: str, column: str) -> None:
    """Copy the files with the new column."""
    from calibrant._base.writing import drafted
    from calibrant.recalibration import apply_to_files

    with progress(["writing"]) as report_stage, drafted(out) as draft:
        report_stage("writing")
        apply_to_files(fitted, files, draft, prediction=prediction, column=column)


def _judged(
    choice: Recalibration | GroupRecalibration | None,
    fitted: Calibrator,
    dropped: int,
    notes: object,
) -> str:
    """Write the judgement as JSON."""
    described = {} if choice is None else choice.as_dict()
    shown = {"schema": 1, **described, "calibrator": fitted.to_dict()}
    return json.dumps(shown | {"dropped": dropped, "notes": notes}, allow_nan=False)


def _in_sample_notes(
    choice: Recalibration | GroupRecalibration | None, out: str | None
) -> list[str]:
    """Warn of a file that will look better than fresh rows."""
    if choice is None or out is None or choice.unchanged:
        return []
    return [f"the rows of {out} taught the calibrator: an audit of them flatters it"]


def _shifted(
    files: Files, roles: Roles, labels: Labels, reading: dict[str, Any], base_rate: float
) -> tuple[Calibrator, LabelMeanings | None, int, list[str]]:
    """Shift odds from the base rate of the rows to another one; nothing is judged.

    Where there is no column of outcomes, the mean prediction stands for their base rate.
    """
    from calibrant.data.files import opened_table, read_columns
    from calibrant.data.tables import Part
    from calibrant.inputs import prepare, read
    from calibrant.recalibration import PriorCorrection

    shift = PriorCorrection(base_rate=base_rate)
    if _are_sums(roles):
        source = read(files, None, roles, labels=labels, **reading)
        return shift.fit(source.joint), None, source.dropped, []
    with opened_table(files, progress=False) as table:
        unknown = roles.outcome == "outcome" and roles.outcome not in table.names
    parts = roles.parts()
    if unknown:
        parts = {name: Part.NUMBER for name in parts if name != roles.outcome}
    columns, meanings = read_columns(files, parts, labels)
    outcome = roles.prediction if unknown else roles.outcome
    rows = prepare(columns, roles.prediction, outcome, may_miss=[], **reading)
    weight = None if roles.weight is None else rows.columns[str(roles.weight)]
    happened = rows.prediction if unknown else rows.outcome
    notes = ["no column 'outcome': the mean prediction is taken for the base rate of these rows"]
    fitted = shift.fit(rows.prediction, happened, weight)
    return fitted, meanings, rows.dropped, notes if unknown else []


def _are_sums(roles: Roles) -> bool:
    """Whether each line stands for several rows."""
    return roles.count is not None or roles.positives is not None


def _of_two(
    files: Files,
    roles: Roles,
    labels: Labels,
    reading: dict[str, Any],
    options: dict[str, Any],
    report_stage: StageReporter,
) -> tuple[Recalibration | GroupRecalibration, LabelMeanings | None, int]:
    """Choose a calibrator of two outcomes, with patches if columns of groups are named."""
    from calibrant.data.files import read_columns
    from calibrant.groups import recalibrate_by_group
    from calibrant.inputs import prepare, read
    from calibrant.recalibration import choice_of_probabilities

    report_stage("reading")
    pairs = options.pop("pairs")
    if _are_sums(roles):
        source = read(files, None, roles, labels=labels, **reading)
        report_stage("choosing a calibrator")
        return choice_of_probabilities(source.joint, **options), None, source.dropped
    groups = cast("list[str]", roles.by)
    listed, meanings = read_columns(files, roles.parts(), labels)
    forecasts = prepare(listed, roles.prediction, roles.outcome, may_miss=groups, **reading)
    columns = forecasts.columns
    extra = {"sample_weight": roles.weight, "clusters": roles.clusters, "time": roles.time}
    options |= {n: columns[str(c)] for n, c in extra.items() if c is not None}
    rows = (forecasts.outcome, forecasts.prediction)
    report_stage("choosing a calibrator")
    if groups:
        by = {name: columns[name] for name in groups}
        return recalibrate_by_group(*rows, by, pairs=pairs, **options), meanings, forecasts.dropped
    return choice_of_probabilities(*rows, **options), meanings, forecasts.dropped


def _of_classes(
    files: Files,
    roles: Roles,
    reading: dict[str, Any],
    options: dict[str, Any],
    report_stage: StageReporter,
) -> tuple[Recalibration | GroupRecalibration, LabelMeanings | None, int]:
    """Choose a calibrator of classes."""
    from calibrant.inputs import read
    from calibrant.recalibration import choice_of_probabilities

    report_stage("reading")
    source = read(files, None, roles, **reading)
    options |= {"clusters": source.clusters, "time": source.times}
    report_stage("choosing a calibrator")
    return choice_of_probabilities(source.classes, **options), None, source.dropped


def _commented(
    fitted: Calibrator, prediction: str, table: str | None, column: str, kind: Dialect
) -> str:
    """Write a calibrator as SQL below its sentence, with what it takes and returns."""
    takes = {"unit": "probabilities in [0, 1]", "percent": "per cent", "logit": "log-odds"}[
        fitted.scale_
    ]
    returns = "a probability in [0, 1]" if fitted.classes_ is None else "probabilities in [0, 1]"
    comment = kind.comment(f"{fitted.sentence} Takes {takes}, returns {returns}.")
    columns = prediction if fitted.classes_ is None else None
    text = fitted.to_sql(columns, table=table, name=column, dialect=kind.name)
    return f"{comment}\n{text}"

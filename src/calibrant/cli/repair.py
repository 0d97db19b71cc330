"""`calibrant repair FILE...`: choose a map that recalibrates, judge it, write it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.apply import ColumnOption, ForceOption
from calibrant.cli.options import (
    ByOption,
    ClusterOption,
    ConfidenceOption,
    FilesArgument,
    Missing,
    MissingOption,
    NaLabelOption,
    NegLabelOption,
    OutcomeOption,
    PosLabelOption,
    PredictionOption,
    Scale,
    ScaleOption,
    SeedOption,
    WeightOption,
    names_of,
)
from calibrant.cli.write import check_files, say, write_text

if TYPE_CHECKING:
    from calibrant.groups import GroupMap
    from calibrant.repair import RecalibrationMap
    from calibrant.repair.quoting import Dialect


def repair(
    context: typer.Context,
    files: FilesArgument,
    out: Annotated[str | None, typer.Option(help="File for all rows with the new column.")] = None,
    map_file: Annotated[
        str | None, typer.Option("--map", help="File for the map as JSON, or - for stdout.")
    ] = None,
    sql: Annotated[
        str | None, typer.Option(help="File for the map as SQL, or - for stdout.")
    ] = None,
    python: Annotated[
        str | None, typer.Option(help="File for the map as Python, or - for stdout.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="Kind of SQL: duckdb, postgres, spark or sqlite.")
    ] = "duckdb",
    maps: Annotated[
        str | None, typer.Option(help="Maps to choose from, with commas; all by default.")
    ] = None,
    score: Annotated[str, typer.Option(help="Score to choose by: log, brier, spherical.")] = "log",
    folds: Annotated[int, typer.Option(help="Parts of the rows, each judged unseen.")] = 5,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    by: ByOption = None,
    pairs: Annotated[  # noqa: FBT002
        bool, typer.Option("--pairs", help="Patch pairs of the columns of --by as well.")
    ] = False,
    cluster: ClusterOption = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times: maps learn from earlier rows only.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Your decision: a TOML, JSON or CSV file of payoffs.")
    ] = None,
    column: ColumnOption = "recalibrated",
    confidence: ConfidenceOption = 0.95,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = Scale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
    json_path: Annotated[
        str | None, typer.Option("--json", help="File for the judgement as JSON, or - for stdout.")
    ] = None,
    force: ForceOption = False,  # noqa: FBT002
) -> None:
    """Recalibrate forecasts: choose a map on rows it has not seen, or say to leave them alone."""
    from calibrant.data.files import read_columns
    from calibrant.data.labels import Labels
    from calibrant.data.paths import settled
    from calibrant.decisions import DecisionTask
    from calibrant.groups import repair_by_group
    from calibrant.inputs import Roles, prepare, reading_notes
    from calibrant.repair import choose
    from calibrant.repair.files import apply_to_files, check_output
    from calibrant.repair.quoting import dialect_of
    from calibrant.repair.text import choice_text
    from calibrant.writing import drafted

    written = {"--out": out, "--map": map_file, "--sql": sql, "--python": python,
               "--json": json_path}  # fmt: skip
    check_files(written, [*files, task], force=force)
    dialect_of(dialect)
    if out is not None:
        check_output(out)
    groups = names_of(by, "--by") or []
    found = context.with_resource(settled(files))
    roles = Roles(prediction, outcome, weight, cluster, groups, time)
    labels = Labels.of(pos_label, neg_label, na_label)
    read, told = read_columns(found, roles.parts(), labels)
    forecasts = prepare(
        read,
        prediction,
        outcome,
        percent=scale is Scale.PERCENT,
        drop_missing=na is Missing.DROP,
        may_miss=groups,
    )
    columns = forecasts.columns
    find = partial(repair_by_group, by={n: columns[n] for n in groups}, pairs=pairs)
    choice = (find if groups else choose)(
        forecasts.prediction,
        forecasts.outcome,
        sample_weight=None if weight is None else columns[weight],
        maps=names_of(maps, "--maps"),
        score=score,
        task=None if task is None else DecisionTask.from_file(task),
        clusters=None if cluster is None else columns[cluster],
        time=None if time is None else columns[time],
        folds=folds,
        confidence=confidence,
        rng=seed,
    )
    if "-" not in written.values():
        say(choice_text(choice))
        for note in reading_notes(found, told, forecasts.dropped):
            say(f"note: {note}")
    # All texts come first: a map that cannot be written must not leave some files behind.
    fitted = choice.map.with_scale(scale.value)

    def judged() -> str:
        shown = {"schema": 1, **choice.as_dict(), "map": fitted.to_dict()}
        how = {"dropped": forecasts.dropped, "notes": reading_notes(found, told)}
        return json.dumps(shown | how, allow_nan=False)

    texts: list[tuple[str | None, Callable[[], str]]] = [
        (map_file, fitted.to_json),
        (sql, lambda: _commented(fitted, prediction, dialect_of(dialect))),
        (python, fitted.to_python),
        (json_path, judged),
    ]
    written_texts = [(text(), path) for path, text in texts if path is not None]
    if out is not None:
        with drafted(out) as draft:
            apply_to_files(fitted, found, draft, prediction=prediction, column=column)
    for text, path in written_texts:
        write_text(text, path)


def _commented(fitted: RecalibrationMap | GroupMap, prediction: str, kind: Dialect) -> str:
    """Write a map as SQL below its sentence, with what it takes and returns."""
    takes = {"unit": "probabilities in [0, 1]", "percent": "per cent"}[fitted.scale_]
    said = kind.comment(f"{fitted.sentence} Takes {takes}, returns a probability in [0, 1].")
    return f"{said}\n{fitted.to_sql(prediction, dialect=kind.name)}"

"""`calibrant check FILE...`: a gate for releases."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

import typer

from calibrant._base.exit_codes import ExitCode
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
    GapToleranceOption,
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
    RatioToleranceOption,
    ScaleOption,
    SeedOption,
    ToleranceOption,
    WeightOption,
    in_percent,
    names_of,
)
from calibrant.cli.progress import progress
from calibrant.cli.write import check_files, print_text, print_written, write_text


def check(
    context: typer.Context,
    files: FilesArgument,
    tolerance: ToleranceOption = None,
    gap_tolerance: GapToleranceOption = None,
    oe_tolerance: RatioToleranceOption = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Measure to check, or measure=tolerance; may be given several times."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="File with the forecasts of an earlier release.")
    ] = None,
    max_worse: Annotated[
        float, typer.Option(help="How much worse than the baseline the smooth error may be.")
    ] = 0.01,
    key: Annotated[
        str | None, typer.Option(help="Column that joins rows with those of the baseline.")
    ] = None,
    only_difference: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--only-difference", help="Judge the difference from the baseline alone."),
    ] = False,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    count: CountOption = None,
    positives: PositivesOption = None,
    prediction_sum: PredictionSumOption = None,
    by: ByOption = None,
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
    markdown: Annotated[
        str | None, typer.Option(help="File for a Markdown summary, or - for stdout.")
    ] = None,
    classes: ClassesOption = None,
    origin: OriginOption = None,
    scorer: ScorerOption = None,
    pass_mark: PassMarkOption = None,
    field: FieldOption = None,
    words: WordsOption = None,
    quiet: Annotated[  # noqa: FBT002
        bool, typer.Option("--quiet", help="Print nothing; exit code only.")
    ] = False,
) -> ExitCode:
    """Exit with 0 if forecasts are calibrated, 1 if they are not, 3 if undecided."""
    from calibrant.data.labels import Labels
    from calibrant.gate import Baseline, read_limits, run_gate
    from calibrant.inference import Settings
    from calibrant.inputs import Roles, join_pairs, read

    check_files({"--json": json_path, "--markdown": markdown}, [*files, baseline, words])
    named = names_of(classes, "--classes")
    plain = Roles(
        prediction,
        outcome,
        weight,
        cluster,
        count=count,
        positives=positives,
        classes=named,
        prediction_sum=prediction_sum,
    )
    roles = replace(plain, by=names_of(by, "--by"), find_keys=True)
    in_percent(scale)  # log-odds are refused
    how = Reading(origin, scorer, pass_mark, scale, field, words, typed_of(context))
    options: dict[str, Any] = {
        "labels": Labels.of(pos_label, neg_label, na_label),
        "drop_missing": na is Missing.DROP,
    }
    wanted = {"groups": by, "baseline": baseline, "classes": classes}
    stages = ["reading", *(stage for stage, option in wanted.items() if option is not None)]
    stages += [] if only_difference else ["measures"]
    with progress(stages) as report_stage, tables_of(files, roles, how) as found:
        report_stage("reading")
        options["percent"] = found.percent
        source = read(found.files, None, found.roles, **options)
        earlier = None
        if baseline is not None and key is not None:
            pairs = join_pairs(baseline, found.files, key, roles, **options)
            earlier = Baseline(max_worse, pairs=pairs, alone=only_difference)
        elif baseline is not None:
            old = read(baseline, None, plain, **options)
            earlier = Baseline(max_worse, source=old, alone=only_difference)
        limits = read_limits(measure or [], tolerance)
        settings = Settings.read(confidence=confidence, gap_tolerance=gap_tolerance, rng=seed)
        gate = run_gate(source, limits, settings, earlier, report_stage, oe_tolerance=oe_tolerance)
    if json_path is not None:
        write_text(json.dumps(gate.as_dict(), allow_nan=False), json_path)
    if markdown is not None:
        write_text(gate.to_markdown(), markdown)
    if not quiet and "-" not in {json_path, markdown}:
        print_text(str(gate))
        print_written({"JSON": json_path, "Markdown": markdown})
    return ExitCode(gate.exit_code)

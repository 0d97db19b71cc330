"""`calibrant audit FILE...`: how far the forecasts in files can be trusted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant._base.options import share_from
from calibrant.cli.continuous import (
    DurationOption,
    HorizonOption,
    KindOption,
    LevelOption,
    RangeOption,
    assumed_mean,
    request_from,
)
from calibrant.cli.logs import (
    FieldOption,
    OriginOption,
    PassMarkOption,
    Reading,
    ScorerOption,
    WordsOption,
    source_of,
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
    RiskOption,
    ScaleOption,
    SeedOption,
    ToleranceOption,
    WeightOption,
    is_passed,
    names_of,
    passed_options,
)
from calibrant.cli.progress import progress
from calibrant.cli.show import next_command, recalibrate_command, show_screen
from calibrant.cli.write import check_files, print_line, print_text, print_written, write_text

if TYPE_CHECKING:
    from calibrant.data.labels import Labels
    from calibrant.data.paths import Files
    from calibrant.decisions import DecisionTask
    from calibrant.inputs import KindRequest, Roles, Source
    from calibrant.multiclass import MulticlassDecisionTask
    from calibrant.recalibration import Calibrator
    from calibrant.survival import Survival

# Options that make no sense for continuous outcomes.
OF_PROBABILITIES = (
    "classes",
    "count",
    "calibrator_file",
    "na_label",
    "neg_label",
    "origin",
    "pass_mark",
    "pos_label",
    "positives",
    "prediction_sum",
    "risk",
    "scale",
    "scorer",
    "task",
    "time",
)
# Of those, options that make sense for risks by a horizon.
OF_RISKS = ("task", "time")
STAGES = ["reading", "verdict", "every measure", "what to do", "costs"]


def audit(
    context: typer.Context,
    files: FilesArgument,
    prediction: PredictionOption = "prediction",
    outcome: OutcomeOption = "outcome",
    weight: WeightOption = None,
    count: CountOption = None,
    positives: PositivesOption = None,
    prediction_sum: PredictionSumOption = None,
    by: ByOption = None,
    pairs: Annotated[  # noqa: FBT002
        bool, typer.Option("--pairs", help="Judge pairs of the columns of --by as well.")
    ] = False,
    find_segments: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--find-segments", help="Look for the worst combinations of the columns of --by."
        ),
    ] = False,
    cluster: ClusterOption = None,
    tolerance: ToleranceOption = None,
    gap_tolerance: GapToleranceOption = None,
    oe_tolerance: RatioToleranceOption = None,
    risk: RiskOption = None,
    confidence: ConfidenceOption = 0.95,
    time: Annotated[str | None, typer.Option(help="Column of times, for windows.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Your decision: a TOML, JSON or CSV file of payoffs.")
    ] = None,
    calibrator_file: Annotated[
        str | None,
        typer.Option(
            "--calibrator", help="JSON file of a calibrator: audit the forecasts after it."
        ),
    ] = None,
    html: Annotated[str | None, typer.Option(help="File for the report as HTML.")] = None,
    json: Annotated[str | None, typer.Option(help="File for JSON, or - for stdout.")] = None,
    markdown: Annotated[
        str | None, typer.Option(help="File for a Markdown summary, or - for stdout.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the forecasts are about.")] = None,
    pos_label: PosLabelOption = None,
    neg_label: NegLabelOption = None,
    na_label: NaLabelOption = None,
    scale: ScaleOption = PredictionScale.UNIT,
    na: MissingOption = Missing.REFUSE,
    seed: SeedOption = 0,
    classes: ClassesOption = None,
    kind: KindOption = None,
    range_: RangeOption = None,
    level: LevelOption = None,
    horizon: HorizonOption = None,
    duration: DurationOption = None,
    origin: OriginOption = None,
    scorer: ScorerOption = None,
    pass_mark: PassMarkOption = None,
    field: FieldOption = None,
    words: WordsOption = None,
    full: Annotated[bool, typer.Option("--full", help="Print all numbers.")] = False,  # noqa: FBT002
    quiet: Annotated[  # noqa: FBT002
        bool, typer.Option("--quiet", help="Print the verdict, on one line.")
    ] = False,
) -> None:
    """Tell how far the forecasts in a file can be trusted."""
    check_files(
        {"--html": html, "--json": json, "--markdown": markdown},
        [*files, task, words, calibrator_file],
    )
    from calibrant.data.labels import Labels
    from calibrant.inference import Settings
    from calibrant.inputs import Roles
    from calibrant.report import AuditOptions, audit_source

    all_numbers = full or html is not None or json is not None
    further = {
        "groups": by,
        "segments": find_segments or None,
        "windows of time": time,
        "classes": classes,
        "sets of classes": classes,
        "distance to calibration": all_numbers or None,
        "pictures": html,
    }
    requested = [stage for stage, option in further.items() if option is not None]
    with progress([*STAGES, *requested]) as report_stage:
        report_stage("reading")
        roles = Roles(
            prediction,
            outcome,
            weight,
            cluster,
            names_of(by, "--by"),
            time,
            count,
            positives,
            pairs,
            find_segments,
            classes=names_of(classes, "--classes"),
            prediction_sum=prediction_sum,
            find_keys=True,
        )
        fitted = None if calibrator_file is None else _loaded(calibrator_file)
        scale = _scale_of(context, scale, fitted)
        reader = _Reader(
            roles,
            Reading(origin, scorer, pass_mark, scale, field, words, typed_of(context)),
            Labels.of(pos_label, neg_label, na_label),
            title,
            None if fitted is None else (fitted, Path(str(calibrator_file)).name),
            drop_missing=na is Missing.DROP,
        )
        request = request_from(kind, range_, level, horizon, duration)
        source, decided = reader.read(files, request, passed_options(context, OF_PROBABILITIES))
        record = {"command": shlex.join(["calibrant", *sys.argv[1:]])}
        source = replace(source, described=source.described | record)
        settings = Settings.read(
            confidence=confidence,
            tolerance=tolerance,
            gap_tolerance=gap_tolerance,
            rng=seed,
            kind=source.kind,
        )
        audit_options = AuditOptions(
            None if task is None else _task_from(task, of_classes=classes is not None),
            None if oe_tolerance is None else share_from("oe_tolerance", oe_tolerance),
            None if risk is None else share_from("risk", risk),
            find_segments,
            all_numbers,
            None if calibrator_file is not None else recalibrate_command(context),
        )
        result = audit_source(source, settings, audit_options, report_stage)
        if html is not None:
            report_stage("pictures")
            page = result.to_html()
    if html is not None:
        write_text(page, html)
    if json is not None:
        write_text(result.to_json(), json)
    if markdown is not None:
        write_text(result.to_markdown(), markdown)
    if "-" in {json, markdown}:
        return
    written = {"report": html, "JSON": json, "Markdown": markdown}
    if quiet:
        print_line(result.line)
    elif full:
        print_text(f"{result.to_text()}\n" if any(written.values()) else result.to_text())
        print_written(written)
    else:
        show_screen(result, next_command(context, result), written=written, decided=decided)


@dataclass(frozen=True, slots=True)
class _Reader:
    """How files are read, as probabilities or as continuous outcomes."""

    roles: Roles
    how: Reading
    labels: Labels
    title: str | None
    calibrator: tuple[Calibrator, str] | None
    """A calibrator that the forecasts go through first, and the name of its file."""
    drop_missing: bool

    def read(
        self,
        files: list[str],
        request: KindRequest | Survival | None,
        of_probabilities: Mapping[str, object],
    ) -> tuple[Source, tuple[str, ...]]:
        """Return the forecasts, and what was decided about a log."""
        from calibrant.inputs import KindRequest

        if isinstance(request, KindRequest):
            return self._read_kind(files, request, of_probabilities), ()
        if request is not None:
            return self._read_survival(files, request, of_probabilities), ()
        plain = not of_probabilities and not (self.how.percent or self.how.logits)
        source, decided = source_of(
            files,
            self.roles,
            self.how,
            self.title,
            self._assumed if plain else lambda _: None,
            labels=self.labels,
            drop_missing=self.drop_missing,
        )
        if self.calibrator is not None:
            from calibrant.recalibration import recalibrated

            source = recalibrated(source, *self.calibrator) if source.kind.summed else source
        return source, decided

    def _assumed(self, files: Files) -> Source | None:
        return assumed_mean(files, self.roles, drop_missing=self.drop_missing, title=self.title)

    def _read_survival(
        self, files: list[str], request: Any, of_probabilities: Mapping[str, object]
    ) -> Source:
        from calibrant.report import refuse_options_of_probabilities
        from calibrant.survival import read_survival

        kept = {name: value for name, value in of_probabilities.items() if name not in OF_RISKS}
        refuse_options_of_probabilities(kept, request.kind)
        return read_survival(
            files, self.roles, request, drop_missing=self.drop_missing, title=self.title
        )

    def _read_kind(
        self, files: list[str], request: KindRequest, of_probabilities: Mapping[str, object]
    ) -> Source:
        from calibrant.inputs import read
        from calibrant.report import refuse_options_of_probabilities

        refuse_options_of_probabilities(of_probabilities, request.name)
        roles = replace(self.roles, kind=request)
        return read(files, None, roles, drop_missing=self.drop_missing, title=self.title)


def _loaded(calibrator_file: str) -> Calibrator:
    from calibrant.recalibration import load_of_probabilities

    return load_of_probabilities(calibrator_file)


def _scale_of(
    context: typer.Context, scale: PredictionScale, fitted: Calibrator | None
) -> PredictionScale:
    """Units of the predictions: the option's, or those of the calibrator."""
    return (
        scale if fitted is None or is_passed(context, "scale") else PredictionScale(fitted.scale_)
    )


def _task_from(file: str, *, of_classes: bool) -> DecisionTask | MulticlassDecisionTask:
    from calibrant.decisions import DecisionTask
    from calibrant.multiclass import MulticlassDecisionTask

    kind = MulticlassDecisionTask if of_classes else DecisionTask
    return kind.from_file(file)

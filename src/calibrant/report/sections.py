"""What an audit is made of: one small thing for each section, found by other packages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._base.options import Tolerance
from calibrant._base.stages import StageReporter
from calibrant._base.words import count_text, thousands_text
from calibrant.data.groupings import gathered_name
from calibrant.decisions import DecisionTask, LossDecomposition, loss_decomposition
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.inference import (
    CertifiedThreshold,
    Costs,
    Evidence,
    Evidences,
    ObservedRange,
    Settings,
    find_bias,
    find_certified,
    find_costs,
    observed_ranges,
)
from calibrant.inputs import Source
from calibrant.joint.classes import ClassForecasts

# The setting of a tolerance that was given in per cent.
RELATIVE = "tolerance relative to the rarer outcome"
# The group of labels that are too rare to have one each.
GATHERED = re.compile(re.escape(gathered_name(0)).replace("0", r"(\d+)"))

if TYPE_CHECKING:
    from calibrant.groups import Division, Groups, Segment
    from calibrant.monitoring import MonitoredGroup
    from calibrant.multiclass import ClassJudgement, SetsAndRows


@dataclass(frozen=True, slots=True)
class Data:
    """What was read. Of classes, predictions are the confidence in the most likely one."""

    rows: int
    levels: int
    forecast: float
    """Mean forecast; of quantiles and intervals the share of outcomes that was promised."""
    observed: float
    """Observed rate, mean or share; of classes, how often the most likely one was right."""
    clipped: int
    dropped: int
    """Rows with a missing value that were left out on request."""
    fingerprint: str
    """Hash of predictions and outcomes; the order of the rows does not matter."""
    notes: tuple[str, ...]
    """How labels and files were read."""


@dataclass(frozen=True, slots=True)
class LossSection:
    """What a kind has instead of costs of decisions: its own loss, and the mean residual."""

    name: str
    value: float
    bias: tuple[float, float, float]
    """Mean residual and its interval: positive where forecasts are too low."""
    decomposition: LossDecomposition | None
    """What the loss is made of; None for intervals."""


def describe(source: Source, evidence: Evidence) -> Data:
    """Describe the forecasts that were read."""
    joint = source.joint
    forecast, observed = evidence.forecast_and_observed()
    return Data(
        rows=joint.row_count,
        levels=len(joint),
        forecast=forecast,
        observed=observed,
        clipped=source.clipped,
        dropped=source.dropped,
        fingerprint=source.fingerprint,
        notes=source.notes,
    )


def gathered_notes(source: Source, groups: Groups) -> tuple[str, ...]:
    """Say of columns with very many labels that the rarest of them share a group."""
    sizes = {group.by: 0 for group in groups}
    for group in groups:
        sizes[group.by] += 1
    notes = []
    for group in groups:
        found = GATHERED.match(group.name)
        if found is not None and sizes[group.by] > source.roles.most_levels:
            notes.append(
                f"column {group.by!r} has more than {source.roles.most_levels} labels: the "
                f"{thousands_text(int(found[1]))} rarest share the group {group.name!r}, "
                f"{count_text(group.rows, 'row')}"
            )
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class ClassSection:
    """What can be said of classes beyond the confidence in the most likely one."""

    names: tuple[Any, ...]
    by_class: Groups
    """One verdict per class, all holding at once."""
    worth: ClassJudgement
    """Scores, accuracy and smooth errors of the forecasts as they are."""
    sets: SetsAndRows
    """The worst set of classes, and whole rows."""
    sum_gap: float
    """Largest distance of a row's sum from one."""


def judge_each_class(
    forecasts: ClassForecasts, clusters: object, settings: Settings, report_stage: StageReporter
) -> ClassSection:
    """Judge every class, the worst set of classes and whole rows."""
    from calibrant.multiclass import class_wise, judge, judge_classes, judge_sets_and_rows

    report_stage("classes")
    errors = class_wise(forecasts)
    by_class = judge_classes(forecasts, clusters, settings.for_section(), errors.values.tolist())
    report_stage("sets of classes")
    sets = judge_sets_and_rows(forecasts, clusters, settings.for_section())
    worth = judge(forecasts, errors)
    return ClassSection(forecasts.classes, by_class, worth, sets, forecasts.sum_gap)


def look_for_segments(
    divided: Division | Evidences | None, settings: Settings
) -> tuple[Segment, ...]:
    """Look for the worst combinations of columns on one half of the rows; judge on the other."""
    from calibrant.groups import Division, no_columns, search_segments

    if not isinstance(divided, Division):
        raise no_columns()
    level = 1 - settings.confidence
    return search_segments(divided.rows, divided.parts, level, settings.rng, divided.clusters)


def monitor_source(source: Source, tolerance: Tolerance | None) -> MonitoredGroup | None:
    """Describe windows of time, and what a monitor says; None without times."""
    if source.times is None or source.rows is None:
        return None
    from calibrant.monitoring import run_at_large

    return run_at_large(source.rows, source.times, tolerance, source.clusters)


def loss_and_ranges(
    source: Source, evidence: Evidence, confidence: float
) -> tuple[LossSection, tuple[ObservedRange, ...]]:
    """Find the loss of a kind, its parts, the mean residual, and what ranges show."""
    rows = evidence.rows
    assert rows is not None  # noqa: S101  # such kinds are known by rows
    loss = LossSection(
        rows.kind.loss_name,
        rows.mean_of(rows.losses),
        find_bias(evidence, confidence),
        None if rows.kind.has_ends else loss_decomposition(rows),
    )
    assert source.rows is not None  # noqa: S101
    return loss, observed_ranges(source.rows, evidence, confidence, source.clusters)


def answer_from(
    source: Source, risk: float | None, settings: Settings
) -> tuple[CertifiedThreshold | None, tuple[str, ...]]:
    """Certify from which forecast on to act, if a risk is allowed; or say why that cannot be."""
    allowed = source.risk if risk is None else risk
    if allowed is None:
        return None, ()
    arguments = (source.joint, source.rows, allowed, settings.confidence, source.clusters)
    try:
        return find_certified(*arguments, source.answered_by), ()
    except InferenceRefusedError as error:
        if risk is not None:
            raise
        return None, (f"no threshold was looked for: {error.what}, got {error.got}",)


def cost_of_trust(source: Source, evidence: Evidence, task: object, settings: Settings) -> Costs:
    """Find what trusting the forecasts costs, in general and in the reader's own task."""
    if source.classes is None and task is None:
        return find_costs(evidence, settings)
    from calibrant.multiclass import MulticlassDecisionTask, find_class_costs

    if source.classes is None:
        if isinstance(task, MulticlassDecisionTask):
            raise InvalidOptionError("@task must be a DecisionTask", "a task for classes")
        assert isinstance(task, DecisionTask)  # noqa: S101  # types say so
        return find_costs(evidence, settings, task)
    if isinstance(task, DecisionTask):
        raise InvalidOptionError(
            "@task must be a MulticlassDecisionTask", "a task for two outcomes", "pay by class"
        )
    assert task is None or isinstance(task, MulticlassDecisionTask)  # noqa: S101  # types say so
    costs = find_costs(evidence, settings)
    return find_class_costs(costs, source.classes, task, alone=source.clusters is None)

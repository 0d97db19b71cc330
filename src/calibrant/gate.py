"""A gate for releases: every check holds, one fails, or the rows leave it undecided."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calibrant._base.exit_codes import ExitCode
from calibrant._base.options import Tolerance, check_share, share_from, tolerance_from
from calibrant._base.stages import StageReporter, silent
from calibrant._base.words import capital, count_text, escaped, markdown_table, page
from calibrant.errors import InvalidOptionError
from calibrant.groups import Division, groups_of, judge_groups
from calibrant.inference import (
    CALIBRATED,
    MISCALIBRATED,
    UNDECIDED,
    Evidence,
    Evidences,
    Groups,
    RatioJudgement,
    RatioVerdict,
    Settings,
    Statistic,
    compare,
    dependence_of,
    find_interval,
    find_ratio,
    find_verdict,
    state_of,
    worse_state,
)
from calibrant.inputs import Pairs, Source
from calibrant.joint.classes import ClassForecasts
from calibrant.multiclass import judge_classes

PASSED, FAILED = "passed", "failed"
EXIT_CODES = {
    PASSED: ExitCode.PASSED,
    FAILED: ExitCode.FAILED,
    UNDECIDED: ExitCode.UNDECIDED,
}
SCHEMA = 1
HEADLINE = "smooth_calibration_error"
STATES = {CALIBRATED: PASSED, MISCALIBRATED: FAILED}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold."""

    name: str
    state: str
    """"passed", "failed" or "undecided"."""
    sentence: str
    value: float
    low: float
    high: float
    limit: float


@dataclass(frozen=True, slots=True)
class Gate:
    """All checks of a release."""

    title: str
    rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """How the forecasts were read."""

    @property
    def state(self) -> str:
        """Failed if any check fails, else whatever the least certain one says."""
        states = {check.state for check in self.checks}
        return next(state for state in (FAILED, UNDECIDED, PASSED) if state in states)

    @property
    def exit_code(self) -> int:
        """0 if everything holds, 1 if something fails, 3 if the rows leave it undecided."""
        return int(EXIT_CODES[self.state])

    def __str__(self) -> str:
        lines = [f"{self.state}: {self.title}, {count_text(self.rows, 'row')}"]
        lines += [f"{check.state:<12} {check.name}: {check.sentence}" for check in self.checks]
        lines += [f"note: {note}" for note in self.notes]
        return page(lines)

    def to_markdown(self) -> str:
        """Write the checks as a table for the summary of a build."""
        rows = [
            [
                escaped(check.name),
                check.state,
                f"{check.value:.4f}",
                f"{check.low:.4f} and {check.high:.4f}",
                f"{check.limit:.4g}",
            ]
            for check in self.checks
        ]
        items = [f"- {escaped(check.sentence)}" for check in self.checks]
        items += [f"- {escaped(note)}" for note in self.notes]
        head = f"## Calibration gate: {self.state}"
        lines = [
            head,
            "",
            *markdown_table(["check", "state", "value", "between", "limit"], rows),
            "",
            *items,
        ]
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, of a stable shape."""
        names = Check.__dataclass_fields__
        return {
            "schema": SCHEMA,
            "state": self.state,
            "exit_code": self.exit_code,
            "title": self.title,
            "rows": self.rows,
            "checks": [
                {name: _finite(getattr(check, name)) for name in names} for check in self.checks
            ],
            "notes": list(self.notes),
        }


def _finite(value: str | float) -> str | float | None:
    """Return what JSON knows: a ratio may be infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier release to compare with."""

    max_worse: float
    source: Source | None = None
    """Its own rows, when they cannot be joined with the new ones."""
    pairs: Pairs | None = None
    """The same rows with both predictions."""
    alone: bool = False
    """Whether the difference is all that is judged."""


def run_gate(
    source: Source,
    limits: Mapping[str, Tolerance | None],
    settings: Settings,
    baseline: Baseline | None = None,
    report_stage: StageReporter = silent,
    *,
    oe_tolerance: float | str | None = None,
) -> Gate:
    """Check forecasts against a tolerance for each measure, their groups, and a baseline.

    With a tolerance for observed over expected events these are checked as well, of all rows and
    of each group.

    Forecasts of classes must have calibrated confidence in the most likely class, and every class
    must be calibrated.
    """
    evidence, start = Evidence.of_source(source), settings.for_section()
    checks: list[Check] = []
    if baseline is None or not baseline.alone:
        report_stage("measures")
        about = "" if source.classes is None else " of the confidence"
        checks += _measures(evidence, limits, settings, about)
        if source.classes is not None:
            report_stage("classes")
            checks.append(_classes(source.classes, source.clusters, limits, start.for_section()))
        divided, groups = groups_of(source), None
        if divided is not None:
            report_stage("groups")
            groups = _groups(source, divided, limits, start.for_section())
            checks.append(_judged(groups))
        if oe_tolerance is not None:
            share = share_from("oe_tolerance", oe_tolerance)
            checks += _ratios(evidence, groups, share, settings, about)
    if baseline is not None:
        report_stage("baseline")
        checks.append(_baseline(evidence, baseline, start.for_section()))
    notes, doubt = source.all_notes, dependence_of(source)
    if doubt is not None:
        notes = (*notes, f"{doubt.sentence}; {doubt.advice}")
    return Gate(source.title, source.joint.row_count, tuple(checks), notes)


def read_limits(measures: list[str], tolerance: float | str | None) -> dict[str, Tolerance | None]:
    """Read `name` or `name=tolerance`; without a tolerance of its own the common one holds."""
    common = None if tolerance is None else tolerance_from("tolerance", tolerance)
    limits: dict[str, Tolerance | None] = {}
    for text in measures or [HEADLINE]:
        name, _, own = text.partition("=")
        if name.strip() in limits:
            raise InvalidOptionError("a measure must be named once", repr(name.strip()))
        limits[name.strip()] = tolerance_from(f"the tolerance of {name}", own) if own else common
    return limits


def _measures(
    evidence: Evidence, limits: Mapping[str, Tolerance | None], settings: Settings, about: str
) -> Iterator[Check]:
    for name, limit in limits.items():
        own = replace(settings, tolerance=limit)
        verdict = find_verdict(evidence, Statistic.of(name), own)
        error, gap = verdict.interval, verdict.gap
        yield Check(
            f"{name.replace('_', ' ')}{about}",
            STATES.get(verdict.error_state, UNDECIDED),
            f"{capital(verdict.error_sentence)}. {verdict.outlook}".strip(),
            error.value,
            error.low,
            error.high,
            verdict.tolerance,
        )
        if gap is not None and gap.tolerance < 1:
            yield Check(
                f"typical gap{about}",
                STATES.get(gap.state, UNDECIDED),
                f"{capital(verdict.gap_sentence)}.",
                gap.interval.value,
                gap.interval.low,
                gap.interval.high,
                gap.tolerance,
            )


def _groups(
    source: Source,
    divided: Division | Evidences,
    limits: Mapping[str, Tolerance | None],
    settings: Settings,
) -> Groups:
    name, limit = next(iter(limits.items()))
    own = replace(settings, tolerance=limit).settled(source.joint)
    return judge_groups(divided, Statistic.of(name), own)


def _ratios(
    evidence: Evidence, groups: Groups | None, tolerance: float, settings: Settings, about: str
) -> Iterator[Check]:
    """Check observed over expected events of all rows, and of each group at once."""
    ratio = find_ratio(evidence, settings.confidence)
    judged = RatioJudgement.of(ratio, groups, tolerance)
    name = f"observed over expected{about}"
    yield _ratio(name, judged.overall, judged.overall.state, judged.overall.sentence)
    if judged.groups:
        label, worst = judged.worst
        name = f"{name}, {count_text(len(judged.groups), 'group')}, worst {label}"
        yield _ratio(name, worst, judged.state_of_groups, judged.sentence_of_groups)


def _ratio(name: str, verdict: RatioVerdict, state: str, sentence: str) -> Check:
    ratio = verdict.ratio
    limit = 1 + verdict.tolerance
    state = STATES.get(state, UNDECIDED)
    return Check(name, state, sentence, ratio.value, ratio.low, ratio.high, limit)


def _classes(
    forecasts: ClassForecasts,
    clusters: object,
    limits: Mapping[str, Tolerance | None],
    settings: Settings,
) -> Check:
    """Check the smooth error of every class, by intervals that hold at once."""
    own = replace(settings, tolerance=limits.get(HEADLINE))
    return _judged(judge_classes(forecasts, clusters, own))


def _judged(groups: Groups) -> Check:
    """Pass if all groups are certainly within the tolerance, fail if one is certainly beyond."""
    state = worse_state(*(group.state for group in groups))
    worst = next(group for group in groups if group.state == state)
    value, low, high, limit = worst.value, worst.low, worst.high, groups.tolerance
    about = ""
    if worst.gap is not None and state_of(low, high, limit) != state:
        value, low, high = worst.gap.value, worst.gap.low, worst.gap.high
        limit, about = groups.gap_tolerance or 1.0, ", typical gap"
    return Check(
        f"{count_text(len(groups), groups.noun)}, worst {worst.label}{about}",
        STATES.get(state, UNDECIDED),
        groups.sentence,
        value,
        low,
        high,
        limit,
    )


def _baseline(evidence: Evidence, baseline: Baseline, settings: Settings) -> Check:
    check_share("max_worse", baseline.max_worse)
    if baseline.pairs is not None:
        pairs = baseline.pairs
        paired = compare(
            pairs.outcome,
            pairs.old,
            pairs.new,
            sample_weight=pairs.weight,
            clusters=pairs.clusters,
            confidence=settings.confidence,
            draws=settings.draws,
            rng=settings.rng,
        )
        value, low, high = paired.difference, paired.low, paired.high
        how = f"on the same rows, {pairs.sentence}"
    else:
        # Two samples: each interval may miss with half of the chance.
        half = replace(settings, confidence=(1 + settings.confidence) / 2)
        statistic = Statistic.of(HEADLINE)
        others = Evidence.of_source(baseline.source) if baseline.source else evidence
        old_one = find_interval(others, statistic, half)
        new_one = find_interval(evidence, statistic, half)
        value = new_one.value - old_one.value
        low, high = new_one.low - old_one.high, new_one.high - old_one.low
        how = "on rows of its own"
    limit = baseline.max_worse
    state = state_of_difference(low, high, limit)
    sentence = (
        f"the smooth calibration error changed by {value:+.4f} from the baseline {how} "
        f"(between {low:+.4f} and {high:+.4f}); at most {limit:+.4g} is allowed."
    )
    return Check("not worse than the baseline", state, sentence, value, low, high, limit)


def state_of_difference(low: float, high: float, limit: float) -> str:
    """Say whether a difference is certainly below a limit, certainly above, or neither."""
    return PASSED if high < limit else FAILED if low > limit else UNDECIDED

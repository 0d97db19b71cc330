"""First step of an audit: everything it says, as plain data, section by section."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.options import ShareOfRarer, enough_draws
from calibrant._base.stages import StageReporter, silent
from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidOptionError
from calibrant.inference import (
    DETECTABLE,
    DRAWS_FOR_ICI,
    MISCALIBRATED,
    CertifiedThreshold,
    ClassicalNumbers,
    Costs,
    Dependence,
    Evidence,
    Measured,
    ObservedRange,
    RatioJudgement,
    Settings,
    Statistic,
    Verdict,
    dependence_of,
    find_classical,
    find_verdict,
    measure_all,
    state_with,
)
from calibrant.inputs import Source
from calibrant.joint import Joint
from calibrant.kinds import CONFIDENCES, Kind, Vocabulary
from calibrant.measures import DistanceBracket
from calibrant.measures.conventions import Convention, conventions
from calibrant.measures.regions import Region, opposite_region, region_of, strongest_region
from calibrant.report.advice import advise
from calibrant.report.distances import find_distances
from calibrant.report.findings import Finding, findings
from calibrant.report.recalibrate_command import RecalibrateCommand
from calibrant.report.sections import (
    RELATIVE,
    ClassSection,
    Data,
    LossSection,
    answer_from,
    cost_of_trust,
    describe,
    gathered_notes,
    judge_each_class,
    look_for_segments,
    loss_and_ranges,
    monitor_source,
)
from calibrant.report.traps import Trap, find_traps

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment
    from calibrant.monitoring import MonitoredGroup
    from calibrant.multiclass import MulticlassDecisionTask
    from calibrant.plots import ReliabilityDisplay
    from calibrant.recalibration import ContinuousRecalibration, Recalibration

# The measure of the verdict.
HEADLINE = "smooth_calibration_error"
MULTICLASS = "multiclass"


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit reports beyond what it always reports."""

    task: DecisionTask | MulticlassDecisionTask | None = None
    """The reader's own decision."""
    oe_tolerance: float | None = None
    """Share by which observed events may differ from those expected."""
    risk: float | None = None
    """Share of outcomes 0 that is allowed where one acts on the forecast, if one is given."""
    segments: bool = False
    """Whether to look for the worst combinations of the columns of the groups."""
    distances: bool = False
    """Whether to find the distance to calibration at once, rather than at first use."""
    recalibrate_command: RecalibrateCommand | None = None
    """What recalibrates the forecasts, where the command that audits them knows."""


@dataclass(frozen=True)
class Summary:
    """What an audit found.

    Of forecasts of classes, all sections but `classes`, `choice` and `costs` are about the
    confidence in the most likely class.
    """

    title: str
    data: Data
    """What was read."""
    evidence: Evidence = field(repr=False)
    """The forecasts, with what is needed to say what chance does."""
    verdict: Verdict
    """Whether the smooth error is within the tolerance."""
    measured: Measured
    """Every audited measure of the catalogue, beside its noise floor."""
    classes: ClassSection | None
    """Verdicts on classes, sets of them and whole rows; None for two outcomes."""
    groups: Groups | None
    """One verdict per group, if groups were requested."""
    ratios: RatioJudgement | None
    """Observed over expected events against a tolerance, if one was given."""
    segments: tuple[Segment, ...] | None
    """Combinations of columns that are worst, judged by rows that did not choose them."""
    watched: MonitoredGroup | None
    """Windows of time and what a monitor says, if times were given."""
    choice: Recalibration | ContinuousRecalibration | None
    """The calibrator that would help most on rows it has not seen; None where rows allow no
    choice."""
    certified: CertifiedThreshold | None
    """From which forecast on outcomes 0 are as few as requested, if that was requested."""
    costs: Costs | None
    """What trusting the forecasts costs a decision maker; None where nothing is decided by them."""
    classical: ClassicalNumbers | None
    """Slope, intercepts, observed over expected, and so on; None but for events."""
    loss: LossSection | None
    """The loss of the kind, what it is made of, and the mean residual; None for events."""
    ranges: tuple[ObservedRange, ...]
    """What was observed in ranges of the forecasts; none for events, which have a diagram."""
    conventions: tuple[Convention, ...]
    """The classic binned error as other programs define it."""
    settings: dict[str, object]
    """What the numbers depend on beside the data."""
    recalibrate_command: RecalibrateCommand | None = None
    """What recalibrates the forecasts, where that is known."""
    dependence: Dependence | None = None
    """What suggests that rows depend on each other, where nobody said that they do."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def kind(self) -> Kind:
        """What the forecasts are forecasts of; of classes, of which one is the most likely."""
        return self.evidence.kind

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats of the kind."""
        return self.kind.words if self.classes is None else CONFIDENCES

    @property
    def kind_name(self) -> str:
        """How users name the kind, without its level."""
        return MULTICLASS if self.classes is not None else self.kind.name.partition("=")[0]

    @property
    def turned_round(self) -> bool:
        """Whether higher forecasts clearly had the outcome less often, as with the wrong label."""
        return self.classical is not None and self.classical.slope.high < 0

    @property
    def detected(self) -> bool:
        """Whether forecasts are off beyond what chance explains."""
        return self.verdict.state == MISCALIBRATED or self.verdict.pvalue <= DETECTABLE

    @cached_property
    def traps(self) -> tuple[Trap, ...]:
        """What makes these forecasts not worth judging: copies, labels, one class and the like."""
        return find_traps(self)

    @property
    def spoiled(self) -> bool:
        """Whether no calibrator can be learned from these rows."""
        return any(trap.spoils_maps for trap in self.traps)

    @property
    def censored(self) -> bool:
        """Whether outcomes are those of risks by a horizon, which only an audit can read."""
        return "horizon" in self.settings

    @property
    def joint(self) -> Joint:
        """The forecasts."""
        return self.evidence.full_joint

    @cached_property
    def distances(self) -> DistanceBracket:
        """How far from calibrated the forecasts are at least and at most, on these rows.

        Found at first use: one screen does without.
        """
        return find_distances(self.joint)

    @cached_property
    def diagram(self) -> ReliabilityDisplay:
        """The reliability diagram, which points where the words do; found at first use."""
        from calibrant.plots import ReliabilityDisplay

        verdict = self.verdict
        unseen = verdict.gap is not None and verdict.test.headline.pvalue > DETECTABLE
        return ReliabilityDisplay.of_evidence(
            self.evidence,
            verdict.interval.confidence,
            detected=verdict.pvalue <= DETECTABLE,
            region=verdict.gap.worst if verdict.gap is not None and unseen else None,
            error=self.measured.values[HEADLINE],
            parts=None if self.costs is None else self.costs.decomposition,
        )

    @cached_property
    def diagram_after(self) -> ReliabilityDisplay | None:
        """The same after the proposed calibrator, on one held-out fold; None without one."""
        held_out = getattr(self.choice, "held_out", None)
        if self.choice is None or self.choice.unchanged or held_out is None:
            return None
        return self.diagram.redrawn(held_out)

    @cached_property
    def worst(self) -> Region | None:
        """Where forecasts are most clearly off; of numbers, None where chance explains all of it.

        Where the smooth error sees nothing beyond chance, the worst range of the typical gap.
        """
        verdict = self.verdict
        if not (self.kind.summed or self.detected):
            return None
        if verdict.gap is not None and verdict.test.headline.pvalue > DETECTABLE:
            return verdict.gap.worst
        region, rows = self._strongest, self.evidence.rows
        if region is None or rows is None or self.kind.summed:
            return region
        return region_of(rows, region.low, region.high)

    @cached_property
    def _strongest(self) -> Region | None:
        """The range, on the scale of the Joint, where the smooth error sees the clearest bias."""
        witness = self.measured.values[HEADLINE].witness
        return strongest_region(
            self.joint, witness(self.evidence.scale.coordinates(self.prediction))
        )

    @property
    def prediction(self) -> Floats:
        """The levels of the Joint."""
        return self.joint.prediction

    @cached_property
    def other(self) -> Region | None:
        """Where forecasts are off the other way, clearly and by more than is tolerated.

        Not looked for among clusters: one of them may be a range of its own.
        """
        region = self.worst if self.kind.summed else self._strongest
        if region is None or self.evidence.clusters is not None:
            return None
        unseen = self.worst is None or self.verdict.test.headline.pvalue > DETECTABLE
        if not self.kind.summed and unseen:
            return None
        found = opposite_region(self.joint, region, *self.evidence.noise_of_rows())
        rows = self.evidence.rows
        if found is not None and rows is not None and not self.kind.summed:
            found = region_of(rows, found.low, found.high)
        if found is None or abs(found.outcome - found.prediction) <= self.verdict.tolerance:
            return None
        return found

    @property
    def judged(self) -> tuple[Groups | None, ...]:
        """Groups and classes that have verdicts of their own."""
        return self.groups, None if self.classes is None else self.classes.by_class

    @property
    def state(self) -> str:
        """State of the verdict, or "miscalibrated" where a group or a class is."""
        return state_with(self.verdict, self.judged)

    @property
    def where(self) -> str:
        """Where forecasts are most clearly off, in words."""
        return "no forecast is off" if self.worst is None else self.worst.sentence

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know and what to do, issues first."""
        return findings(self)


def summarise(
    source: Source, settings: Settings, options: AuditOptions, report_stage: StageReporter = silent
) -> Summary:
    """Judge and measure everything that makes sense for the forecasts."""
    report_stage("verdict")
    evidence = Evidence.of_source(source)
    headline, of_events = Statistic.of(HEADLINE), source.kind.summed
    start = settings.for_section()
    verdict = find_verdict(evidence, headline, settings, options.oe_tolerance)
    if not of_events:
        _refuse_ratio(source, verdict, options)
    report_stage("every measure")
    measured = measure_all(evidence, start.for_section())
    floors = measured.floors | {HEADLINE: verdict.noise_floor}
    classes = None
    if source.classes is not None:
        classes = judge_each_class(source.classes, source.clusters, start, report_stage)
    report_stage("what to do")
    choice = advise(source, evidence, start.for_section())
    ranges: tuple[ObservedRange, ...] = ()
    costs, classical, loss = None, None, None
    if of_events:
        report_stage("costs")
        costs = cost_of_trust(source, evidence, options.task, start.for_section())
        draws = min(settings.draws, enough_draws(DRAWS_FOR_ICI, settings.confidence))
        classical = find_classical(evidence, replace(start.for_section(), draws=draws))
    else:
        loss, ranges = loss_and_ranges(source, evidence, settings.confidence)
    groups, divided = None, None
    if source.by or source.groups:
        from calibrant.groups import groups_of, judge_groups

        divided = groups_of(source)
    if divided is not None:
        report_stage("groups")
        groups = judge_groups(divided, headline, start.for_section().settled(evidence))
    shared = () if groups is None else gathered_notes(source, groups)
    segments = None
    if options.segments:
        report_stage("segments")
        segments = look_for_segments(divided, start.for_section())
    if source.times is not None:
        report_stage("windows of time")
    watched = monitor_source(source, settings.tolerance)
    ratios = None
    if options.oe_tolerance is not None and classical is not None:
        ratios = RatioJudgement.of(classical.ratio, groups, options.oe_tolerance)
    certified, uncertified = answer_from(source, options.risk, start.for_section())
    data = describe(source, evidence)
    summary = Summary(
        title=source.title,
        data=replace(data, notes=(*data.notes, *shared, *uncertified)),
        evidence=evidence,
        verdict=verdict,
        measured=replace(measured, floors=floors),
        classes=classes,
        groups=groups,
        ratios=ratios,
        segments=segments,
        watched=watched,
        choice=choice,
        certified=certified,
        costs=costs,
        classical=classical,
        loss=loss,
        ranges=ranges,
        conventions=conventions(evidence.full_joint) if of_events else (),
        settings=_settings(source, settings, options, verdict, classes),
        recalibrate_command=options.recalibrate_command,
        dependence=dependence_of(source),
    )
    if options.distances and of_events:
        report_stage("distance to calibration")
        _ = summary.distances  # kept for later calls
    return summary


def _refuse_ratio(source: Source, verdict: Verdict, options: AuditOptions) -> None:
    """Refuse a tolerance of observed over expected where these have no sums to compare."""
    if options.oe_tolerance is not None and verdict.ratio is None:
        raise InvalidOptionError(
            "@oe_tolerance is for means of outcomes and forecasts that are not negative",
            f"kind={source.kind.name!r}",
            "leave it out",
        )


def _settings(
    source: Source,
    settings: Settings,
    options: AuditOptions,
    verdict: Verdict,
    classes: ClassSection | None,
) -> dict[str, object]:
    relative = {}
    if isinstance(settings.tolerance, ShareOfRarer):
        relative = {RELATIVE: str(settings.tolerance)}
    ratio = {} if options.oe_tolerance is None else {"O/E tolerance": options.oe_tolerance}
    allowed = source.risk if options.risk is None else options.risk
    risk = {} if allowed is None else {"risk": allowed}
    by_class = {} if classes is None else {"tolerance by class": classes.by_class.tolerance}
    return {
        **({} if source.kind.summed else {"kind": source.kind.name}),
        "tolerance": verdict.tolerance,
        "tolerance given": settings.tolerance is not None,
        **relative,
        **by_class,
        **ratio,
        **risk,
        "confidence": settings.confidence,
        "draws": settings.draws,
        "seed": settings.seed,
        **source.described,
    }

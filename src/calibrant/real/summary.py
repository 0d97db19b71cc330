"""Everything that an audit of real outcomes says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from calibrant.errors import InvalidOptionError
from calibrant.groups import (
    Division,
    Groups,
    Segment,
    groups_of,
    judge_groups,
    no_columns,
    search_segments,
)
from calibrant.inference import (
    DETECTABLE,
    MISCALIBRATED,
    CalibrationTest,
    Dependence,
    Evidence,
    Settings,
    Statistic,
    Verdict,
    find_dependence,
    find_verdict,
    mean_reach,
    run_test,
    state_with,
)
from calibrant.inputs import Source
from calibrant.joint import Joint, Rows
from calibrant.joint.sums import level_of
from calibrant.measurement import Measurement
from calibrant.notebook import brief
from calibrant.options import share_from
from calibrant.real.decomposition import LossDecomposition, loss_decomposition
from calibrant.real.diagram import Dot, dots, observed_interval
from calibrant.real.measures import MEASURES, measured
from calibrant.real.repair import RealRepair, repair
from calibrant.regions import Region, opposite_region, region_of, strongest_region
from calibrant.stages import Tell, silent

HEADLINE = Statistic.of("smooth_calibration_error")
# A noise floor is needed to a digit or two only.
DRAWS_FOR_A_FLOOR = 199
# Maps are fitted in passing to at most so many rows.
MOST_REPAIRED = 2**16


@dataclass(frozen=True)
class RealSummary:
    """What an audit of forecasts of real outcomes found."""

    title: str
    source: Source = field(repr=False)
    evidence: Evidence = field(repr=False)
    verdict: Verdict
    """Whether the smooth error is within the tolerance, in the units of the outcome."""
    tolerance_given: bool
    measures: dict[str, Measurement]
    floors: dict[str, float]
    """What perfect forecasts would get on average on the same rows."""
    promised: float
    """Mean forecast, or the share of outcomes that was promised."""
    observed: float
    bias: tuple[float, float, float]
    """Mean residual and its interval: positive where forecasts are too low."""
    loss: float
    """Mean loss; of intervals the interval score."""
    decomposition: LossDecomposition | None
    """What the loss is made of; None for intervals."""
    repair: RealRepair | None
    """The map that helps most on rows it has not seen; None for too many rows."""
    dots: tuple[Dot, ...]
    groups: Groups | None
    segments: tuple[Segment, ...] | None
    """Combinations of columns that are worst, judged by rows that did not choose them."""
    settings: dict[str, object]
    dependence: Dependence | None = None
    """What suggests that rows depend on each other, where nobody said that they do."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def forecasts(self) -> Rows:
        """The rows."""
        assert self.source.rows is not None  # noqa: S101  # forecasts of numbers are read by row
        return self.source.rows

    @property
    def kind(self) -> str:
        """What the forecasts are forecasts of."""
        return self.forecasts.kind.name

    @property
    def state(self) -> str:
        """State of the verdict, or "miscalibrated" where a group is."""
        return state_with(self.verdict, [self.groups])

    @property
    def detected(self) -> bool:
        """Whether forecasts are off beyond what chance explains."""
        return self.verdict.state == MISCALIBRATED or self.verdict.pvalue <= DETECTABLE

    @cached_property
    def worst(self) -> Region | None:
        """Where forecasts are most clearly off; None where chance explains all of it.

        Where the smooth error sees nothing beyond chance, the worst range of the typical gap.
        """
        if not self.detected:
            return None
        gap = self.verdict.gap
        if gap is not None and self.verdict.test.headline.pvalue > DETECTABLE:
            return gap.worst
        region = self._strongest
        return None if region is None else region_of(self.forecasts, region.low, region.high)

    @cached_property
    def other(self) -> Region | None:
        """Where forecasts are off the other way, clearly and by more than is tolerated."""
        if self.worst is None or self._strongest is None:
            return None
        other = other_region(self.forecasts, self.evidence, self._strongest)
        if other is None or abs(other.outcome - other.prediction) <= self.verdict.tolerance:
            return None
        return other

    @cached_property
    def _strongest(self) -> Region | None:
        """The range, on the scale of the Joint, where the smooth error sees the clearest bias."""
        forecasts = self.forecasts
        if self.verdict.test.headline.pvalue > DETECTABLE:
            return None
        joint, witness = Joint.of(forecasts), self.measures[MEASURES[0]].witness
        return strongest_region(joint, witness(forecasts.scale.places(joint.prediction)))


def summarise_real(
    source: Source,
    settings: Settings,
    tell: Tell = silent,
    *,
    segments: bool = False,
    oe_tolerance: float | str | None = None,
) -> RealSummary:
    """Judge and measure everything that makes sense for the forecasts."""
    forecasts = source.rows
    assert forecasts is not None  # noqa: S101  # forecasts of numbers are read by row
    tell("verdict")
    evidence = Evidence.of_source(source)
    start = settings.for_section()
    share = None if oe_tolerance is None else share_from("oe_tolerance", oe_tolerance)
    verdict = find_verdict(evidence, HEADLINE, settings, share)
    if oe_tolerance is not None and verdict.ratio is None:
        raise InvalidOptionError(
            "oe_tolerance is for means of outcomes and forecasts that are not negative",
            f"kind={forecasts.kind.name!r}",
            "leave it out",
        )
    tell("every measure")
    measures = {name: measured(forecasts, name, {}) for name in MEASURES}
    floors = _floors(evidence, forecasts.scale.unit, start.for_section())
    floors[MEASURES[0]] = verdict.noise_floor
    groups, looked_for = None, None
    divided = groups_of(source)
    if divided is not None:
        tell("groups")
        groups = judge_groups(divided, HEADLINE, start.for_section().settled(evidence))
    if segments:
        tell("segments")
        if not isinstance(divided, Division):
            raise no_columns()
        rng = start.for_section().rng
        level = 1 - settings.confidence
        looked_for = search_segments(divided.rows, divided.parts, level, rng, divided.clusters)
    tell("what to do")
    kind = forecasts.kind
    few = len(forecasts) <= MOST_REPAIRED
    found = None
    if few:
        found = repair(forecasts, clusters=source.clusters, confidence=settings.confidence, rng=0)
    promised, observed = evidence.forecast_and_observed()
    return RealSummary(
        title=source.title,
        source=source,
        evidence=evidence,
        verdict=verdict,
        tolerance_given=settings.tolerance is not None,
        measures=measures,
        floors=floors,
        promised=promised,
        observed=observed,
        bias=_bias(forecasts, evidence, settings.confidence),
        loss=forecasts.mean_of(forecasts.losses),
        decomposition=None if forecasts.upper is not None else loss_decomposition(forecasts),
        repair=found,
        dots=dots(forecasts, evidence, settings.confidence, source.clusters),
        groups=groups,
        segments=looked_for,
        settings={
            "kind": kind.name,
            "tolerance": verdict.tolerance,
            "confidence": settings.confidence,
            "draws": settings.draws,
            "seed": settings.seed,
            **source.described,
        },
        dependence=_dependence(source),
    )


def _dependence(source: Source) -> Dependence | None:
    """Look for dependence among rows, unless clusters say what depends."""
    if source.clusters is not None:
        return None
    rows = source.rows
    assert rows is not None  # noqa: S101  # forecasts of numbers are read by row
    keys: dict[str, Any] = {name: np.ma.asarray(column) for name, column in source.by.items()}
    keys |= source.roles.key_columns()
    # Rows that weigh nothing are gone from the forecasts; their columns are then left out.
    keys = {name: column for name, column in keys.items() if column.shape == rows.outcome.shape}
    return find_dependence(rows.place, rows.residual, rows.outcome, keys)


def _floors(evidence: Evidence, unit: float, settings: Settings) -> dict[str, float]:
    statistics = [Statistic.of(name) for name in MEASURES]
    draws = min(settings.draws, DRAWS_FOR_A_FLOOR)
    test: CalibrationTest = run_test(evidence, statistics, draws, settings.rng)
    powers = {statistic.name: statistic.power for statistic in statistics}
    return {
        part.measure: float(np.mean(part.null)) * unit ** powers[part.measure]
        for part in test.parts
    }


def _bias(forecasts: Rows, evidence: Evidence, confidence: float) -> tuple[float, float, float]:
    """Mean residual with its interval, by row or by cluster."""
    kept = forecasts.weighing
    share = kept.weights / kept.weights.sum()
    mean = float(share @ kept.residual)
    code = None if evidence.clusters is None else evidence.clusters.code
    level = kept.kind.chance
    if level is not None:  # a share, which may be 0 or 1
        low, high = observed_interval(kept, level - mean, confidence, code)
        return mean, level - high, level - low
    reach = mean_reach(share, kept.residual - mean, code, confidence)
    return mean, mean - reach, mean + reach


def other_region(rows: Rows, evidence: Evidence, region: Region) -> Region | None:
    """Find where forecasts are clearly off the other way, beside a region of the Joint.

    Outcomes near the forecasts of a range may all be alike by chance: none is taken to vary less
    than all rows do.
    """
    if evidence.clusters is not None:  # one of them may be a range of its own
        return None
    joint, rows, level = evidence.given, rows.weighing, rows.kind.chance
    charge = np.abs(rows.weights * rows.scaled_residual)
    if level is not None:
        variance = joint.weight_squares * level * (1 - level)
    else:
        squares = charge**2
        seen = np.bincount(level_of(rows.position, joint), squares, len(joint))
        usual = squares.sum() / joint.weight_squares.sum()
        variance = np.maximum(seen, joint.weight_squares * usual)
    found = opposite_region(joint, region, variance, float(charge.max()))
    return None if found is None else region_of(rows, found.low, found.high)

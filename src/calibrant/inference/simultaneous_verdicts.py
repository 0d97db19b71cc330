"""Many Joints judged at once: groups, classes, windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import card
from calibrant._base.parallel import in_threads
from calibrant._base.words import agreeing, count_text, number_text
from calibrant.data.groupings import label_of
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import gaps_of_each
from calibrant.inference.interval import LONE, ONE_CLUSTER, ConfidenceInterval, upper_quantile
from calibrant.inference.limits import UPPER_SHARE, LimitLevels
from calibrant.inference.ratio import OE_TOLERANCE, Ratio, ratio_of_group
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdicts import (
    CALIBRATED,
    MISCALIBRATED,
    Verdict,
    state_of,
    state_of_ratio,
    worse_state,
)
from calibrant.joint import Joint
from calibrant.kinds import Kind
from calibrant.measures.regions import Region
from calibrant.measures.smooth import smooth_calibration_error

# Groups with fewer rows, or fewer of either outcome, are marked as small.
FEW_ROWS, FEW_EVENTS = 100, 10
# Cells of the predictions for the draws, fewer with more groups; values are exact.
CELLS, MANY_GROUPS = (2**7, 2**6, 2**5), (2**7, 2**10)
DRAWS_FOR_A_FLOOR = 99
# Shares of smooth error and typical gap in the chance of a false accusation; observed over expected
# has the other half.
SHARE_OF_ERROR = SHARE_OF_GAP = 0.25
# A picture grows with the groups up to so many.
MOST_DRAWN = 30

Named = tuple[str, str, Evidence]
"""Columns, name and evidence of a group."""
Evidences = Mapping[tuple[str, str], Evidence]
"""Evidence of each group by column and name."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share a label, and what can be said about them."""

    by: str
    """Column that defines the group, or columns with " & " between them."""
    name: str
    rows: int
    events: float | None
    """Rows with the event; None of kinds that have none."""
    forecast: float
    """Mean forecast; of quantiles and intervals the share of outcomes that was promised."""
    observed: float
    """Observed rate, mean, expectile or share."""
    value: float
    """Smooth error (or the measure asked for) of the group."""
    low: float
    """Lower limit, simultaneous over all groups."""
    high: float
    """Upper limit of this group alone: no group is called calibrated for another's sake."""
    noise_floor: float
    """What perfect forecasts would have scored on the group's rows."""
    state: str
    """"miscalibrated" if the smooth error, the typical gap or observed over expected is beyond its
    tolerance; "calibrated" if smooth error and gap are within theirs; otherwise "undecided"."""
    small: bool
    """Few rows or few events: expect a wide interval."""
    ratio: Ratio | None
    """Observed over expected, its interval simultaneous over all groups as well; None of kinds
    without sums to compare."""
    kind: Kind
    caution: str = ""
    """What to know before trusting the interval."""
    gap: ConfidenceInterval | None = None
    """Typical gap between forecast and observed rate; None where it was not judged."""
    worst: Region | None = None
    """The range that is most clearly off, where only the gap is beyond its tolerance."""

    @property
    def label(self) -> str:
        """Name of the group with its columns."""
        return label_of(self.by, self.name)

    @property
    def sentence(self) -> str:
        """Say what was forecast for the group, and what was observed."""
        both = self.kind.words.forecast_and_observed(self.forecast, self.observed)
        text = f"{self.label}: {both} ({count_text(self.rows, 'row')})"
        return text if self.worst is None else f"{text}, but {self.worst.sentence}"


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, those with the strongest evidence of miscalibration first."""

    groups: tuple[Group, ...]
    tolerance: float
    confidence: float
    """Chance that all lower limits hold at once, and that each upper limit does."""
    noun: str = "group"
    """What each of them is called."""
    gap_tolerance: float | None = None
    """Largest acceptable typical gap; None where it was not judged."""

    def __repr__(self) -> str:
        return f"Groups({len(self)}, {len(self.failing)} beyond {self.tolerance:.4g})"

    def _repr_html_(self) -> str:
        if not all(group.kind.summed for group in self):
            return card(self.sentence)
        height = 1.2 + 0.24 * min(len(self), MOST_DRAWN)
        return card(self.sentence, "GroupsDisplay", self, height=height)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def failing(self) -> tuple[Group, ...]:
        """Groups that are certainly beyond the tolerance."""
        return tuple(group for group in self if group.state == MISCALIBRATED)

    @property
    def sentence(self) -> str:
        """Name the groups that fail, or say that none does."""
        if self.failing:
            worst = "; ".join(group.sentence for group in self.failing[:3])
            return f"{self.count_sentence} Worst: {worst}."
        return self.count_sentence

    @property
    def count_sentence(self) -> str:
        """Say how many groups fail, are fine, or cannot be judged."""
        failing = len(self.failing)
        allowed = f"the tolerance of {number_text(self.tolerance)}"
        if failing:
            if any(group.low <= self.tolerance for group in self.failing):
                allowed += (
                    " for the smooth error or of "
                    f"{number_text(self.gap_tolerance or 0.0)} for the typical gap"
                )
            return (
                f"{failing} of {count_text(len(self), self.noun)} "
                f"{agreeing(failing, 'exceeds', 'exceed')} {allowed}."
            )
        within = sum(group.state == CALIBRATED for group in self)
        several = count_text(len(self), self.noun)
        if not within:
            which = agreeing(len(self), f"The {self.noun} is", f"All {several} are")
            return f"{which} undecided: too few rows for {allowed}."
        rest = len(self) - within
        few = f"; {agreeing(rest, 'one is', f'{rest} are')} undecided" if rest else ""
        return (
            f"None of {several} shows an error beyond {allowed}: "
            f"{within} {agreeing(within, 'is', 'are')} within it{few}."
        )

    def table(self) -> dict[str, list[Any]]:
        """Return one column per property of the groups."""
        left_out = ("ratio", "gap", "worst", "kind")
        fields = [name for name in Group.__dataclass_fields__ if name not in left_out]
        found = {name: [getattr(group, name) for group in self] for name in fields}
        ratios, gaps = [group.ratio for group in self], [group.gap for group in self]
        return (
            found
            | {
                "observed_sum": [ratio and ratio.observed for ratio in ratios],
                "expected_sum": [ratio and ratio.expected for ratio in ratios],
                "ratio": [ratio and ratio.value for ratio in ratios],
                "ratio_low": [ratio and ratio.low for ratio in ratios],
                "ratio_high": [ratio and ratio.high for ratio in ratios],
            }
            | {
                "gap": [gap and gap.value for gap in gaps],
                "gap_low": [gap and gap.low for gap in gaps],
                "gap_high": [gap and gap.high for gap in gaps],
            }
        )

    def confirmed(self, pvalue: Mapping[str, float]) -> Groups:
        """Take back accusations of groups, by name, that simulated outcomes make too often."""
        level = 1 - self.confidence
        groups = [
            group if pvalue[group.name] <= level else self._taken_back(group) for group in self
        ]
        return replace(self, groups=tuple(groups))

    def _taken_back(self, group: Group) -> Group:
        """Let error and gap of a group begin at zero."""
        gap = None if group.gap is None else replace(group.gap, low=0.0)
        state = state_of(0.0, group.high, self.tolerance)
        if gap is not None and self.gap_tolerance is not None:
            state = worse_state(state, state_of(0.0, gap.high, self.gap_tolerance))
        return replace(group, low=0.0, state=state, gap=gap, worst=None)


def state_with(verdict: Verdict, judged: Iterable[Groups | None]) -> str:
    """State of a verdict, or "miscalibrated" where one of the groups or classes judged is."""
    failing = any(groups.failing for groups in judged if groups is not None)
    return MISCALIBRATED if failing else verdict.state


@dataclass(frozen=True, slots=True)
class Noise:
    """Deviations of each group's error, and what perfect forecasts would score."""

    deviation: Floats
    """One row per group, one column per draw."""
    floor: Floats
    widening: Floats | float = 1.0
    """What few clusters ask for beyond that; infinite for a group that is one cluster."""

    @property
    def scale(self) -> Floats:
        """Mean deviation of each group."""
        return np.asarray(self.deviation.mean(axis=1))

    def below(self, level: float) -> Floats:
        """How far populations' errors may be below those of the groups, all at once.

        The largest deviation of a group, as a multiple of its mean, has nearly the same
        distribution in every group; the quantile of its maximum over groups widens all limits
        alike (a studentised maximum).
        """
        scale = self.scale[:, np.newaxis]
        relative = np.divide(
            self.deviation, scale, out=np.zeros_like(self.deviation), where=scale > 0
        )
        return upper_quantile(relative.max(axis=0), 1 - level) * self.scale * self.widening

    def above(self, level: float) -> Floats:
        """How far the population's error may be above that of each group, one at a time."""
        most = [upper_quantile(deviation, 1 - level) for deviation in self.deviation]
        return np.array(most) * self.widening

    def strongest_first(self, values: Sequence[float], states: Sequence[str]) -> list[int]:
        """Order groups by the evidence of their errors, those that fail before the others."""
        above = np.asarray(values) - self.floor
        against = np.divide(above, self.scale, out=np.zeros_like(above), where=self.scale > 0)
        return sorted(
            range(len(states)), key=lambda i: (states[i] != MISCALIBRATED, -float(against[i]))
        )


def judge_all(
    named: Sequence[Named],
    noise: Noise,
    statistic: Statistic,
    settings: Settings,
    values: Sequence[float] | None = None,
) -> Groups:
    """Judge groups so that all are called miscalibrated rightly at once.

    Smooth error, typical gap and observed over expected share the chance of a false accusation: a
    quarter, a quarter and a half. Upper limits hold for one group at a time: a group is called
    calibrated by all of its own limits, which needs no allowance for other groups. Values that
    were measured before, on exact predictions, replace those of the Joints.
    """
    if values is None:
        values = [statistic.value(evidence.full_joint) for *_, evidence in named]
    tolerance = min(settings.allowed(evidence) for *_, evidence in named)
    single = confidence_of_each(settings.confidence, len(named))
    smooth = statistic.function is smooth_calibration_error
    level = 1 - settings.confidence
    below = noise.below(level * SHARE_OF_ERROR if smooth else level)
    ends = zip(below, noise.above(level * UPPER_SHARE), strict=True)
    judged = [
        _group(key, value, (float(down), float(up)), float(floor), tolerance, single)
        for key, value, (down, up), floor in zip(named, values, ends, noise.floor, strict=True)
    ]
    gap_tolerance = None
    if smooth:
        gap_tolerance = min(settings.gap_allowed(one, tolerance) for *_, one in named)
        levels = LimitLevels(level * SHARE_OF_GAP / len(named), level * UPPER_SHARE, single)
        judged = _with_gaps(judged, [one for *_, one in named], gap_tolerance, levels)
        judged = [_with_ratio(group, tolerance) for group in judged]
    order = noise.strongest_first(values, [group.state for group in judged])
    return Groups(
        tuple(judged[i] for i in order),
        tolerance,
        settings.confidence,
        gap_tolerance=gap_tolerance,
    )


def _with_gaps(
    groups: Sequence[Group], evidences: Sequence[Evidence], tolerance: float, levels: LimitLevels
) -> list[Group]:
    """Judge groups by their typical gaps as well; a tolerance of 1 leaves the states alone."""
    judged = []
    below, above = (gaps_of_each(evidences, 1 - 2 * level) for level in (levels.low, levels.high))
    for group, evidence, (first, ranges), (last, _) in zip(
        groups, evidences, below, above, strict=True
    ):
        gap = replace(first, high=last.high, half_width=last.half_width).times(evidence.scale.unit)
        state = state_of(gap.low, gap.high, tolerance)
        by_gap = state == MISCALIBRATED != group.state
        worst = ranges.worst(evidence) if by_gap else None
        both = worse_state(group.state, state)
        judged.append(replace(group, gap=gap, worst=worst, state=both))
    return judged


def _with_ratio(group: Group, tolerance: float) -> Group:
    """Call a group miscalibrated whose observed over expected outcomes are certainly off.

    By more than 10 %, and by more than the tolerance of the error: the mean is a smooth test, so
    that the error is at least the bias, and its upper limit bounds the ratio too.
    """
    if group.ratio is None or not group.forecast > 0:
        return group
    allowed = max(OE_TOLERANCE, tolerance / group.forecast)
    beyond = state_of_ratio(group.ratio, allowed) == MISCALIBRATED
    return replace(group, state=MISCALIBRATED) if beyond else group


def judge_evidences(
    evidences: Evidences,
    statistic: Statistic,
    settings: Settings,
    values: Sequence[float] | None = None,
) -> Groups:
    """Judge groups that share no rows, or whose rows are not at hand: each has its own draws.

    For normal draws and convex, symmetric errors, independent draws are conservative (the
    Gaussian correlation inequality, Royen 2014).
    """
    statistic.refuse_without_half_width()
    named = [(*key, evidence) for key, evidence in evidences.items()]
    noise = noise_of_each(list(evidences.values()), statistic, settings)
    return judge_all(named, noise, statistic, settings, values)


def confidence_of_each(confidence: float, groups: int) -> float:
    """Confidence that each of so many intervals needs for all of them to hold at once."""
    return 1 - (1 - confidence) / groups


def cells_for(groups: int) -> int:
    """Choose the cells that noise is drawn on."""
    return CELLS[int(np.searchsorted(MANY_GROUPS, groups))]


def noise_of_each(evidences: Sequence[Evidence], statistic: Statistic, settings: Settings) -> Noise:
    """Draw noise for each group by itself, with one number for each of its clusters.

    Without clusters on cells, the fewer the more groups there are; values are exact. A group that
    is one cluster is drawn as if it had none, which its infinite widening then makes up for.
    """
    cells = cells_for(len(evidences))
    draws, rng = settings.draws, settings.rng
    single = confidence_of_each(settings.confidence, len(evidences))

    def drawn() -> Iterator[tuple[Joint, list[Floats], list[Floats]]]:
        for whole in evidences:
            alone = replace(whole, clusters=None) if whole.lone else whole
            evidence = alone.on_cells(cells)
            noise = list(evidence.multiplied_residual_masses(draws, rng, single))
            null = list(evidence.null_residual_masses(min(draws, DRAWS_FOR_A_FLOOR), rng))
            yield evidence.joint, noise, null

    def deviations_and_floor(
        group: tuple[Joint, list[Floats], list[Floats]],
    ) -> tuple[Floats, float]:
        joint, noise, null = group
        deviations, floor = (
            np.concatenate([statistic.values(joint, residual_masses) for residual_masses in parts])
            for parts in (noise, null)
        )
        return deviations, float(floor.mean())

    deviations, floors = zip(*in_threads(deviations_and_floor, drawn()), strict=True)
    widening = np.array([evidence.widening(1 - single) for evidence in evidences])
    return Noise(np.stack(deviations), np.array(floors), widening)


def _group(
    key: Named,
    value: float,
    ends: tuple[float, float],
    floor: float,
    tolerance: float,
    single: float,
) -> Group:
    by, name, evidence = key
    joint, kind, unit = evidence.full_joint, evidence.kind, evidence.scale.unit
    low, high = max(0.0, value - ends[0]) * unit, value + ends[1]
    high = (min(1.0, high) if evidence.bounded else high) * unit
    forecast, observed = evidence.forecast_and_observed()
    events = None
    if kind.summed:
        events = float((joint.positives / joint.weight * joint.rows).sum())
    few = joint.row_count if events is None else min(events, joint.row_count - events)
    caution = ""
    if evidence.lone:
        caution = ONE_CLUSTER if kind.summed else LONE
    return Group(
        by=by,
        name=name,
        rows=joint.row_count,
        events=events,
        forecast=forecast,
        observed=observed,
        value=value * unit,
        low=low,
        high=high,
        noise_floor=floor * unit,
        state=state_of(low, high, tolerance),
        small=few < FEW_EVENTS or joint.row_count < FEW_ROWS,
        ratio=ratio_of_group(evidence, single),
        kind=kind,
        caution=caution,
    )

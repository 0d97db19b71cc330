"""One verdict per group of rows with real outcomes, all of them holding at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.data.groupings import label_of, partitions
from calibrant.data.input import read_labels
from calibrant.errors import InvalidForecastsError
from calibrant.inference import (
    GAP_TOLERANCE,
    LONE,
    ConfidenceInterval,
    Groups,
    Settings,
    confidence_of_each,
    gap_columns,
    gaps_of_each,
    noise_of_each,
    state_of,
    worse_state,
)
from calibrant.notebook import card
from calibrant.real.evidence import RealEvidence
from calibrant.real.forecasts import AnyKind, RealForecasts
from calibrant.real.reading import RealSource
from calibrant.real.regions import observed, promised, promised_and_observed
from calibrant.real.verdicts import HEADLINE, in_units
from calibrant.words import count_text

# Groups with fewer rows are marked as small.
FEW_ROWS = 100


@dataclass(frozen=True, slots=True)
class RealGroup:
    """Rows that share a label, and what can be said about them."""

    by: str
    """Column that defines the group, or columns with " & " between them."""
    name: str
    rows: int
    promised: float
    """Mean forecast; of quantiles and intervals the share of outcomes that was promised."""
    observed: float
    """Observed mean, expectile or share."""
    value: float
    """Smooth error of the group."""
    low: float
    high: float
    """Simultaneous over all groups."""
    noise_floor: float
    """What perfect forecasts would have scored on the group's rows."""
    state: str
    """"calibrated", "miscalibrated" or "undecided"."""
    small: bool
    """Few rows: expect a wide interval."""
    kind: AnyKind
    caution: str = ""
    """What to know before trusting the interval."""
    gap: ConfidenceInterval | None = None
    """Typical gap, simultaneous over all groups."""

    @property
    def label(self) -> str:
        """Name of the group with its columns."""
        return label_of(self.by, self.name)

    @property
    def sentence(self) -> str:
        """Say what was promised for the group, and what was observed."""
        told = promised_and_observed(self.kind, self.promised, self.observed)
        return f"{self.label}: {told} ({count_text(self.rows, 'row')})"


@dataclass(frozen=True, slots=True)
class RealGroups(Groups):
    """All groups, those with the strongest evidence of miscalibration first."""

    groups: tuple[RealGroup, ...]  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def table(self) -> dict[str, list[Any]]:
        """Return one column per property of the groups."""
        fields = [name for name in RealGroup.__dataclass_fields__ if name not in ("kind", "gap")]
        found = {name: [getattr(group, name) for group in self] for name in fields}
        return found | gap_columns([group.gap for group in self])


def judge_groups(
    source: RealSource, settings: Settings, tolerance: float, gap_tolerance: float | None = None
) -> RealGroups:
    """Judge every group by intervals that hold at once, in the units of the outcome."""
    named = list(_named(source))
    if not named:
        raise InvalidForecastsError("by must name at least one column", "none")
    evidences = [RealEvidence.of_part(part, labels) for _, _, part, labels in named]
    noise = noise_of_each(evidences, HEADLINE, settings)
    unit = source.forecasts.scale.unit
    values = [HEADLINE.value(evidence.given) for evidence in evidences]
    reach = noise.reach(settings.confidence)
    gap_limit = GAP_TOLERANCE * tolerance if gap_tolerance is None else gap_tolerance
    gaps = gaps_of_each(evidences, confidence_of_each(settings.confidence, len(named)))
    judged = []
    for (by, name, part, _), evidence, value, half_width, floor, (gap, _ranges) in zip(
        named, evidences, values, reach, noise.floor, gaps, strict=True
    ):
        low, high = max(0.0, value - half_width), value + half_width
        if evidence.bounded:
            high = min(1.0, high)
        judged.append(
            RealGroup(
                by=by,
                name=name,
                rows=evidence.given.row_count,
                promised=promised(part),
                observed=observed(part),
                value=float(value * unit),
                low=float(low * unit),
                high=float(high * unit),
                noise_floor=float(floor * unit),
                state=worse_state(
                    state_of(low * unit, high * unit, tolerance),
                    state_of(gap.low * unit, gap.high * unit, gap_limit),
                ),
                small=evidence.given.row_count < FEW_ROWS,
                kind=part.kind,
                caution=LONE if evidence.lone else "",
                gap=in_units(gap, unit),
            )
        )
    order = noise.strongest_first(values, [group.state for group in judged])
    return RealGroups(
        tuple(judged[i] for i in order),
        tolerance,
        settings.confidence,
        gap_tolerance=gap_limit,
    )


def _named(source: RealSource) -> Iterator[tuple[str, str, RealForecasts, Any]]:
    """Yield columns, name, rows and clusters of every group that has rows."""
    forecasts, roles = source.forecasts, source.roles
    labels = None
    if source.clusters is not None:
        labels = read_labels(source.clusters, "clusters", len(forecasts))
    found = partitions(
        source.by,
        len(forecasts),
        pairs=roles.pairs,
        parts=roles.cuts,
        most_levels=roles.most_levels,
        weight=forecasts.weight,
    )
    weighing = forecasts.weights > 0
    for part in found:
        for code in np.unique(part.codes[weighing]):
            rows = np.flatnonzero((part.codes == code) & weighing)
            clusters = None if labels is None else labels[rows]
            yield part.by, part.name(int(code)), forecasts.where(rows), clusters

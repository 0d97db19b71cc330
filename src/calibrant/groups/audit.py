"""One verdict per group of rows, all of them holding at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError
from calibrant.inference.evidence import Evidence, check_draws, check_share
from calibrant.inference.interval import upper_quantile
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inference.verdict import default_tolerance, state_of
from calibrant.joint import Joint, Rows
from calibrant.joint.gate import Floats, read_labels
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.words import count_text, distinct_texts

# Draws for a group use predictions rounded to this many cells; values do not.
CELLS = 2**8
# Groups with fewer rows, or fewer of either outcome, are marked as small.
FEW_ROWS, FEW_EVENTS = 100, 10
DRAWS_FOR_A_FLOOR = 199


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share a label, and what can be said about them."""

    by: str
    """Column that defines the group."""
    name: str
    rows: int
    events: float
    mean_prediction: float
    base_rate: float
    value: float
    """Smooth error (or the measure asked for) of the group."""
    low: float
    high: float
    """Simultaneous over all groups."""
    noise_floor: float
    """What a perfect forecaster would have scored on the group's rows."""
    state: str
    """"calibrated", "miscalibrated" or "undecided"."""
    small: bool
    """Few rows or few events: expect a wide interval."""

    @property
    def sentence(self) -> str:
        """Say what the group was told and what happened."""
        said, happened = distinct_texts(self.mean_prediction, self.base_rate)
        return (
            f"{self.by} {self.name}: forecasts say {said} on average, {happened} happened "
            f"({count_text(self.rows, 'row')})"
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, those with the strongest evidence of miscalibration first."""

    groups: tuple[Group, ...]
    tolerance: float
    confidence: float
    """Chance that all intervals hold at once."""

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def failing(self) -> tuple[Group, ...]:
        """Groups that are certainly beyond the tolerance."""
        return tuple(group for group in self if group.state == "miscalibrated")

    @property
    def sentence(self) -> str:
        """Name the groups that fail, or say that none does."""
        failing = self.failing
        if failing:
            worst = "; ".join(group.sentence for group in failing[:3])
            return (
                f"{count_text(len(failing), 'group')} of {len(self)} beyond the tolerance of "
                f"{self.tolerance:.3g}. Most clearly: {worst}."
            )
        held = sum(group.state == "calibrated" for group in self)
        return (
            f"No group of {len(self)} is certainly beyond the tolerance of {self.tolerance:.3g}; "
            f"{held} are certainly within it."
        )

    def table(self) -> dict[str, list[Any]]:
        """Return one column per property of the groups."""
        fields = Group.__dataclass_fields__
        return {name: [getattr(group, name) for group in self] for name in fields}


def audit_groups(
    y_true: object,
    y_proba: object,
    by: Mapping[str, object],
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure = smooth_calibration_error,
    tolerance: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Groups:
    """Give every group of rows a verdict; all of them hold at once.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like of shape (n,)
        Columns whose values name the groups.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float, optional
        Error that is small enough, for every group; by default that of all rows together.
    confidence : float, default=0.95
        Chance that the intervals of all groups hold at once.
    clusters : array-like of shape (n,), optional
        Labels of rows that depend on each other.
    draws : int, default=999
        Number of random multipliers.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Groups

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> groups = audit_groups(
    ...     columns["outcome"], columns["prediction"], {"origin": columns["origin"]}, rng=0
    ... )
    >>> [(group.name, group.state) for group in groups]
    [('EWR', 'miscalibrated'), ('LGA', 'undecided'), ('JFK', 'calibrated')]
    """
    check_draws(draws)
    check_share("confidence", confidence)
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    joint = Joint.from_rows(rows)
    if joint.clipped:
        rows = rows.cure()
    allowed = default_tolerance(joint) if tolerance is None else tolerance
    labels = None if clusters is None else read_labels(clusters, "clusters", rows)
    evidences = {
        (column, name): evidence
        for column, values in by.items()
        for name, evidence in split_rows(rows, read_labels(values, column, rows), labels)
    }
    return judge_groups(
        evidences, Statistic.of(measure), allowed, confidence, draws, np.random.default_rng(rng)
    )


def split_rows(
    rows: Rows, names: npt.NDArray[Any], clusters: npt.NDArray[Any] | None
) -> Iterator[tuple[str, Evidence]]:
    """Evidence of each group, in the order of the names."""
    groups, code = np.unique(names, return_inverse=True)
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code))
    for name, start, end in zip(groups, np.append(0, ends), ends, strict=False):
        mine = rows.where(order[start:end])
        if mine.weight is not None and not mine.weight.any():
            continue
        label = None if clusters is None else clusters[order[start:end]]
        if label is not None and np.unique(label).size < 2:
            label = np.arange(label.size)
        yield str(name), Evidence.of_rows(mine, label)


def judge_groups(
    evidences: Mapping[tuple[str, str], Evidence],
    statistic: Statistic,
    tolerance: float,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> Groups:
    """Judge groups by intervals that hold at once.

    The largest deviation of a group, as a multiple of its mean, has nearly the same law in every
    group; the quantile of its maximum over groups widens all intervals alike (a studentised
    maximum). The groups are drawn independently, which is on the safe side where they overlap.
    """
    statistic.refuse_without_interval()
    if not evidences:
        raise InvalidForecastsError("there must be at least one group", "none")
    coarse = [_coarse(evidence) for evidence in evidences.values()]
    deviations = np.stack([_deviations(e, statistic, draws, confidence, rng) for e in coarse])
    scale = deviations.mean(axis=1)
    relative = np.divide(deviations.T, scale, out=np.zeros_like(deviations.T), where=scale > 0)
    reach = upper_quantile(relative.max(axis=1), confidence) * scale
    floors = [_floor(e, statistic, min(draws, DRAWS_FOR_A_FLOOR), rng) for e in coarse]
    groups = [
        _group(key, evidence, statistic, float(half_width), floor, tolerance)
        for (key, evidence), half_width, floor in zip(evidences.items(), reach, floors, strict=True)
    ]
    evidence_of = [
        (g.value - floor) / s if s > 0 else 0.0
        for g, floor, s in zip(groups, floors, scale, strict=True)
    ]
    order = sorted(range(len(groups)), key=lambda i: -evidence_of[i])
    return Groups(tuple(groups[i] for i in order), tolerance, confidence)


def _coarse(evidence: Evidence) -> Evidence:
    """Evidence with few levels; clusters keep theirs."""
    if evidence.clusters is not None or len(evidence.given) <= CELLS:
        return evidence
    return Evidence.of_joint(evidence.given.rounded(CELLS))


def _deviations(
    evidence: Evidence,
    statistic: Statistic,
    draws: int,
    confidence: float,
    rng: np.random.Generator,
) -> Floats:
    parts = evidence.multiplied_charges(draws, rng, confidence)
    return np.concatenate([statistic.values(evidence.joint, charges) for charges in parts])


def _floor(evidence: Evidence, statistic: Statistic, draws: int, rng: np.random.Generator) -> float:
    parts = evidence.null_charges(draws, rng)
    return float(
        np.concatenate([statistic.values(evidence.joint, charges) for charges in parts]).mean()
    )


def _group(
    key: tuple[str, str],
    evidence: Evidence,
    statistic: Statistic,
    half_width: float,
    floor: float,
    tolerance: float,
) -> Group:
    joint = evidence.given
    value = statistic.value(joint)
    low, high = max(0.0, value - half_width), min(1.0, value + half_width)
    events = float((joint.positives / joint.weight * joint.rows).sum())
    few = min(events, joint.row_count - events) < FEW_EVENTS or joint.row_count < FEW_ROWS
    return Group(
        by=key[0],
        name=key[1],
        rows=joint.row_count,
        events=events,
        mean_prediction=joint.mean_prediction,
        base_rate=joint.base_rate,
        value=value,
        low=low,
        high=high,
        noise_floor=floor,
        state=state_of(low, high, tolerance),
        small=bool(few),
    )

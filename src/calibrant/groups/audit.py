"""One verdict per group of rows, all of them holding at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import InvalidForecastsError
from calibrant.groups.columns import MOST_LEVELS, PARTS, columns_of, label_of
from calibrant.groups.division import Division
from calibrant.groups.noise import DRAWS_FOR_A_FLOOR, Noise, cells_for, shared_noise
from calibrant.groups.summed import is_lazy, sum_up
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import upper_quantile
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inference.verdict import MISCALIBRATED, default_tolerance, state_of
from calibrant.joint import Joint, Rows
from calibrant.joint.columns import ColumnNames
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.options import as_generator, check_draws, check_share
from calibrant.words import count_text, distinct_texts

# Groups with fewer rows, or fewer of either outcome, are marked as small.
FEW_ROWS, FEW_EVENTS = 100, 10


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share a label, and what can be said about them."""

    by: str
    """Column that defines the group, or columns with " & " between them."""
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
    def label(self) -> str:
        """Name of the group with its columns."""
        return label_of(self.by, self.name)

    @property
    def sentence(self) -> str:
        """Say what the group was told and what happened."""
        said, happened = distinct_texts(self.mean_prediction, self.base_rate)
        return (
            f"{self.label}: forecasts say {said} on average, {happened} happened "
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
    y_proba: object = None,
    by: object = None,
    *,
    prediction: str = "prediction",
    outcome: str = "outcome",
    pairs: bool = False,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
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
    y_true : array-like of shape (n,), or frame
        Outcomes, 0 or 1; or a frame with the columns of predictions, outcomes and groups. Rows of
        a lazy frame (Polars, DuckDB, Dask, Spark) are summed on their engine, column by column,
        unless there are clusters: of more than a million, predictions are rounded to cells.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a frame.
    by : mapping of str to array-like, frame, or list of str
        Columns whose values name the groups, or with a frame their names. Numbers of more than
        24 distinct values, and dates, are cut at quantiles; the names of the groups show where.
        Missing values are a group of their own.
    prediction, outcome : str
        Columns of a frame.
    pairs : bool, default=False
        Whether each pair of columns divides the rows as well.
    parts : int, default=5
        Number of parts that numbers are cut into.
    most_levels : int, default=250
        The rarer of more labels than this are gathered in one group (in pairs, of more than 24).
    sample_weight : array-like of shape (n,), or str, optional
        Weights of the rows, or with a frame their column.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float, optional
        Error that is small enough, for every group; by default that of all rows together.
    confidence : float, default=0.95
        Chance that the intervals of all groups hold at once.
    clusters : array-like of shape (n,), or str, optional
        Labels of rows that depend on each other, or with a frame their column.
    draws : int, default=999
        Number of random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Groups
        Every group, however small: those beyond the tolerance first, each in the order of the
        evidence against it.

    Notes
    -----
    The largest deviation of a group, as a multiple of its mean, has nearly the same law in every
    group; the quantile of its maximum over groups widens all intervals alike (a studentised
    maximum). Noise is drawn once for each combination of groups and added up, so that groups that
    overlap share it. Where there are too many combinations, each pair of columns has draws of its
    own, which is on the safe side; so do the groups where rows come in clusters or were summed.

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
    if tolerance is not None:
        check_share("tolerance", tolerance)
    statistic, generator = Statistic.of(measure), as_generator(rng)
    weight_named = sample_weight is None or isinstance(sample_weight, str)
    if y_proba is None and clusters is None and weight_named and is_lazy(y_true):
        given: ColumnNames = {"prediction": prediction, "outcome": outcome, "pos_label": pos_label}
        given["weight"] = None if sample_weight is None else str(sample_weight)
        found = sum_up(y_true, given, _names(by), pairs=pairs, parts=parts, most_levels=most_levels)
        allowed = default_tolerance(found.joint) if tolerance is None else tolerance
        return judge_groups(found.evidences, statistic, allowed, confidence, draws, generator)
    if y_proba is None:
        frame = columns_of(y_true)
        columns = _named(frame, _names(by))
        y_true, y_proba = _named(frame, [outcome])[outcome], _named(frame, [prediction])[prediction]
        sample_weight, clusters = (
            _named(frame, [given])[given] if isinstance(given, str) else given
            for given in (sample_weight, clusters)
        )
    else:
        columns = columns_of(by)
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    joint = Joint.from_rows(rows)
    if joint.clipped:
        rows = rows.cure()
    allowed = default_tolerance(joint) if tolerance is None else tolerance
    division = Division.of(
        rows, columns, clusters, pairs=pairs, parts=parts, most_levels=most_levels
    )
    return judge_groups(division, statistic, allowed, confidence, draws, generator)


Evidences = Mapping[tuple[str, str], Evidence]
"""Evidence of each group by column and name, where rows are not at hand."""


def judge_groups(
    groups: Division | Evidences,
    statistic: Statistic,
    tolerance: float,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    values: Sequence[float] | None = None,
) -> Groups:
    """Judge groups by intervals that hold at once; without rows each has draws of its own.

    Values of the groups that were measured before, on exact predictions, replace those of cells.
    """
    statistic.refuse_without_interval()
    if isinstance(groups, Division) and groups.clusters is None:
        named = list(groups.joints())
        for *_, joint in named:
            refuse_mean_outcomes(joint)
        noise = shared_noise(groups, statistic, draws, confidence, rng)
    else:
        if isinstance(groups, Division):
            evidences = list(groups.evidences())
        else:
            evidences = [(*key, evidence) for key, evidence in groups.items()]
        named = [(by, name, evidence.given) for by, name, evidence in evidences]
        noise = _noise_of_each(
            [evidence for *_, evidence in evidences], statistic, draws, confidence, rng
        )
    scale = noise.deviation.mean(axis=1)
    relative = np.divide(
        noise.deviation,
        scale[:, np.newaxis],
        out=np.zeros_like(noise.deviation),
        where=scale[:, np.newaxis] > 0,
    )
    reach = upper_quantile(relative.max(axis=0), confidence) * scale
    if values is None:
        values = [statistic.value(joint) for *_, joint in named]
    judged = [
        _group(key, value, float(half_width), float(floor), tolerance)
        for key, value, half_width, floor in zip(named, values, reach, noise.floor, strict=True)
    ]
    evidence_of = [
        (g.value - g.noise_floor) / s if s > 0 else 0.0 for g, s in zip(judged, scale, strict=True)
    ]
    fine = [group.state != MISCALIBRATED for group in judged]
    order = sorted(range(len(judged)), key=lambda i: (fine[i], -evidence_of[i]))
    return Groups(tuple(judged[i] for i in order), tolerance, confidence)


def _noise_of_each(
    evidences: list[Evidence],
    statistic: Statistic,
    draws: int,
    confidence: float,
    rng: np.random.Generator,
) -> Noise:
    """Draw noise for each group by itself, with one number for each of its clusters.

    Without clusters on cells, the fewer the more groups there are; values are exact.
    """
    cells = cells_for(len(evidences))
    deviations, floors = [], []
    for given in evidences:
        evidence = given
        if given.clusters is None and len(given.joint) > cells:
            evidence = Evidence.of_joint(given.given.rounded(cells))
        noise = evidence.multiplied_charges(draws, rng, confidence)
        null = evidence.null_charges(min(draws, DRAWS_FOR_A_FLOOR), rng)
        deviations.append(np.concatenate([statistic.values(evidence.joint, c) for c in noise]))
        floor = np.concatenate([statistic.values(evidence.joint, c) for c in null])
        floors.append(float(floor.mean()))
    return Noise(np.stack(deviations), np.array(floors))


def _group(
    key: tuple[str, str, Joint],
    value: float,
    half_width: float,
    floor: float,
    tolerance: float,
) -> Group:
    by, name, joint = key
    low, high = max(0.0, value - half_width), min(1.0, value + half_width)
    events = float((joint.positives / joint.weight * joint.rows).sum())
    few = min(events, joint.row_count - events) < FEW_EVENTS or joint.row_count < FEW_ROWS
    return Group(
        by=by,
        name=name,
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


def _names(by: object) -> list[str]:
    if isinstance(by, str):
        return [by]
    if not isinstance(by, Sequence) or not by:
        raise InvalidForecastsError("with a frame, by must name columns", repr(by))
    return [str(name) for name in by]


def _named(frame: Mapping[str, object], names: list[str]) -> dict[str, object]:
    missing = [name for name in names if name not in frame]
    if missing:
        raise InvalidForecastsError(
            f"the frame must have a column {missing[0]!r}", f"columns {', '.join(frame)}"
        )
    return {name: frame[name] for name in names}

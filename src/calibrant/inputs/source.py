"""What an audit is given: arrays, a frame, files or a Joint, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.data.columns import ColumnNames, known_outcomes
from calibrant.data.files import NO_LABELS, opened, without_missing
from calibrant.data.frames import as_frame, column_names, masked_columns
from calibrant.data.groupings import MOST_LEVELS, PARTS, columns_of
from calibrant.data.hints import require_columns
from calibrant.data.labels import Labels, Told
from calibrant.data.paths import Files, are_paths, settled
from calibrant.data.rows import Given, Rows
from calibrant.data.tables import Part
from calibrant.data.times import Times, checked_times
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inputs.summed import MOST_ROWS_READ, Summed, count_rows, sum_up
from calibrant.joint import Joint
from calibrant.words import count_text

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column, or which array, plays which part."""

    prediction: str = "prediction"
    outcome: str = "outcome"
    weight: object = None
    clusters: object = None
    by: object = None
    time: object = None
    count: str | None = None
    """Column of the number of rows that an entry stands for, where entries are aggregates."""
    positives: str | None = None
    """Column of the number of them with outcome 1."""
    pairs: bool = False
    """Whether pairs of the columns `by` divide the rows as well."""
    segments: bool = False
    """Whether combinations of the columns `by` will be searched."""
    cuts: int = PARTS
    """Parts that numbers of the columns `by` are cut into."""
    most_levels: int = MOST_LEVELS
    """Labels of a column `by` beyond so many are gathered."""

    @property
    def need_rows(self) -> bool:
        """Whether sums by prediction are not enough."""
        return self.clusters is not None or self.time is not None or self.segments

    def parts(self) -> dict[str, Part]:
        """Say how each column is read; one that plays two parts is read for the stricter one."""
        parts = dict.fromkeys(_names(self.by), Part.VALUE)
        if self.clusters is not None:
            parts[str(self.clusters)] = Part.VALUE
        if self.time is not None:
            parts[str(self.time)] = Part.TIME
        if self.count is None and self.positives is None:
            parts[self.outcome] = Part.OUTCOME
        numbers = (self.weight, self.count, self.positives, self.prediction)
        return parts | {str(name): Part.NUMBER for name in numbers if name is not None}


@dataclass(frozen=True, slots=True)
class Source:
    """Forecasts that were read and checked: rows, or sums of them where rows are too many."""

    title: str
    joint: Joint
    """Joint of all rows, exact unless they were summed into cells."""
    rows: Rows | None = None
    """The rows; None where only sums are known."""
    by: Mapping[str, object] = field(default_factory=dict)
    """Columns that group the rows."""
    roles: Roles = field(default_factory=Roles)
    """How these columns group the rows: pairs of them, parts of numbers, most labels."""
    groups: Mapping[tuple[str, str], Joint] = field(default_factory=dict)
    """Joint of each group by column and name, where only sums are known."""
    clusters: object = None
    """Labels of rows that depend on each other."""
    times: Times | None = None
    """When the outcome of each row was due."""
    dropped: int = 0
    described: dict[str, object] = field(default_factory=dict)
    """Where the forecasts came from."""
    notes: tuple[str, ...] = ()
    """What the reader should know of how they were read: labels, files named twice."""


def read(
    data: object,
    y_proba: object,
    roles: Roles,
    *,
    labels: Labels = NO_LABELS,
    percent: bool = False,
    drop_missing: bool = False,
    title: str | None = None,
) -> Source:
    """Bring what the caller holds to one form."""
    if isinstance(data, Joint):
        _refuse_roles(roles, "a Joint")
        _refuse_beside(y_proba, labels.positive)
        return Source(title or "Forecasts", data)
    if y_proba is not None:
        _refuse_labels(labels)
        given = Given.read(data, y_proba, roles.weight, labels.positive)
        return _of_rows(given, replace(roles, by=_labels(roles.by)), title or "Forecasts")
    described: dict[str, object] = {"prediction": roles.prediction, "outcome": roles.outcome}
    options = {"percent": percent, "drop_missing": drop_missing}
    if not are_paths(data):
        _check_frame(data)
        described["frame"] = type(data).__module__.split(".")[0]
        frame, told = as_frame(data), None
        require_columns(frame.collect_schema().names(), list(roles.parts()))
        if labels.positive is not None or labels.missing:
            frame, told = known_outcomes(frame, roles.outcome, labels)
        return _read_frame(
            frame.to_native(), roles, title or "Forecasts", described, told, **options
        )
    with settled(data) as files:
        names = [Path(file).name for file in files.given]
        described["files"] = names
        with opened(files, roles.parts(), labels, progress=False) as (relation, told):
            source = _read_frame(
                relation, roles, title or ", ".join(names), described, told, **options
            )
    return replace(source, notes=(*files.repeated, *source.notes))


def _read_frame(
    frame: Any,
    roles: Roles,
    title: str,
    described: dict[str, object],
    told: Told | None,
    *,
    percent: bool,
    drop_missing: bool,
) -> Source:
    """Sum or read the rows of a frame whose outcomes are known as 0, 1 and missing."""
    notes: tuple[str, ...] = ()
    if told is not None:
        described |= {"labels": told.as_dict()}
        notes = (f"outcomes: {told.sentence}",)
    options = {"percent": percent, "drop_missing": drop_missing}
    if _sums_will_do(frame, roles):
        found = sum_up(
            frame,
            _summed_as(roles),
            _names(roles.by),
            pairs=roles.pairs,
            parts=roles.cuts,
            most_levels=roles.most_levels,
            **options,
        )
        return replace(_of_sums(found, title, described), notes=notes)
    forecasts = prepare(
        masked_columns(frame, list(roles.parts())),
        roles.prediction,
        roles.outcome,
        may_miss=_names(roles.by),
        **options,
    )
    columns = forecasts.columns
    weight = None if roles.weight is None else columns[str(roles.weight)]
    given = Given.read(forecasts.outcome, forecasts.prediction, weight)
    held = replace(
        roles,
        by={column: columns[column] for column in _names(roles.by)},
        clusters=None if roles.clusters is None else columns[str(roles.clusters)],
        time=None if roles.time is None else columns[str(roles.time)],
    )
    source = _of_rows(given, held, title)
    return replace(source, dropped=forecasts.dropped, described=described, notes=notes)


def _sums_will_do(frame: object, roles: Roles) -> bool:
    """Whether rows need not be read one by one."""
    if roles.count is None and roles.positives is None:
        return not roles.need_rows and count_rows(frame) > MOST_ROWS_READ
    wanting = {"clusters": roles.clusters, "time": roles.time, "find_segments": roles.segments}
    beside = [name for name, value in wanting.items() if value]
    if beside:
        raise InvalidForecastsError(
            f"rows are needed for {beside[0]}", "counts of rows", "leave count and positives out"
        )
    return True


def _summed_as(roles: Roles) -> ColumnNames:
    """Say which part each column plays in the sums."""
    parts: ColumnNames = {"prediction": roles.prediction}
    if roles.count is not None:
        parts["count"] = roles.count
    if roles.positives is not None:
        parts["positives"] = roles.positives
    if roles.weight is not None:
        parts["weight"] = str(roles.weight)
    if roles.count is None and roles.positives is None:
        parts["outcome"] = roles.outcome
    return parts


def _of_sums(found: Summed, title: str, described: dict[str, object]) -> Source:
    if found.joint.resolution is not None:
        described |= {"cells": found.joint.resolution, "rounding": found.joint.rounding}
    return Source(
        title, found.joint, groups=found.groups, dropped=found.dropped, described=described
    )


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Columns as the options want them."""

    prediction: Any
    outcome: Any
    columns: Columns
    """All columns, without the rows that were dropped."""
    dropped: int


def prepare(
    columns: Columns,
    prediction: str,
    outcome: str,
    *,
    percent: bool,
    drop_missing: bool,
    may_miss: Sequence[str] = (),
) -> Forecasts:
    """Drop rows with missing values, and rescale.

    Columns that may miss values keep them: there they are a group of their own.
    """
    dropped = 0
    if drop_missing:
        columns, dropped = without_missing(columns, may_miss)
        if not len(columns[outcome]):
            raise InvalidForecastsError("there must be at least one row without missing values")
    probabilities = columns[prediction]
    if percent:
        probabilities = np.ma.asarray(probabilities).astype(float) / 100
    return Forecasts(probabilities, columns[outcome], columns, dropped)


def reading_notes(files: Files, told: Told | None, dropped: int = 0) -> list[str]:
    """Say what the reader should know of how files were read."""
    notes = list(files.repeated)
    if told is not None:
        notes.append(f"outcomes: {told.sentence}")
    if dropped:
        notes.append(f"{count_text(dropped, 'row')} with a missing value were dropped")
    return notes


def _of_rows(given: Given, roles: Roles, title: str) -> Source:
    """Check rows; the roles hold columns, not their names."""
    joint, rows = Joint.checked(given)
    times = None
    if roles.time is not None:
        times = checked_times(np.ma.asarray(roles.time), rows.outcome.size)
    by = roles.by if isinstance(roles.by, Mapping) else {}
    return Source(title, joint, rows, by, roles, clusters=roles.clusters, times=times)


def _refuse_beside(y_proba: object, pos_label: object) -> None:
    if y_proba is not None or pos_label is not None:
        raise InvalidForecastsError(
            "a Joint already holds predictions, outcomes and weights",
            f"a Joint together with {'pos_label' if y_proba is None else 'y_proba'}",
        )


def _check_frame(data: object) -> None:
    if column_names(data) is None:
        raise InvalidForecastsError(
            "an audit takes a Joint, outcomes and predictions, a frame, or paths of files",
            f"one argument of type {type(data).__name__}",
            "call it as audit(y_true, y_proba)",
        )


def _names(by: object) -> list[str]:
    if by is None:
        return []
    if isinstance(by, str):
        return [by]
    if not isinstance(by, Sequence):
        raise InvalidForecastsError("by must name columns", type(by).__name__)
    return [str(name) for name in by]


def _labels(by: object) -> Mapping[str, object]:
    if by is None:
        return {}
    if isinstance(by, str):
        raise InvalidForecastsError(
            "with arrays, by must hold the labels", repr(by), "pass by={'name': labels}"
        )
    return columns_of(by)


def _refuse_labels(labels: Labels) -> None:
    if labels.negative or labels.missing:
        raise InvalidOptionError(
            "neg_label and na_label are for frames and files",
            "arrays",
            "leave out the rows that are neither",
        )


def _refuse_roles(roles: Roles, what: str) -> None:
    given = {
        "sample_weight": roles.weight,
        "clusters": roles.clusters,
        "by": roles.by,
        "time": roles.time,
        "count": roles.count,
        "positives": roles.positives,
    }
    beside = [name for name, value in given.items() if value is not None]
    if beside:
        raise InvalidForecastsError(
            f"{', '.join(beside)} cannot be used with {what}", what, "pass the rows"
        )

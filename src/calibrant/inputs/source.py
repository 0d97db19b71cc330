"""What an audit is given: arrays, a frame, files or a Joint, brought to one form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import count_text
from calibrant.data.classes import ROUNDED_SUM_TOLERANCE
from calibrant.data.columns import ColumnNames, known_outcomes
from calibrant.data.files import NO_LABELS, opened, opened_table, without_missing
from calibrant.data.frames import (
    Frame,
    as_frame,
    column_has_zone,
    column_names,
    masked_columns,
    possible_keys,
)
from calibrant.data.hints import require_columns
from calibrant.data.input import as_array, as_floats, refuse_other_labels
from calibrant.data.labels import LabelMeanings, Labels
from calibrant.data.paths import Files, are_paths, settled
from calibrant.data.rows import RawRows, Rows, chances
from calibrant.data.splits import canonical_order
from calibrant.data.tables import Part
from calibrant.data.times import Times, checked_times, have_zone, read_dates
from calibrant.errors import InvalidForecastsError, InvalidOptionError, arguments_named
from calibrant.inputs.roles import KindRequest, Roles
from calibrant.inputs.summed import MOST_ROWS_READ, Summed, count_rows, sum_up
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, are_classes, as_forecasts
from calibrant.kinds import BINARY, Kind


def read_class_columns(
    columns: Mapping[str, Any], roles: Roles, *, percent: bool = False
) -> ClassForecasts:
    """Check columns that were read as the roles say; the roles hold the weights."""
    classes = roles.classes or ()
    names = list(map(str, classes))
    if set(names) <= set(columns):
        table = np.stack([as_floats(as_array(columns[name], name), name) for name in names], axis=1)
    else:
        lists = as_array(columns[roles.prediction], roles.prediction)
        table = _rows_of_lists(lists, len(names), roles.prediction)
    return ClassForecasts.read(
        _labels(columns[roles.outcome], classes),
        table / 100 if percent else table,
        classes=list(classes),
        sample_weight=roles.weight,
        sum_tolerance=ROUNDED_SUM_TOLERANCE,
    )


def without_words(column: Any, words: Sequence[object]) -> Any:
    """Mask the labels that mean that nobody knows."""
    if not words:
        return column
    labels = np.ma.asarray(column)
    unknown = np.isin(labels.data.astype(str), list(map(str, words)))
    return np.ma.array(labels.data, mask=np.ma.getmaskarray(labels) | unknown)


def _rows_of_lists(column: Any, count: int, name: str) -> Floats:
    """Stack lists of equal length; other things are refused."""
    rows = [np.asarray([] if row is None else row, dtype=float) for row in column.tolist()]
    sizes = {row.size if row.ndim == 1 else 0 for row in rows}
    if sizes != {count}:
        raise InvalidForecastsError(
            f"there must be columns named like the classes, or lists of {count} in {name!r}",
            f"entries of length {', '.join(map(str, sorted(sizes)))}",
        )
    return np.stack(rows)


def _labels(column: Any, classes: Sequence[Any]) -> Any:
    """Labels that are numbers match names that look like them; otherwise they are positions."""
    labels = as_array(column, "y_true")
    if labels.dtype.kind in "iu":
        as_text = labels.astype(str)
        if set(np.unique(as_text).tolist()) <= set(classes):
            return as_text
    return labels


Columns = dict[str, Any]
# Columns beside the requested ones in which rows that share a value may be alike.
MOST_KEYS = 12


@dataclass(frozen=True, slots=True)
class Source:
    """Forecasts that were read and checked: rows, or sums of them where rows are too many.

    Of forecasts of classes, Joint and rows are those of the confidence in the most likely class,
    and whether that class was right: what groups, windows and monitors look at.
    """

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
    zoned: bool = False
    """Whether these times came with a time zone; they are in UTC then."""
    dropped: int = 0
    described: dict[str, object] = field(default_factory=dict)
    """Where the forecasts came from."""
    notes: tuple[str, ...] = ()
    """What the reader should know of how they were read: labels, files named twice."""
    classes: ClassForecasts | None = None
    """Probabilities of all classes, where there are more than two."""
    risk: float | None = None
    """Share of outcomes 0 that an audit allows where one acts, unless another is requested."""
    answered_by: object = None
    """Labels of those who act, each of whom gets a threshold of its own: models."""

    @property
    def kind(self) -> Kind:
        """What the forecasts are forecasts of."""
        return BINARY if self.rows is None else self.rows.kind

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and how many rows were dropped."""
        return (*self.notes, *dropped_notes(self.dropped))

    @property
    def clipped(self) -> int:
        """Count predictions that lay outside [0, 1] by a rounding error."""
        return self.joint.clipped if self.classes is None else self.classes.clipped

    def mapped(self, mapping: Callable[[Floats], Floats], note: str) -> Source:
        """Return the same rows with other predictions; of classes, their whole table changes."""
        notes = (*self.notes, note)
        if self.classes is not None:
            forecasts = replace(self.classes, probability=mapping(self.classes.probability))
            top = forecasts.top_label_rows()
            joint = Joint.from_rows(top)
            return replace(self, joint=joint, rows=top, classes=forecasts, notes=notes)
        rows = self.rows
        if rows is not None:
            rows = replace(rows, prediction=np.ascontiguousarray(mapping(rows.prediction)))
        groups = {name: joint.apply(mapping) for name, joint in self.groups.items()}
        joint = self.joint.apply(mapping)
        return replace(self, joint=joint, rows=rows, groups=groups, notes=notes)

    @property
    def fingerprint(self) -> str:
        """Hash of predictions and outcomes; equal for the same rows in any order."""
        joint, forecasts = self.joint, self.classes
        if self.rows is not None and not self.kind.summed:
            return _fingerprint_of(self.rows)
        if forecasts is not None:
            parts = (forecasts.probability, forecasts.label)
            order = canonical_order(*parts)
            columns: tuple[Any, ...] = tuple(column[order] for column in parts)
        else:
            # Sums of doubles depend in their last digits on the order of the rows: of weights and
            # outcomes only what is whole, or rounded, has a say.
            counted = np.rint(joint.positives) if joint.unweighted else np.zeros(0)
            columns = (joint.low, joint.high, joint.rows, counted)
        digest = hashlib.sha256(f"{joint.total:.6g} {joint.base_rate:.6g}".encode())
        for column in columns:
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()[:16]


def _fingerprint_of(rows: Rows) -> str:
    columns = [rows.prediction, rows.outcome, *([] if rows.upper is None else [rows.upper])]
    order = canonical_order(*columns)
    digest = hashlib.sha256(rows.kind.name.encode())
    for column in columns:
        digest.update(np.ascontiguousarray(column[order] + 0.0).tobytes())
    return digest.hexdigest()[:16]


class Readable(Protocol):
    """What knows by itself how it enters: answers of language models."""

    def as_source(self, roles: Roles, title: str | None = None) -> Source:
        """Return checked forecasts."""


def is_readable(data: object) -> TypeGuard[Readable]:
    """Whether a type knows how it enters; frames of Spark Connect answer to any name."""
    return hasattr(type(data), "as_source")


def read(
    data: object,
    y_proba: object,
    roles: Roles,
    *,
    labels: Labels = NO_LABELS,
    percent: bool = False,
    logits: bool = False,
    drop_missing: bool = False,
    title: str | None = None,
) -> Source:
    """Bring what the caller holds to one form."""
    if isinstance(data, Joint):
        roles.refuse_with_joint()
        _refuse_further_arguments(y_proba, labels.positive)
        return Source(title or "Forecasts", data)
    if is_readable(data):
        _refuse_further_arguments(y_proba, labels.positive)
        return data.as_source(roles, title)
    if isinstance(data, ClassForecasts) or y_proba is not None:
        return _read_arrays(data, y_proba, roles, labels, title or "Forecasts")
    if roles.classes is not None:
        roles.refuse_with_classes(labels)
    if logits:
        roles.refuse_with_logits()
    described = roles.described()
    options: dict[str, Any] = {
        "labels": labels,
        "percent": percent,
        "logits": logits,
        "drop_missing": drop_missing,
    }
    if not are_paths(data):
        _check_frame(data)
        described["frame"] = type(data).__module__.split(".")[0]
        frame, meanings = as_frame(data), None
        present = frame.collect_schema().names()
        require_columns(present, list(roles.parts(present)))
        if roles.classes is None and (labels.positive is not None or labels.missing):
            frame, meanings = known_outcomes(frame, roles.outcome, labels)
        if roles.may_depend:
            roles = replace(roles, keys=keys_of_frame(frame, roles.parts(present)))
        return _read_frame(
            frame.to_native(), roles, title or "Forecasts", described, meanings, **options
        )
    with settled(data) as files:
        names = [Path(file).name for file in files.requested]
        described["files"] = names
        if roles.may_depend:
            roles = replace(roles, keys=keys_of_files(files, roles.parts))
        parts = roles.parts(_columns_of(files) if roles.classes is not None else ())
        with opened(files, parts, labels, progress=False) as (relation, meanings):
            source = _read_frame(
                relation, roles, title or ", ".join(names), described, meanings, **options
            )
    return replace(source, notes=(*files.notes, *source.notes))


def _read_arrays(data: object, y_proba: object, roles: Roles, labels: Labels, title: str) -> Source:
    """Check outcomes and predictions; more than two columns are classes."""
    refuse_other_labels(
        y_true=data,
        y_proba=y_proba,
        sample_weight=roles.weight,
        by=roles.by,
        clusters=roles.clusters,
        time=roles.time,
    )
    array_roles = replace(roles, by=roles.labels_by())
    if roles.kind is not None:
        return _of_kind(rows_of_kind(data, y_proba, roles.kind, roles.weight), array_roles, title)
    many = are_classes(data, y_proba, roles.classes)
    if many:
        roles.refuse_with_classes(labels)
    if labels.negative or labels.missing:
        raise InvalidOptionError(
            "@neg_label and @na_label are for frames and files",
            "arrays",
            "leave out the rows that are neither",
        )
    if many:
        forecasts = as_forecasts(data, y_proba, roles.classes, roles.weight)
        return _of_classes(forecasts, array_roles, title)
    raw = RawRows.read(data, y_proba, roles.weight, labels.positive)
    if raw.prediction.size > MOST_ROWS_READ and not (roles.need_rows or array_roles.by):
        return _of_sums(Summed(Joint.of_many_rows(raw)[0], {}, 0), title, {})
    zoned = roles.time is not None and have_zone(roles.time)
    return replace(_of_raw_rows(raw, array_roles, title), zoned=zoned)


def keys_of_files(
    files: Files, parts: Callable[[list[str]], Mapping[str, Part]]
) -> dict[str, object]:
    """Name columns of files that may identify what rows are about, beside those that are read.

    Of several files only CSV is looked at, whose headers are all read: others may lack columns.
    """
    with opened_table(files, [], progress=False) as table:
        if len(files.names) > 1 and set(table.types.values()) != {"VARCHAR"}:
            return {}
        return dict.fromkeys(table.possible_keys(parts(table.names), MOST_KEYS))


def keys_of_frame(frame: Frame, parts: Mapping[str, Part]) -> dict[str, object]:
    """Name such columns of a frame."""
    return dict.fromkeys(possible_keys(frame, parts, MOST_KEYS))


def _columns_of(files: Files) -> list[str]:
    with opened_table(files, progress=False) as table:
        return table.names


@contextmanager
def _columns_named(roles: Roles) -> Iterator[None]:
    """Say of columns what the library says of the arrays that they were read into."""
    names = {"y_true": roles.outcome, "y_proba": roles.prediction, "sample_weight": roles.weight}
    if roles.kind is not None:
        low, high = roles.kind.columns or (roles.prediction, "upper")
        names |= {"y_pred": low, "upper": high}
    with arguments_named(**{name: f"column {column!r}" for name, column in names.items()}):
        yield


def _read_frame(
    frame: Any,
    roles: Roles,
    title: str,
    described: dict[str, object],
    meanings: LabelMeanings | None,
    *,
    labels: Labels,
    percent: bool,
    logits: bool,
    drop_missing: bool,
) -> Source:
    """Sum or read the rows of a frame whose outcomes are known as 0, 1 and missing, or classes."""
    notes: tuple[str, ...] = ()
    if meanings is not None:
        described |= {"labels": meanings.as_dict()}
        notes = (f"outcomes: {meanings.sentence}",)
    if _sums_will_do(frame, roles):
        found = sum_up(
            frame,
            _summed_as(roles),
            roles.columns_by(),
            pairs=roles.pairs,
            parts=roles.cuts,
            most_levels=roles.most_levels,
            percent=percent,
            logits=logits,
            drop_missing=drop_missing,
        )
        return replace(_of_sums(found, title, described), notes=notes)
    present = as_frame(frame).collect_schema().names() if roles.classes is not None else ()
    columns = masked_columns(frame, list(roles.parts(present)))
    zoned = roles.time is not None and (
        column_has_zone(frame, str(roles.time)) or have_zone(columns[str(roles.time)])
    )
    if roles.classes is not None:
        columns[roles.outcome] = without_words(columns[roles.outcome], labels.missing)
    if roles.until is not None:
        columns = _until(columns, str(roles.time), roles.until)
    columns, dropped = _without_missing(columns, roles, drop_missing=drop_missing)
    array_roles = replace(
        roles,
        by={column: columns[column] for column in roles.columns_by()},
        clusters=None if roles.clusters is None else columns[str(roles.clusters)],
        time=None if roles.time is None else columns[str(roles.time)],
        weight=None if roles.weight is None else columns[str(roles.weight)],
        keys={name: columns[name] for name in roles.keys},
    )
    if roles.kind is not None:
        with _columns_named(roles):
            source = _of_kind(
                _rows_in_columns(columns, roles, array_roles.weight), array_roles, title
            )
    elif roles.classes is not None:
        forecasts = read_class_columns(columns, array_roles, percent=percent)
        source = _of_classes(forecasts, array_roles, title)
    else:
        prediction = _rescaled(columns[roles.prediction], percent=percent, logits=logits)
        with _columns_named(roles):
            raw = RawRows.read(columns[roles.outcome], prediction, array_roles.weight)
            source = _of_raw_rows(raw, array_roles, title)
    described = described | source.described
    return replace(source, dropped=dropped, described=described, notes=notes, zoned=zoned)


def _sums_will_do(frame: object, roles: Roles) -> bool:
    """Whether rows need not be read one by one."""
    if roles.count is None and roles.positives is None:
        return not roles.need_rows and count_rows(frame) > MOST_ROWS_READ
    wanting = {"clusters": roles.clusters, "time": roles.time, "find_segments": roles.segments}
    reasons = [name for name, value in wanting.items() if value]
    if reasons:
        raise InvalidForecastsError(
            f"rows are needed for {reasons[0]}", "counts of rows", "leave count and positives out"
        )
    return True


def _summed_as(roles: Roles) -> ColumnNames:
    """Say which part each column plays in the sums."""
    parts: ColumnNames = {"prediction": roles.prediction}
    if roles.prediction_sum is not None:
        parts = {"prediction_sum": roles.prediction_sum}
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
    described |= _cells_of(found.joint)
    return Source(
        title, found.joint, groups=found.groups, dropped=found.dropped, described=described
    )


def _cells_of(joint: Joint) -> dict[str, object]:
    """Say how predictions were rounded, if they were."""
    if joint.resolution is None:
        return {}
    return {"cells": joint.resolution, "rounding": joint.rounding}


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
    logits: bool = False,
    may_miss: Sequence[str] = (),
) -> Forecasts:
    """Drop rows with missing values, and rescale.

    Columns that may miss values keep them: there they are a group of their own.
    """
    roles = Roles(prediction, outcome, by=may_miss)
    columns, dropped = _without_missing(columns, roles, drop_missing=drop_missing)
    probabilities = _rescaled(columns[prediction], percent=percent, logits=logits)
    return Forecasts(probabilities, columns[outcome], columns, dropped)


def _without_missing(columns: Columns, roles: Roles, *, drop_missing: bool) -> tuple[Columns, int]:
    if not drop_missing:
        return columns, 0
    may_miss = [*([] if roles.all_grouped else roles.columns_by()), *roles.keys]
    columns, dropped = without_missing(columns, may_miss)
    if not len(columns[roles.outcome]):
        raise InvalidForecastsError("there must be at least one row without missing values")
    return columns, dropped


def _rescaled(prediction: Any, *, percent: bool, logits: bool) -> Any:
    if logits:
        return chances(prediction)
    return np.ma.asarray(prediction).astype(float) / 100 if percent else prediction


def _until(columns: Columns, time: str, until: str) -> Columns:
    """Leave out rows whose outcome was not due by a time, whether it is known or not."""
    moments = read_dates(as_array(columns[time], "time"))
    try:
        last: Any = float(until) if moments.dtype.kind != "M" else read_dates(np.array([until]))[0]
        due = ~(moments > last)  # what is not known to be later
    except (TypeError, ValueError) as error:
        raise InvalidOptionError("@until must be a time like those of the column", until) from error
    if not due.any():
        raise InvalidForecastsError("there must be at least one row", f"none due until {until}")
    return {name: values[due] for name, values in columns.items()}


def reading_notes(files: Files, meanings: LabelMeanings | None, dropped: int = 0) -> list[str]:
    """Say what the reader should know of how files were read."""
    notes = list(files.notes)
    if meanings is not None:
        notes.append(f"outcomes: {meanings.sentence}")
    return [*notes, *dropped_notes(dropped)]


def dropped_notes(dropped: int) -> list[str]:
    """Say how many rows were left out on request."""
    return [f"{count_text(dropped, 'row')} with a missing value left out"] if dropped else []


def _of_raw_rows(raw: RawRows, roles: Roles, title: str) -> Source:
    """Check rows that are all kept; of very many the Joint is that of cells."""
    # An audit needs outcomes: mean outcomes beside forecasts of 0 and 1 can only be swapped.
    raw = replace(raw, whole=True)
    many = raw.prediction.size > MOST_ROWS_READ
    joint, rows = (Joint.of_many_rows if many else Joint.checked)(raw)
    return replace(_of_rows(joint, rows, roles, title), described=_cells_of(joint))


def _of_rows(
    joint: Joint, rows: Rows, roles: Roles, title: str, classes: ClassForecasts | None = None
) -> Source:
    """Keep what stands beside rows that were checked; the roles hold columns, not their names."""
    times = None
    if roles.time is not None:
        times = checked_times(roles.time, rows.outcome.size)
    by = roles.by if isinstance(roles.by, Mapping) else {}
    return Source(
        title,
        joint,
        rows,
        by,
        roles,
        clusters=roles.clusters,
        times=times,
        classes=classes,
    )


def rows_of_kind(y_true: object, y_pred: object, kind: KindRequest, weight: object) -> Rows:
    """Check outcomes and forecasts of numbers; intervals have two columns."""
    upper: object = None
    if kind.of_intervals:
        table = as_array(y_pred, "y_pred")
        if table.ndim != 2 or table.shape[1] != 2:
            raise InvalidForecastsError(
                "intervals must be two columns, the lower and the upper ends",
                f"shape {table.shape}",
            )
        y_pred, upper = table[:, 0], table[:, 1]
    return Rows.of_kind(
        y_true,
        y_pred,
        kind.plain,
        upper=upper,
        level=kind.level,
        range_=kind.range,
        sample_weight=weight,
    )


def _rows_in_columns(columns: Columns, roles: Roles, weight: object) -> Rows:
    """Check forecasts of numbers that stand in columns."""
    assert roles.kind is not None  # noqa: S101  # the caller has looked
    ends = roles.kind.columns
    low, high = ends or (roles.prediction, None)
    return Rows.of_kind(
        columns[roles.outcome],
        columns[low],
        roles.kind.plain,
        upper=None if high is None else columns[high],
        level=roles.kind.level,
        range_=roles.kind.range,
        sample_weight=weight,
    )


def _of_kind(rows: Rows, roles: Roles, title: str) -> Source:
    """Keep rows of forecasts of numbers, whose positions are predictions to a Joint."""
    return _of_rows(Joint.of(rows), rows, roles, title)


def _of_classes(forecasts: ClassForecasts, roles: Roles, title: str) -> Source:
    """See classes as confidence in the most likely one; rows that weigh nothing are gone."""
    rows = forecasts.top_label_rows()
    return _of_rows(Joint.from_rows(rows), rows, roles.where_weighing(), title, forecasts)


def _refuse_further_arguments(y_proba: object, pos_label: object) -> None:
    if y_proba is not None or pos_label is not None:
        raise InvalidForecastsError(
            "a Joint, or answers, hold predictions, outcomes and weights",
            f"one of them together with {'pos_label' if y_proba is None else 'y_proba'}",
        )


def _check_frame(data: object) -> None:
    if column_names(data) is None:
        raise InvalidForecastsError(
            "an audit takes a Joint, outcomes and predictions, a frame, or paths of files",
            f"one argument of type {type(data).__name__}",
            "call it as audit(y_true, y_proba)",
        )

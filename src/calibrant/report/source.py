"""What an audit is given: arrays, a frame, files or a Joint, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidForecastsError
from calibrant.groups.division import Division
from calibrant.groups.summed import MOST_ROWS_READ, Summed, count_rows, sum_up
from calibrant.inference.evidence import Evidence
from calibrant.inference.simultaneous import Evidences
from calibrant.joint import Joint, Rows
from calibrant.joint.columns import ColumnNames
from calibrant.joint.engines import as_frame, fetched
from calibrant.joint.files import fetch_columns, opened, read_columns, without_missing
from calibrant.joint.names import require
from calibrant.measurement import read_source
from calibrant.report.windows import Times, checked_times

Columns = dict[str, Any]
TRUTHS = {"true": True, "1": True, "false": False, "0": False}


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

    @property
    def need_rows(self) -> bool:
        """Whether sums by prediction are not enough."""
        return self.clusters is not None or self.time is not None or self.segments


@dataclass(frozen=True, slots=True)
class Source:
    """Forecasts ready to be summarised."""

    title: str
    evidence: Evidence
    groups: Division | Evidences | None = None
    """Rows divided into groups, or the evidence of each, if there are any."""
    dropped: int = 0
    described: dict[str, object] = field(default_factory=dict)
    """Where the forecasts came from."""
    task: DecisionTask | None = None
    """The reader's own decision."""
    segments: bool = False
    """Whether to look for the worst combinations of the columns of the groups."""
    log: tuple[Rows, Times] | None = None
    """Rows with the times of their outcomes, if there are any."""


def read(
    data: object,
    y_proba: object,
    roles: Roles,
    *,
    pos_label: object = None,
    percent: bool = False,
    drop_missing: bool = False,
    title: str | None = None,
) -> Source:
    """Bring what the caller holds to one form."""
    if isinstance(data, Joint):
        _refuse_roles(roles, "a Joint")
        joint = read_source(data, y_proba, None, pos_label)
        return Source(title or "Forecasts", Evidence.read(joint))
    if y_proba is not None:
        rows = Rows.read(data, y_proba, roles.weight, pos_label)
        source = _of_rows(
            rows, _labels(roles.by), roles.clusters, title or "Forecasts", pairs=roles.pairs
        )
        return _timed(source, rows, roles.time)
    files = _as_paths(data)
    described: dict[str, object]
    if files is not None:
        described = {"files": [Path(file).name for file in files]}
        name = title or ", ".join(Path(file).name for file in files)
    else:
        described = {"frame": type(data).__module__.split(".")[0]}
        name = title or "Forecasts"
    described |= {"prediction": roles.prediction, "outcome": roles.outcome}
    if files is None:
        _check_frame(data)
    frame: Any
    with nullcontext(data) if files is None else opened(files, progress=False) as frame:
        names = _column_names(roles)
        if _sums_will_do(frame, roles):
            parts = _parts(frame, roles, names, pos_label)
            found = sum_up(
                frame,
                parts,
                _names(roles.by),
                pairs=roles.pairs,
                percent=percent,
                drop_missing=drop_missing,
            )
            return _of_sums(found, name, described)
        columns: Columns = (
            _frame_columns(data, names) if files is None else dict(fetch_columns(frame, names))
        )
    forecasts = prepare(
        columns,
        roles.prediction,
        roles.outcome,
        pos_label,
        percent=percent,
        drop_missing=drop_missing,
        may_miss=_names(roles.by),
    )
    columns = forecasts.columns
    weight = None if roles.weight is None else columns[str(roles.weight)]
    rows = Rows.read(forecasts.outcome, forecasts.prediction, weight, forecasts.pos_label)
    by = {column: columns[column] for column in _names(roles.by)}
    clusters = None if roles.clusters is None else columns[str(roles.clusters)]
    source = _of_rows(rows, by, clusters, name, forecasts.dropped, described, pairs=roles.pairs)
    return _timed(source, rows, None if roles.time is None else columns[str(roles.time)])


def _sums_will_do(frame: object, roles: Roles) -> bool:
    """Whether rows need not be read one by one."""
    if roles.count is None and roles.positives is None:
        return not roles.need_rows and count_rows(frame) > MOST_ROWS_READ
    if roles.need_rows:
        raise InvalidForecastsError(
            "clusters and times need rows", "counts of rows", "leave count and positives out"
        )
    return True


def _parts(frame: Any, roles: Roles, names: list[str], pos_label: object) -> ColumnNames:
    """Say which part each column plays in the sums."""
    parts: ColumnNames = {"prediction": roles.prediction}
    if roles.count is not None:
        parts["count"] = roles.count
    if roles.positives is not None:
        parts["positives"] = roles.positives
    if roles.weight is not None:
        parts["weight"] = str(roles.weight)
    if pos_label is not None:
        native = as_frame(frame)
        require(native.collect_schema().names(), names)
        first = fetched(native.select(roles.outcome).head(1))[roles.outcome]
        label = _like_the_labels(pos_label, first)
        parts["pos_label"] = label.item() if isinstance(label, np.generic) else label
    if roles.count is None and roles.positives is None:
        parts["outcome"] = roles.outcome
    return parts


def _of_sums(found: Summed, title: str, described: dict[str, object]) -> Source:
    evidence = Evidence.of_joint(found.joint)
    if found.joint.resolution is not None:
        described |= {"cells": found.joint.resolution, "rounding": found.joint.rounding}
    return Source(title, evidence, found.evidences or None, found.dropped, described)


def _timed(source: Source, rows: Rows, time: object) -> Source:
    if time is None:
        return source
    return replace(source, log=(rows.cure(), checked_times(np.ma.asarray(time), len(rows.outcome))))


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Columns as the options want them."""

    prediction: Any
    outcome: Any
    pos_label: object
    columns: Columns
    """All columns, without the rows that were dropped."""
    dropped: int


def prepare(
    columns: Columns,
    prediction: str,
    outcome: str,
    pos_label: object,
    *,
    percent: bool,
    drop_missing: bool,
    may_miss: Sequence[str] = (),
) -> Forecasts:
    """Drop rows with missing values, rescale, and give the label the type of the outcomes.

    Columns that may miss values keep them: there they are a group of their own.
    """
    dropped = 0
    if drop_missing:
        columns, dropped = without_missing(columns, may_miss)
        if not len(columns[outcome]):
            raise InvalidForecastsError("there must be at least one row without missing values")
    probabilities = columns[prediction]
    if percent:
        probabilities = np.asarray(probabilities, dtype=float) / 100
    label = _like_the_labels(pos_label, columns[outcome])
    return Forecasts(probabilities, columns[outcome], label, columns, dropped)


def join_pairs(
    old: Sequence[str | Path],
    new: Sequence[str | Path],
    key: str,
    roles: Roles,
    *,
    pos_label: object = None,
) -> tuple[Any, Any, Any]:
    """Outcomes, old and new predictions of the rows that both releases have."""
    columns = [roles.prediction, roles.outcome, key]
    before, after = (dict(read_columns(files, columns)) for files in (old, new))
    for table, name in ((before, "the baseline"), (after, "the file")):
        if np.unique(np.ma.getdata(table[key])).size != len(table[key]):
            raise InvalidForecastsError(f"--key must name each row of {name} once", repr(key))
    _, first, second = np.intersect1d(
        np.ma.getdata(before[key]), np.ma.getdata(after[key]), return_indices=True
    )
    if not first.size:
        raise InvalidForecastsError("the baseline must share rows with the file", "no common key")
    label = _like_the_labels(pos_label, after[roles.outcome])
    then, now = before[roles.outcome][first], after[roles.outcome][second]
    if not np.array_equal(np.ma.getdata(then), np.ma.getdata(now)):
        raise InvalidForecastsError(
            "rows with the same key must have the same outcome",
            f"{int((np.ma.getdata(then) != np.ma.getdata(now)).sum())} that differ",
        )
    outcome = now if label is None else np.asarray(now == label)
    return outcome, before[roles.prediction][first], after[roles.prediction][second]


def _of_rows(
    rows: Rows,
    by: Mapping[str, object],
    clusters: object,
    title: str,
    dropped: int = 0,
    described: dict[str, object] | None = None,
    *,
    pairs: bool = False,
) -> Source:
    evidence = Evidence.of_rows(rows, clusters)
    if evidence.given.clipped:
        rows = rows.cure()
    groups = Division.of(rows, by, clusters, pairs=pairs) if by else None
    return Source(title, evidence, groups, dropped, described or {})


def _like_the_labels(text: object, labels: Any) -> object:
    """Turn the text of an option into the type of the labels."""
    values = np.asarray(np.ma.getdata(labels))
    if not isinstance(text, str) or values.dtype.kind in "OUST":
        return text
    if values.dtype.kind == "b" and text.lower() in TRUTHS:
        return np.bool_(TRUTHS[text.lower()])
    try:
        return values.dtype.type(text)
    except ValueError as error:
        raise InvalidForecastsError(
            "--pos-label must be one of the labels", f"{text!r} for labels of type {values.dtype}"
        ) from error


def _as_paths(data: object) -> list[str | Path] | None:
    if isinstance(data, str | Path):
        return [data]
    if isinstance(data, Sequence) and data and all(isinstance(item, str | Path) for item in data):
        return list(data)
    return None


def _check_frame(data: object) -> None:
    import narwhals.stable.v2 as nw

    native = nw.from_native(data, pass_through=True)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        raise InvalidForecastsError(
            "an audit takes a Joint, outcomes and predictions, a frame, or paths of files",
            f"one argument of type {type(data).__name__}",
            "call it as audit(y_true, y_proba)",
        )


def _frame_columns(data: Any, names: list[str]) -> Columns:
    """Columns of any frame, through narwhals."""
    import narwhals.stable.v2 as nw

    native: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(data)
    require(native.collect_schema().names(), names)
    wanted = native.select(*names)
    frame = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
    return {name: frame[name].to_native() for name in names}


def _names(by: object) -> list[str]:
    if by is None:
        return []
    if isinstance(by, str):
        return [by]
    if not isinstance(by, Sequence):
        raise InvalidForecastsError("by must name columns", type(by).__name__)
    return [str(name) for name in by]


def _column_names(roles: Roles) -> list[str]:
    optional = [roles.weight, roles.clusters, roles.time, *_names(roles.by)]
    wanted = [
        roles.prediction,
        roles.outcome,
        *(str(name) for name in optional if name is not None),
    ]
    return list(dict.fromkeys(wanted))


def _labels(by: object) -> Mapping[str, object]:
    if by is None:
        return {}
    if isinstance(by, Mapping):
        return by
    if isinstance(by, str):
        raise InvalidForecastsError(
            "with arrays, by must hold the labels", repr(by), "pass by={'name': labels}"
        )
    return {"group": by}


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

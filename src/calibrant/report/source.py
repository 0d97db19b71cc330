"""What an audit is given: arrays, a frame, files or a Joint, brought to one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidForecastsError
from calibrant.groups.division import Division
from calibrant.inference.evidence import Evidence
from calibrant.joint import Joint, Rows
from calibrant.joint.files import read_columns, without_missing
from calibrant.measurement import read_source

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
    pairs: bool = False
    """Whether pairs of the columns `by` divide the rows as well."""


@dataclass(frozen=True, slots=True)
class Source:
    """Forecasts ready to be summarised."""

    title: str
    evidence: Evidence
    groups: Division | None = None
    """Rows divided into groups, if there are any."""
    dropped: int = 0
    described: dict[str, object] = field(default_factory=dict)
    """Where the forecasts came from."""
    task: DecisionTask | None = None
    """The reader's own decision."""
    log: tuple[Rows, Any] | None = None
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
    names = _column_names(roles)
    files = _as_paths(data)
    described: dict[str, object]
    if files is not None:
        columns: Columns = dict(read_columns(files, names))
        described = {"files": [Path(file).name for file in files]}
        name = title or ", ".join(Path(file).name for file in files)
    else:
        columns = _frame_columns(data, names)
        described = {"frame": type(data).__module__.split(".")[0]}
        name = title or "Forecasts"
    described |= {"prediction": roles.prediction, "outcome": roles.outcome}
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


def _timed(source: Source, rows: Rows, time: object) -> Source:
    if time is None:
        return source
    return replace(source, log=(rows.cure(), np.ma.asarray(time)))


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
    if not isinstance(text, str) or values.dtype.kind in "OUS":
        return text
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


def _frame_columns(data: object, names: list[str]) -> Columns:
    """Columns of any frame, through narwhals."""
    import narwhals.stable.v2 as nw

    native = nw.from_native(data, pass_through=True)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        raise InvalidForecastsError(
            "an audit takes a Joint, outcomes and predictions, a frame, or paths of files",
            f"one argument of type {type(data).__name__}",
            "call it as audit(y_true, y_proba)",
        )
    present = native.collect_schema().names()
    missing = [name for name in names if name not in present]
    if missing:
        raise InvalidForecastsError(
            f"the frame must have a column {missing[0]!r}",
            f"columns {', '.join(map(str, present))}",
            "name the columns: audit(frame, prediction=..., outcome=...)",
        )
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
    }
    beside = [name for name, value in given.items() if value is not None]
    if beside:
        raise InvalidForecastsError(
            f"{', '.join(beside)} cannot be used with {what}", what, "pass the rows"
        )

"""Arrays, frames and files of real outcomes brought to one form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.data.files import opened, without_missing
from calibrant.data.frames import as_frame, column_names, masked_columns
from calibrant.data.groupings import columns_of
from calibrant.data.hints import require_columns
from calibrant.data.input import as_array, refuse_other_labels
from calibrant.data.paths import Paths, are_paths, settled
from calibrant.data.splits import canonical_order
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inputs import Roles, Source, keys_of_files, keys_of_frame, reading_notes
from calibrant.options import shown
from calibrant.real.forecasts import RealForecasts
from calibrant.real.survival import SurvivalForecasts
from calibrant.words import count_text

INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class Ask:
    """What the forecasts are forecasts of, as a user says it."""

    kind: str = "mean"
    range: object = None
    level: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str):
            raise InvalidOptionError("kind must be a name such as 'mean'", shown(self.kind))

    @property
    def columns(self) -> tuple[str, str] | None:
        """Columns of the ends of intervals, where they are named."""
        name, equals, text = self.kind.partition("=")
        if name.strip() != INTERVAL or not equals:
            return None
        names = [part.strip() for part in text.split(",")]
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise InvalidOptionError(
                "intervals need the columns of both ends", repr(self.kind), "interval=low,high"
            )
        return names[0], names[1]

    @property
    def of_intervals(self) -> bool:
        """Whether forecasts are intervals."""
        return self.kind.partition("=")[0].strip() == INTERVAL


@dataclass(frozen=True, slots=True)
class Survival:
    """Risks of an event by a horizon, and the column of times."""

    horizon: float
    duration: str

    @property
    def kind(self) -> str:
        """How users name it."""
        return "survival"


@dataclass(frozen=True, slots=True)
class RealSource:
    """Forecasts of real outcomes that were read and checked, with what stands beside them."""

    title: str
    forecasts: RealForecasts
    by: Mapping[str, object] = field(default_factory=dict)
    roles: Roles = field(default_factory=Roles)
    clusters: object = None
    dropped: int = 0
    described: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Hash of forecasts and outcomes; equal for the same rows in any order."""
        import hashlib

        held = self.forecasts
        columns = [held.forecast, held.outcome]
        if held.upper is not None:
            columns.append(held.upper)
        order = canonical_order(*columns)
        digest = hashlib.sha256(held.kind.kind.encode())
        for column in columns:
            digest.update(np.ascontiguousarray(column[order] + 0.0).tobytes())
        return digest.hexdigest()[:16]


def read_real(
    data: object,
    y_pred: object,
    roles: Roles,
    ask: Ask,
    *,
    drop_missing: bool = False,
    title: str | None = None,
) -> RealSource:
    """Bring what the caller holds to one form."""
    if isinstance(data, RealForecasts):
        return RealSource(title or "Forecasts", data, columns_of(roles.labels_by()), roles)
    if y_pred is not None:
        return _read_arrays(data, y_pred, roles, ask, title or "Forecasts")
    parts = _parts(roles, ask)
    if not are_paths(data):
        names = column_names(data)
        if names is None:
            raise InvalidForecastsError(
                "an audit takes outcomes and predictions, a frame, or paths of files",
                f"one argument of type {type(data).__name__}",
                "call it as audit(y_true, y_pred, kind=...)",
            )
        require_columns(names, list(parts))
        if roles.may_depend:
            roles = replace(roles, keys=keys_of_frame(as_frame(data), parts))
        columns = masked_columns(data, [*parts, *roles.keys])
        described: dict[str, object] = {"frame": type(data).__module__.split(".")[0]}
        return _of_columns(
            columns, roles, ask, title or "Forecasts", described, drop_missing=drop_missing
        )
    with settled(data) as files:
        names_of_files = [Path(file).name for file in files.given]
        if roles.may_depend:
            roles = replace(roles, keys=keys_of_files(files, lambda _: parts))
            parts |= dict.fromkeys(roles.keys, Part.KEY)
        with opened(files, parts, progress=False) as (relation, _):
            columns = dict(relation.fetchnumpy())
    return _of_columns(
        columns,
        roles,
        ask,
        title or ", ".join(names_of_files),
        {"files": names_of_files},
        drop_missing=drop_missing,
        notes=tuple(reading_notes(files, None)),
    )


def read_survival(
    paths: Paths,
    roles: Roles,
    ask: Survival,
    *,
    drop_missing: bool = False,
    title: str | None = None,
) -> Source:
    """Read files of risks, times and what ended them; censored rows count through others."""
    parts = roles.parts()
    if ask.duration in (roles.outcome, roles.prediction):
        part = "outcome" if ask.duration == roles.outcome else "prediction"
        raise InvalidOptionError(f"column {ask.duration!r} must not be the {part} as well")
    parts[roles.outcome] = parts[ask.duration] = Part.NUMBER
    with settled(paths) as files, opened(files, parts, progress=False) as (relation, _):
        columns = dict(relation.fetchnumpy())
    dropped = 0
    if drop_missing:
        columns, dropped = _kept(columns, roles)
    named = {
        "duration": ask.duration,
        "event": roles.outcome,
        "y_proba": roles.prediction,
        "risk": roles.prediction,
        "sample_weight": roles.weight,
    }
    with _columns_named(named):
        forecasts = SurvivalForecasts.read(
            columns[ask.duration],
            columns[roles.outcome],
            columns[roles.prediction],
            ask.horizon,
            sample_weight=None if roles.weight is None else columns[str(roles.weight)],
        )
    held = replace(
        roles,
        by={column: columns[column] for column in roles.columns_by()} or None,
        clusters=None if roles.clusters is None else columns[str(roles.clusters)],
        time=None if roles.time is None else columns[str(roles.time)],
        weight=None,
    )
    source = forecasts.as_source(held, title)
    told = {"files": [Path(file).name for file in files.given], **roles.described()}
    notes = (*reading_notes(files, None, dropped), *source.notes)
    described = told | {"duration": ask.duration} | source.described
    return replace(source, described=described, notes=notes, dropped=dropped)


def _kept(columns: dict[str, Any], roles: Roles) -> tuple[dict[str, Any], int]:
    """Leave out rows that lack a value; a group may."""
    columns, dropped = without_missing(columns, [*roles.columns_by(), *roles.keys])
    if not len(columns[roles.outcome]):
        raise InvalidForecastsError("there must be at least one row without missing values")
    return columns, dropped


@contextmanager
def _columns_named(named: Mapping[str, object]) -> Iterator[None]:
    """Say of columns what the library says of the arrays that they were read into."""
    try:
        yield
    except InvalidForecastsError as error:
        raise type(error)(_named(error.what, named), error.got, error.hint) from error


def _parts(roles: Roles, ask: Ask) -> dict[str, Part]:
    """Say how each column is read: outcomes are numbers here."""
    parts = roles.parts()
    parts[roles.outcome] = Part.NUMBER
    ends = ask.columns
    if ask.of_intervals:
        if ends is None:
            raise InvalidOptionError(
                "intervals need the columns of both ends", repr(ask.kind), "interval=low,high"
            )
        if roles.outcome in ends:
            raise InvalidOptionError(f"column {roles.outcome!r} must not be the prediction as well")
        if roles.prediction not in ends and roles.prediction == Roles().prediction:
            parts.pop(roles.prediction, None)
        parts |= dict.fromkeys(ends, Part.NUMBER)
    return parts


def _of_columns(
    columns: dict[str, Any],
    roles: Roles,
    ask: Ask,
    title: str,
    described: dict[str, object],
    *,
    drop_missing: bool,
    notes: tuple[str, ...] = (),
) -> RealSource:
    dropped = 0
    if drop_missing:
        columns, dropped = _kept(columns, roles)
    ends = ask.columns
    named = {"y_true": roles.outcome, "sample_weight": roles.weight}
    if ends is None:
        predicted, upper = columns[roles.prediction], None
        named["y_pred"] = roles.prediction
        described |= {"prediction": roles.prediction}
    else:
        predicted, upper = columns[ends[0]], columns[ends[1]]
        named |= {"y_pred": ends[0], "upper": ends[1]}
        described |= {"interval": ", ".join(ends)}
    described |= {"outcome": roles.outcome}
    with _columns_named(named):
        forecasts = RealForecasts.read(
            columns[roles.outcome],
            predicted,
            INTERVAL if ask.of_intervals else ask.kind,
            upper=upper,
            level=ask.level,
            range_=ask.range,
            sample_weight=None if roles.weight is None else columns[str(roles.weight)],
        )
    if dropped:
        notes = (*notes, f"{count_text(dropped, 'row')} with a missing value left out")
    return RealSource(
        title,
        forecasts,
        {column: columns[column] for column in roles.columns_by()},
        replace(roles, keys={name: columns[name] for name in roles.keys}),
        None if roles.clusters is None else columns[str(roles.clusters)],
        dropped,
        described,
        notes,
    )


def _named(text: str, named: Mapping[str, object]) -> str:
    """Say of columns what the library says of the arrays that they were read into."""
    for argument, name in named.items():
        text = re.sub(rf"\b{argument}\b", f"column {name!r}", text)
    return text


def _read_arrays(data: object, y_pred: object, roles: Roles, ask: Ask, title: str) -> RealSource:
    refuse_other_labels(
        y_true=data, y_pred=y_pred, sample_weight=roles.weight, by=roles.by, clusters=roles.clusters
    )
    upper: object = None
    if ask.of_intervals:
        table = as_array(y_pred, "y_pred")
        if table.ndim != 2 or table.shape[1] != 2:
            raise InvalidForecastsError(
                "intervals must be two columns, the lower and the upper ends",
                f"shape {table.shape}",
            )
        y_pred, upper = table[:, 0], table[:, 1]
    forecasts = RealForecasts.read(
        data,
        y_pred,
        INTERVAL if ask.of_intervals else ask.kind,
        upper=upper,
        level=ask.level,
        range_=ask.range,
        sample_weight=roles.weight,
    )
    return RealSource(title, forecasts, roles.labels_by(), roles, roles.clusters)


def refuse_two_outcome_options(given: Mapping[str, object], kind: str) -> None:
    """Refuse options that make sense for predicted probabilities only."""
    beside: Sequence[str] = [name for name, value in given.items() if value not in (None, False)]
    if beside:
        raise InvalidOptionError(
            f"{beside[0]} is for predicted probabilities", f"kind={kind!r}", "leave it out"
        )

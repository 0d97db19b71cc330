"""Two forecasters on the same rows: joined by a key, by their order, or columns of one file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._base.words import count_text
from calibrant.data.files import NO_LABELS, read_columns
from calibrant.data.labels import LabelMeanings, Labels
from calibrant.data.paths import Paths, settled
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inputs.roles import Roles
from calibrant.inputs.source import Forecasts, dropped_notes, prepare, reading_notes

# Whole numbers beyond this are not exact in doubles.
LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Pairs:
    """Outcomes, old and new predictions of the rows that two forecasters share."""

    outcome: Any
    old: Any
    new: Any
    counts: tuple[int, int]
    """Rows of the earlier forecaster and of the new one."""
    weight: Any = None
    """Weights and clusters of the rows, as the new one has them."""
    clusters: Any = None
    how: str = "key"
    """How rows were paired: by a "key", by their "order", or in one "file"."""
    notes: tuple[str, ...] = ()
    """How the rows were read."""
    names: tuple[str, str] = ("the baseline", "the file")
    """What the reader calls the two models."""

    @property
    def sentence(self) -> str:
        """Say how many rows were compared."""
        before, after = self.counts
        shared = len(self.outcome)
        if self.how == "file":
            return f"{count_text(shared, 'row')} of one file"
        if self.how == "order":
            return f"{count_text(shared, 'row')}, paired by their order"
        return (
            f"{count_text(shared, 'key')} in both; {count_text(before - shared, 'row')} of "
            f"{self.names[0]} and {count_text(after - shared, 'row')} of {self.names[1]} have no "
            "partner"
        )


def join_pairs(
    old: Paths,
    new: Paths,
    key: str,
    roles: Roles,
    *,
    old_prediction: str | None = None,
    names: tuple[str, str] = ("the baseline", "the file"),
    labels: Labels = NO_LABELS,
    percent: bool = False,
    drop_missing: bool = False,
) -> Pairs:
    """Join the rows of two releases by a key that each row has once."""
    reading: dict[str, Any] = {"labels": labels, "percent": percent, "drop_missing": drop_missing}
    before, after = _both(old, new, key, roles, old_prediction, reading)
    tables = (before.forecasts, after.forecasts)
    for table, name in zip(tables, names, strict=True):
        keys = np.ma.asarray(table.columns[key])
        if np.ma.is_masked(keys) or len(set(keys.tolist())) != len(keys):
            raise InvalidForecastsError(
                f"@key must name each row of {name} once",
                f"missing or repeated values in {key!r}",
            )
    first, second = _common(*(np.ma.getdata(t.columns[key]) for t in tables))
    if not first.size:
        raise InvalidForecastsError(
            f"{names[0]} must share rows with {names[1]}", f"no common {key!r}"
        )
    _refuse_other_outcomes(
        tables[0].outcome[first], tables[1].outcome[second], "rows with the same key"
    )
    return replace(_paired(before, after, first, second, roles), names=names)


def pair_files(
    old: str,
    new: str,
    old_prediction: str,
    key: str | None,
    roles: Roles,
    *,
    labels: Labels = NO_LABELS,
    percent: bool = False,
    drop_missing: bool = False,
) -> Pairs:
    """Pair the rows of two files by a key, or by their order if they have the same outcomes."""
    reading: dict[str, Any] = {"labels": labels, "percent": percent, "drop_missing": drop_missing}
    if key is not None:
        names = ("the first file", "the second file")
        return join_pairs(
            old, new, key, roles, old_prediction=old_prediction, names=names, **reading
        )
    before, after = _both(old, new, None, roles, old_prediction, reading)
    counts = len(before.forecasts.outcome), len(after.forecasts.outcome)
    if drop_missing and (before.forecasts.dropped or after.forecasts.dropped):
        raise InvalidForecastsError(
            "rows that are paired by their order must all be there",
            f"{before.forecasts.dropped} and {after.forecasts.dropped} left out",
            "join them by @key",
        )
    if counts[0] != counts[1]:
        raise InvalidForecastsError(
            "files that are paired by their order must have the same rows",
            f"{counts[0]} and {counts[1]}",
            "join them by @key",
        )
    outcomes = before.forecasts.outcome, after.forecasts.outcome
    _refuse_other_outcomes(*outcomes, "rows that are paired by their order", "join them by @key")
    every = np.arange(counts[0])
    return _paired(before, after, every, every, roles, how="order")


def pair_columns(
    path: str,
    old_prediction: str,
    roles: Roles,
    *,
    labels: Labels = NO_LABELS,
    percent: bool = False,
    drop_missing: bool = False,
) -> Pairs:
    """Pair two columns of predictions of one file."""
    if old_prediction == roles.prediction:
        raise InvalidOptionError("two columns of predictions must differ", repr(old_prediction))
    parts = {**roles.parts(), old_prediction: Part.NUMBER}
    if old_prediction == roles.outcome:
        raise InvalidOptionError(f"column {roles.outcome!r} must not be the prediction as well")
    with settled(path) as files:
        columns, meanings = read_columns(files, parts, labels)
        new = prepare(
            columns,
            roles.prediction,
            roles.outcome,
            percent=percent,
            drop_missing=drop_missing,
        )
        notes = (*reading_notes(files, meanings), *dropped_notes(new.dropped))
    old = new.columns[old_prediction]
    old = np.ma.asarray(old).astype(float) / 100 if percent else old
    size = len(new.outcome)
    weight, clusters = (
        None if name is None else new.columns[str(name)] for name in (roles.weight, roles.clusters)
    )
    return Pairs(new.outcome, old, new.prediction, (size, size), weight, clusters, "file", notes)


@dataclass(frozen=True, slots=True)
class _ModelRows:
    forecasts: Forecasts
    notes: tuple[str, ...]


def _both(
    old: Paths,
    new: Paths,
    key: str | None,
    roles: Roles,
    old_prediction: str | None,
    reading: dict[str, Any],
) -> tuple[_ModelRows, _ModelRows]:
    """Read both models; weights and clusters are those of the new one."""
    earlier = old_prediction or roles.prediction
    parts: dict[str, Part] = {} if key is None else {key: Part.VALUE}
    further = {
        str(name): part
        for name, part in ((roles.weight, Part.NUMBER), (roles.clusters, Part.VALUE))
        if name is not None
    }
    if key is not None and key in {roles.outcome, roles.prediction, earlier}:
        raise InvalidOptionError("@key must be a column of its own", repr(key))
    models = []
    for paths, predicted, more in ((old, earlier, {}), (new, roles.prediction, further)):
        wanted = parts | more | {predicted: Part.NUMBER, roles.outcome: Part.OUTCOME}
        with settled(paths) as files:
            columns, meanings = read_columns(files, wanted, reading["labels"])
            forecasts = prepare(
                columns,
                predicted,
                roles.outcome,
                percent=reading["percent"],
                drop_missing=reading["drop_missing"],
            )
            models.append(_ModelRows(forecasts, _notes(files, meanings, forecasts.dropped)))
    return models[0], models[1]


def _notes(files: Any, meanings: LabelMeanings | None, dropped: int) -> tuple[str, ...]:
    return tuple(reading_notes(files, meanings, dropped))


def _paired(
    before: _ModelRows, after: _ModelRows, first: Any, second: Any, roles: Roles, how: str = "key"
) -> Pairs:
    """Take the rows that have a partner."""
    new = after.forecasts
    weight, clusters = (
        None if name is None else new.columns[str(name)][second]
        for name in (roles.weight, roles.clusters)
    )
    return Pairs(
        new.outcome[second],
        before.forecasts.prediction[first],
        new.prediction[second],
        (len(before.forecasts.outcome), len(new.outcome)),
        weight,
        clusters,
        how,
        tuple(dict.fromkeys([*before.notes, *after.notes])),
    )


def _refuse_other_outcomes(old: Any, new: Any, which: str, hint: str = "") -> None:
    then: Any = np.ma.asarray(old, dtype=float)
    now: Any = np.ma.asarray(new, dtype=float)
    missing = np.ma.getmaskarray(then) | np.ma.getmaskarray(now)
    missing |= np.isnan(np.ma.getdata(then)) | np.isnan(np.ma.getdata(now))
    if missing.any():
        raise InvalidForecastsError(
            f"{which} must have an outcome",
            f"{missing.sum()} without one",
            "--na drop leaves them out",
        )
    differ = np.ma.getdata(then) != np.ma.getdata(now)
    if differ.any():
        raise InvalidForecastsError(
            f"{which} must have the same outcome", f"{differ.sum()} that differ", hint
        )


def _common(old: Any, new: Any) -> tuple[Any, Any]:
    """Find the positions of keys that are in both, which are compared as text if one of them is."""
    if "O" in {old.dtype.kind, new.dtype.kind}:
        old, new = old.astype(str), new.astype(str)
    largest = 0.0
    if {old.dtype.kind, new.dtype.kind} in ({"i", "f"}, {"u", "f"}):
        largest = max(float(np.abs(keys.astype(float)).max()) for keys in (old, new))
    # Doubles would round large whole numbers, and join keys that differ.
    if largest >= LARGEST_EXACT:
        raise InvalidForecastsError(
            "keys must be whole numbers or text in both files",
            f"doubles beside whole numbers beyond {LARGEST_EXACT}",
        )
    _, first, second = np.intersect1d(old, new, return_indices=True)
    return first, second

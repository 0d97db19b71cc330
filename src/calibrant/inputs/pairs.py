"""Two releases that forecast the same rows, joined by a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.data.files import NO_LABELS, read_columns
from calibrant.data.labels import Labels
from calibrant.data.paths import Paths
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError
from calibrant.inputs.roles import Roles
from calibrant.inputs.source import prepare
from calibrant.words import count_text


@dataclass(frozen=True, slots=True)
class Pairs:
    """Outcomes, old and new predictions of the rows that two releases share."""

    outcome: Any
    old: Any
    new: Any
    counts: tuple[int, int]
    """Rows of the earlier release and of the new one."""
    weight: Any = None
    """Weights and clusters of the rows, as the new release has them."""
    clusters: Any = None

    @property
    def sentence(self) -> str:
        """Say how many rows were compared."""
        before, after = self.counts
        shared = len(self.outcome)
        return (
            f"{count_text(shared, 'key')} in both; {count_text(before - shared, 'row')} of the "
            f"baseline and {count_text(after - shared, 'row')} of the file have no partner"
        )


def join_pairs(
    old: Paths,
    new: Paths,
    key: str,
    roles: Roles,
    *,
    labels: Labels = NO_LABELS,
    percent: bool = False,
    drop_missing: bool = False,
) -> Pairs:
    """Join the rows of two releases by a key that each row has once."""
    parts = {key: Part.VALUE, roles.prediction: Part.NUMBER, roles.outcome: Part.OUTCOME}
    weight, clusters = (
        None if name is None else str(name) for name in (roles.weight, roles.clusters)
    )
    further = {name: part for name, part in ((weight, Part.NUMBER), (clusters, Part.VALUE)) if name}
    tables = []
    for files, name, wanted in ((old, "the baseline", parts), (new, "the file", parts | further)):
        table = prepare(
            read_columns(files, wanted, labels)[0],
            roles.prediction,
            roles.outcome,
            percent=percent,
            drop_missing=drop_missing,
        )
        keys = np.ma.asarray(table.columns[key])
        if np.ma.is_masked(keys) or len(set(keys.tolist())) != len(keys):
            raise InvalidForecastsError(
                f"key must name each row of {name} once",
                f"missing or repeated values in {key!r}",
            )
        tables.append(table)
    before, after = tables
    first, second = _common(*(np.ma.getdata(t.columns[key]) for t in tables))
    if not first.size:
        raise InvalidForecastsError("the baseline must share rows with the file", "no common key")
    then: Any = np.ma.asarray(before.outcome[first], dtype=float)
    now: Any = np.ma.asarray(after.outcome[second], dtype=float)
    differ = np.ma.getmaskarray(then) | np.ma.getmaskarray(now)
    differ |= np.ma.getdata(then) != np.ma.getdata(now)
    if differ.any():
        raise InvalidForecastsError(
            "rows with the same key must have the same outcome", f"{differ.sum()} that differ"
        )
    return Pairs(
        after.outcome[second],
        before.prediction[first],
        after.prediction[second],
        (len(before.outcome), len(after.outcome)),
        *(None if name is None else after.columns[name][second] for name in (weight, clusters)),
    )


def _common(old: Any, new: Any) -> tuple[Any, Any]:
    """Find the places of keys that are in both, which are compared as text if one of them is."""
    if "O" in {old.dtype.kind, new.dtype.kind}:
        old, new = old.astype(str), new.astype(str)
    _, first, second = np.intersect1d(old, new, return_indices=True)
    return first, second

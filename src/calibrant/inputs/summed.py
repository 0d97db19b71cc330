"""Forecasts too many to be read row by row: summed where they live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import add
from typing import cast

import narwhals.stable.v2 as nw
import numpy as np

from calibrant.data.columns import ColumnNames, Columns
from calibrant.data.frames import Frame, as_frame, fetched, fetched_value, plainly_named
from calibrant.data.groupings import (
    AND,
    MISSING,
    MOST_LEVELS,
    MOST_NUMBERS,
    PARTS,
    distinct_names,
    free_name,
    gathered_name,
    level_names,
)
from calibrant.data.hints import require_columns
from calibrant.data.input import is_missing
from calibrant.joint import Joint, joints_by
from calibrant.joint.engine.passes import Resolution

# Up to so many rows sums are of exact predictions; beyond that of cells.
MOST_ROWS_READ = 2**20
# Log-odds beyond are as good as certain, and beyond what exp can take.
MOST_LOGIT = 700.0
# Numbers that divide rows are cut between so many cells of their range.
CELLS_OF_A_COLUMN = 2**12


@dataclass(frozen=True, slots=True)
class Summed:
    """All that needs to be known of rows that were not read."""

    joint: Joint
    groups: dict[tuple[str, str], Joint]
    """By column and name."""
    dropped: int


def count_rows(native: object) -> int:
    """Count the rows of a frame on its engine."""
    return int(fetched_value(as_frame(native), nw.len()))


def sum_up(
    native: object,
    columns: ColumnNames,
    by: Sequence[str],
    *,
    pairs: bool,
    percent: bool = False,
    logits: bool = False,
    drop_missing: bool = False,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
) -> Summed:
    """Sum the rows of a frame on its engine, all of them and by the groups of each column."""
    native_frame, roles = as_frame(native), Columns.of(**columns)
    require_columns(native_frame.collect_schema().names(), [*roles.names().values(), *by])
    with plainly_named(native_frame) as (frame, names):
        return _sum_up(
            frame,
            roles.renamed(names),
            {name: names.get(name, name) for name in by},
            pairs=pairs,
            percent=percent,
            logits=logits,
            drop_missing=drop_missing,
            parts=parts,
            most_levels=most_levels,
        )


def _sum_up(
    frame: Frame,
    roles: Columns,
    by: Mapping[str, str],
    *,
    pairs: bool,
    percent: bool,
    logits: bool,
    drop_missing: bool,
    parts: int,
    most_levels: int,
) -> Summed:
    """Sum rows by columns, which have the names of the frame by those that readers see."""
    dropped = 0
    if drop_missing:
        frame, dropped = _without_missing(frame, list(roles.names().values()))
    if percent or logits:
        frame = _rescaled(frame, roles, logits=logits)
    resolution: Resolution = None if count_rows(frame.to_native()) <= MOST_ROWS_READ else "auto"
    joint = Joint.of_columns(frame.to_native(), roles, resolution)
    groups: dict[tuple[str, str], Joint] = {}
    for column in by.values():
        frame = _with_numbers_cut(frame, column, parts)
    for names in [*((name,) for name in by), *(combinations(by, 2) if pairs else ())]:
        columns = [by[name] for name in names]
        parts_played = cast("ColumnNames", roles.names())
        found = joints_by(frame.to_native(), by=columns, resolution=resolution, **parts_played)
        groups |= _named(AND.join(names), found, most_levels)
    return Summed(joint, groups, dropped)


def _named(
    by: str, joints: dict[tuple[object, ...], Joint], most: int
) -> dict[tuple[str, str], Joint]:
    """Name groups as `audit_groups` does; the smallest of very many are gathered."""
    known: dict[tuple[object, ...], Joint] = {}
    for key, joint in joints.items():  # NaN and NULL are both missing
        values = tuple(None if is_missing(part) else part for part in key)
        known[values] = known[values] + joint if values in known else joint
    names = [_names(column) for column in zip(*known, strict=True)]
    named: dict[tuple[str, str], Joint] = {}
    for values, joint in known.items():
        name = AND.join(column[part] for column, part in zip(names, values, strict=True))
        named[by, free_name(name, "another", {taken for _, taken in named})] = joint
    largest = sorted(named, key=lambda key: -named[key].row_count)
    rest = largest[most:]
    if rest:
        gathered = reduce(add, (named.pop(key) for key in rest))
        taken = [name for _, name in named]
        named[by, free_name(gathered_name(len(rest)), "gathered", taken)] = gathered
    return named


def _names(values: Iterable[object]) -> dict[object, str]:
    """Names of the values of a column, missing ones among them."""
    known = [value for value in dict.fromkeys(values) if value is not None]
    names = dict(zip(known, distinct_names(known), strict=True))
    return names | {None: free_name(MISSING, "no value", names.values())}


def _with_numbers_cut(frame: Frame, name: str, parts: int) -> Frame:
    """Cut a column of many different numbers where shares of the rows are about equal."""
    if not frame.collect_schema()[name].is_numeric():
        return frame
    value = nw.col(name).cast(nw.Float64)
    known = ~(value.is_null() | value.is_nan())
    rows = frame.filter(known)
    if int(fetched_value(rows, value.n_unique())) <= MOST_NUMBERS:
        return frame
    low, high = (float(fetched_value(rows, end)) for end in (value.min(), value.max()))
    cell = ((value - low) * (CELLS_OF_A_COLUMN / (high - low))).floor()
    counted = fetched(rows.select(cell=cell).group_by("cell").agg(nw.len().alias("rows")))
    order = np.argsort(counted["cell"])
    reached = np.cumsum(np.asarray(counted["rows"], dtype=np.float64)[order])
    inside = np.searchsorted(reached, np.arange(1, parts) / parts * reached[-1], side="right")
    starts = np.asarray(counted["cell"], dtype=np.float64)[order][inside]
    cuts = np.unique(low + starts * (high - low) / CELLS_OF_A_COLUMN)
    cuts = cuts[cuts > low]
    levels = level_names(cuts)
    part: nw.Expr = nw.lit(levels[-1])
    for cut, level in zip(cuts[::-1], levels[-2::-1], strict=True):
        part = nw.when(value < float(cut)).then(nw.lit(level)).otherwise(part)
    return frame.with_columns(nw.when(known).then(part).alias(name))


def _without_missing(frame: Frame, names: Sequence[str]) -> tuple[Frame, int]:
    schema = frame.collect_schema()
    missing = nw.lit(False)
    for name in dict.fromkeys(names):
        missing = missing | nw.col(name).is_null()
        if schema[name].is_float():
            missing = missing | nw.col(name).is_nan().fill_null(False)
    dropped = int(fetched_value(frame.filter(missing), nw.len()))
    return frame.filter(~missing), dropped


def _rescaled(frame: Frame, roles: Columns, *, logits: bool) -> Frame:
    """Percentages or log-odds as probabilities; what is no number is refused later."""
    if not frame.collect_schema()[roles.predicted].is_numeric():
        return frame
    value = nw.col(roles.predicted).cast(nw.Float64)
    if logits:
        chance = 1 / (1 + (value.clip(-MOST_LOGIT, MOST_LOGIT) * -1).exp())
        # What is not finite stays what it is, no probability.
        rescaled = nw.when(value.is_finite()).then(chance).otherwise(value)
    else:
        rescaled = value / 100
    return frame.with_columns(rescaled.alias(roles.predicted))

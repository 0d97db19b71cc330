"""Forecasts too many to be read row by row: summed where they live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from calibrant.errors import InvalidForecastsError
from calibrant.joint import Joint, joints_by
from calibrant.joint.columns import ColumnNames, Columns
from calibrant.joint.engines import Frame, as_frame, fetched_value
from calibrant.joint.frames import Resolution
from calibrant.joint.names import require

# Up to so many rows an audit reads the rows and is exact; beyond that it sums them into cells.
MOST_ROWS_READ = 2**20


@dataclass(frozen=True, slots=True)
class Summed:
    """All that an audit needs to know of rows that it has not seen."""

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
    percent: bool,
    drop_missing: bool,
) -> Summed:
    """Sum the rows of a frame on its engine, all of them and by the groups of each column."""
    frame, roles = as_frame(native), Columns.of(**columns)
    require(frame.collect_schema().names(), [*roles.names().values(), *by])
    dropped = 0
    if drop_missing:
        frame, dropped = _without_missing(frame, [*roles.names().values(), *by])
    if percent:
        frame = _rescaled(frame, roles)
    rows = frame.to_native()
    resolution: Resolution = None if count_rows(rows) <= MOST_ROWS_READ else "auto"
    groups: dict[tuple[str, str], Joint] = {}
    joint = Joint.of_columns(rows, roles, resolution)
    for column in by:
        joints = joints_by(rows, by=column, resolution=resolution, **columns)
        _refuse_unnamed(column, joints)
        groups |= {(column, str(name)): part for (name,), part in joints.items()}
    return Summed(joint, groups, dropped)


def _without_missing(frame: Frame, names: Sequence[str]) -> tuple[Frame, int]:
    schema = frame.collect_schema()
    missing = nw.lit(False)
    for name in dict.fromkeys(names):
        missing = missing | nw.col(name).is_null()
        if schema[name].is_float():
            missing = missing | nw.col(name).is_nan().fill_null(False)
    dropped = int(fetched_value(frame.filter(missing), nw.len()))
    return frame.filter(~missing), dropped


def _rescaled(frame: Frame, roles: Columns) -> Frame:
    """Percentages as probabilities; what is no number is refused later."""
    if not frame.collect_schema()[roles.predicted].is_numeric():
        return frame
    return frame.with_columns(
        (nw.col(roles.predicted).cast(nw.Float64) / 100).alias(roles.predicted)
    )


def _refuse_unnamed(column: str, joints: dict[tuple[object, ...], Joint]) -> None:
    unnamed = joints.get((None,))
    if unnamed is not None:
        raise InvalidForecastsError(
            f"column {column!r} must not hold missing values",
            f"{unnamed.row_count} rows",
            "give those rows a label, or drop them",
        )

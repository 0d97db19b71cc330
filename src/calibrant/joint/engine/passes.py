"""One pass over any dataframe, on its own engine, into sums by group and cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from calibrant._base.options import power_of_two
from calibrant.data.columns import Columns, check_types, known_outcomes
from calibrant.data.frames import Frame, as_floats, as_frame, fetched, plainly_named
from calibrant.data.hints import require_columns
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.engine.refusals import refuse_counted, refuse_unlikely
from calibrant.joint.engine.tally import Tally
from calibrant.joint.engine.terms import Terms, terms_of
from calibrant.joint.sums import FINEST, CellSums

Resolution = int | None | Literal["auto"]
Names = list[tuple[Any, ...]]

# With groups "auto" lets at most this many sums leave the engine, whatever the number of rows.
MOST_SUMS = 2**20
FEWEST_CELLS = 2**4


def tally_frame(
    native: object, columns: Columns, resolution: Resolution, by: Sequence[str] = ()
) -> tuple[Tally, Names]:
    """Sum the rows of a frame by group and cell, on its engine; name the groups."""
    native_frame = as_frame(native)
    require_columns(native_frame.collect_schema().names(), [*columns.names().values(), *by])
    with plainly_named(native_frame) as (frame, names):
        plain = [names.get(name, name) for name in by]
        return _tally(frame, columns.renamed(names), resolution, plain)


def _tally(
    frame: Frame, columns: Columns, resolution: Resolution, by: Sequence[str]
) -> tuple[Tally, Names]:
    if columns.outcome is not None and columns.pos_label is not None:
        frame, _ = known_outcomes(frame, columns.outcome, columns.labels)
        columns = columns.with_known_outcomes()
    schema = frame.collect_schema()
    check_types(frame, schema, columns)
    cells = cells_of(resolution)
    if resolution == "auto" and by:
        cells = _affordable(frame, by)
    terms = terms_of(columns, schema)
    labels = [f"by_{number}" for number in range(len(by))]
    table = fetched(_summed(frame, terms, cells, dict(zip(labels, by, strict=True))), labels)
    if table["entries"].size == 0:
        raise InvalidForecastsError("there must be at least one row", "none")
    group, names = _numbered([table[label] for label in labels], table["entries"].size)
    tally = _read(table, group, terms, cells)
    refuse_counted(frame, columns, tally)
    refuse_unlikely(frame, columns, tally)
    return tally, names


def cells_of(resolution: Resolution) -> int | None:
    """Return the number of cells of one Joint; None for exact levels."""
    if resolution == "auto":
        return FINEST
    if isinstance(resolution, str):
        raise InvalidOptionError(
            'resolution must be "auto", a power of two, or None', repr(resolution)
        )
    return None if resolution is None else power_of_two(resolution)


def _summed(frame: Frame, terms: Terms, cells: int | None, by: dict[str, str]) -> Frame:
    """Write down the pass: everything of a row that is needed, then sums of it by group and key."""
    totals = {"positives": terms.positives}
    if cells is not None:
        distance = terms.distance(cells)
        totals["distance"] = distance if terms.weight is None else terms.weight * distance
    if terms.weight is not None:
        totals["weight"] = terms.weight
        if not terms.counted:
            totals["weight_squares"] = terms.weight * terms.weight
    if terms.between is not None:
        totals["between"] = terms.between
    labels = {label: nw.col(name) for label, name in by.items()}
    rows = frame.select(**labels, key=terms.key(cells), prediction=terms.prediction, **totals)
    return rows.group_by(*labels, "key").agg(
        nw.len().alias("entries"),
        nw.col("prediction").min().alias("low"),
        nw.col("prediction").max().alias("high"),
        *(nw.col(name).sum() for name in totals),
    )


def _read(
    table: dict[str, Any], group: npt.NDArray[np.intp], terms: Terms, cells: int | None
) -> Tally:
    numbers = {name: as_floats(table[name]) for name in table if not name.startswith("by_")}
    entries = numbers["entries"]
    weight = numbers.get("weight", entries)
    rows = weight if terms.counted else entries
    sums = CellSums(
        moment=numbers.get("distance", np.zeros(entries.size)),
        weight=weight,
        positives=numbers["positives"],
        rows=rows,
        weight_squares=numbers.get("weight_squares", rows),
        low=numbers["low"],
        high=numbers["high"],
    )
    nothing = np.zeros(entries.size)
    between = numbers.get("between", nothing)
    return Tally(group, numbers["key"], sums, entries, between, nothing, cells)


def _numbered(labels: list[list[Any]], size: int) -> tuple[npt.NDArray[np.intp], Names]:
    """Give groups numbers in the order of their labels; those without one come last."""
    if not labels:
        return np.zeros(size, dtype=np.intp), [()]
    of_entry = list(zip(*labels, strict=True))
    names = sorted(set(of_entry), key=lambda name: [(part is None, part) for part in name])
    number = {name: position for position, name in enumerate(names)}
    return np.fromiter((number[name] for name in of_entry), np.intp, size), names


def _affordable(frame: Frame, by: Sequence[str]) -> int:
    """Choose the cells that keep the sums of all groups below their number, rows permitting."""
    most = MOST_SUMS // FEWEST_CELLS
    counts = frame.group_by(*by).agg(nw.len().alias("entries")).select("entries").head(most + 1)
    rows = as_floats(fetched(counts)["entries"])
    if rows.size > most:
        raise InvalidOptionError(
            f"@by must name at most {most} groups",
            "more than that",
            "choose columns with fewer values, or a resolution",
        )
    cells = FINEST
    while np.minimum(rows, cells).sum() > MOST_SUMS:
        cells //= 2
    return cells

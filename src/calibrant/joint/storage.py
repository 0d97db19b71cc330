"""A Joint as an Arrow table or a Parquet file that later versions read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import power_of_two
from calibrant._base.stored import Stored, restoring
from calibrant._base.writing import drafted
from calibrant.errors import InvalidStateError, MissingPackageError, ReadingError, reading_failed
from calibrant.joint.sums import COUNTED, LevelSums

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.joint.joint import Joint

# Tables say which form they have; every form that was ever written is read back.
ARROW_SCHEMA = 1
# Sums of the same rows in another order agree this well.
SUMS_AGREE = 1e-6


def table_of(joint: Joint, inherited_rounding: float) -> pa.Table:
    """Write levels as a table, and as its metadata what levels cannot say."""
    metadata = {
        "calibrant.schema": str(ARROW_SCHEMA),
        "calibrant.rows": str(joint.row_count),
        "calibrant.binary": str(int(joint.binary)),
        "calibrant.clipped": str(joint.clipped),
        "calibrant.resolution": str(joint.resolution or 0),
        "calibrant.rounding": repr(joint.rounding),
        "calibrant.inherited_rounding": repr(inherited_rounding),
    }
    columns = joint.sums().with_ends().columns()
    return _pyarrow().table(columns).replace_schema_metadata(metadata)


def levels_of(table: pa.Table) -> tuple[LevelSums, int | None, float]:
    """Check a table; its levels, the number of cells, and rounding before that."""
    with restoring("a stored Joint"):
        known = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    schema = known.get("calibrant.schema")
    if schema != str(ARROW_SCHEMA):
        raise InvalidStateError(
            f"an Arrow table of a Joint must carry calibrant.schema {ARROW_SCHEMA}",
            f"{schema}",
            "use Joint.from_frame for other tables",
        )
    stored = Stored({name: _number(text) for name, text in known.items()}, "a stored Joint")
    levels = LevelSums(
        **{name: _column(table, name) for name in ("prediction", *COUNTED, "low", "high")},
        binary=stored.whole("calibrant.binary", 0, 1) == 1,
        clipped=stored.whole("calibrant.clipped"),
    )
    resolution = stored.whole("calibrant.resolution") or None
    check_levels(levels, stored.whole("calibrant.rows", 1), resolution)
    if np.array_equal(*levels.ends()):
        levels = levels.without_ends()
    return levels, resolution, stored.number("calibrant.inherited_rounding", 0.0, 1.0)


def write_parquet(table: pa.Table, path: str | Path) -> None:
    """Write a table; the file appears when it is complete, or not at all."""
    with drafted(path) as draft:
        _parquet().write_table(table, draft)


def read_parquet(path: str | Path) -> pa.Table:
    """Read a table that `write_parquet` wrote."""
    pyarrow = _pyarrow()
    try:
        return _parquet().read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and reading_failed(error):
            raise ReadingError("the file must be readable", str(error)) from error
        raise InvalidStateError(
            "the file must be a stored Joint", str(error).splitlines()[0].rstrip(".")
        ) from error


def _number(text: str) -> object:
    """Read a whole number or a double; anything else stays text, which is then refused."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _column(table: pa.Table, name: str) -> Floats:
    if table.column_names.count(name) != 1:
        raise InvalidStateError(f"a stored Joint must have one column {name!r}")
    column = table.column(name)
    if not _pyarrow().types.is_float64(column.type) or column.null_count:
        raise InvalidStateError(
            f"column {name!r} of a stored Joint must hold doubles", f"{column.type}"
        )
    return np.array(column, dtype=np.float64)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingPackageError(
            "Arrow tables and Parquet files need pyarrow",
            "no such package",
            "pip install calibrant[arrow]",
        ) from error
    return pa


def _parquet() -> Any:
    _pyarrow()
    import pyarrow.parquet

    return pyarrow.parquet


def check_levels(levels: LevelSums, row_count: int, resolution: int | None) -> None:
    """Refuse a stored table that somebody changed: kernels trust what a Joint holds."""
    prediction, weight, rows = levels.prediction, levels.weight, levels.rows
    low, high = levels.ends()
    squares, slack = levels.weight_squares, 1 + SUMS_AGREE
    counts = (weight, rows, squares)
    with np.errstate(all="ignore"), restoring("a stored Joint"):
        power_of_two(resolution or 1)
        rules = {
            "predictions that increase in [0, 1]": prediction.size > 0
            and bool(((prediction >= 0) & (prediction <= 1)).all())
            and bool((np.diff(prediction) > 0).all()),
            "weights and rows that are positive": all(
                bool(((column > 0) & (column < np.inf)).all()) for column in counts
            ),
            "as many whole rows as it says": bool((rows == np.floor(rows)).all())
            and float(rows.sum()) == row_count
            and levels.clipped <= row_count,
            "positives from 0 to the weight": bool(
                ((levels.positives >= 0) & (levels.positives <= weight * slack)).all()
            ),
            "squares that fit the weights": bool(
                ((squares <= weight**2 * slack) & (weight**2 <= rows * squares * slack)).all()
            ),
            "ends around its predictions": bool(
                ((low >= 0) & (low <= prediction) & (prediction <= high) & (high <= 1)).all()
            ),
            "one level in each cell": resolution is None
            or bool((np.diff(np.minimum(prediction * resolution, resolution - 1) // 1) > 0).all()),
        }
    for rule, holds in rules.items():
        if not holds:
            raise InvalidStateError(
                f"a stored Joint must hold {rule}",
                f"a table of {prediction.size} levels that does not",
            )

"""Forms of many pieces as lists in which DuckDB looks up the piece of each row.

As an expression of SQL such a form is a tree of branches, and DuckDB pays for every branch in every
chunk of rows. Here a row pays for the way to its own piece: the cell of equal width that it lies in
says where to begin, and halving steps among the cuts of a cell find the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calibrant.arrays import Floats
from calibrant.repair.forms import Lines, Steps

if TYPE_CHECKING:
    import duckdb

# A power of two: multiplying by it is exact, so that cells are told apart as numpy does.
CELLS = 2**16


def looked_up(
    connection: duckdb.DuckDBPyConnection,
    form: Steps | Lines,
    source: str,
    probability: str,
    column: str,
    mark: str,
    corrected: Callable[[str], str],
) -> str:
    """Write a query for all rows of a source with the value of a form, in the order of the rows.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Where a table of one row is made that holds the lists.
    form : Steps or Lines
        What to look up.
    source : str
        What to select from.
    probability : str
        Expression for the argument of the form: in [0, 1], or NULL, whose value is NULL.
    column : str
        Name of the new column, quoted.
    mark : str
        How no name of a column of the source begins.
    corrected : callable
        Writes what becomes of the value of the form, which is not NULL.
    """
    p, i, table, cuts, first, pieces = (
        mark + name for name in ("p", "i", "lists", "cuts", "first", "pieces")
    )
    cut, fields = _parts(form)
    cell = (cut * CELLS).astype(np.int64)
    names = ", ".join(f"{name} double" for name in fields)
    connection.execute(
        f"create temp table {table} as select ?::double[] as {cuts}, ?::integer[] as {first}, "
        f"?::struct({names})[] as {pieces}",
        [
            cut.tolist(),
            np.searchsorted(cell, np.arange(CELLS + 1)).tolist(),
            [
                dict(zip(fields, piece, strict=True))
                for piece in np.column_stack(list(fields.values())).tolist()
            ],
        ],
    )
    # A product with one row streams and keeps the order, as long as the sides are not swapped.
    connection.execute("set disabled_optimizers = 'join_order,build_side_probe_side'")
    query = f"select *, {probability} as {p} from {source}, {table}"  # noqa: S608
    start = f"{first}[1 + cast(floor({p} * {CELLS}) as integer)]"
    query = f"select *, {start} as {i} from ({query})"  # noqa: S608
    most = int(np.bincount(cell).max()) if cell.size else 0
    for power in reversed(range(most.bit_length())):
        farther = f"{i} + {2**power}"
        step = f"case when {cuts}[{farther}] <= {p} then {farther} else {i} end"
        query = f"select * replace ({step} as {i}) from ({query})"  # noqa: S608
    piece = f"{pieces}[1 + {i}]"
    value = f"{piece}.value"
    if "rise" in fields:
        share = f"greatest(least(({p} - {piece}.knot) / {piece}.width, 1e0), 0e0)"
        value += f" + {share} * {piece}.rise"
    value = f"case when {p} is not null then {corrected(value)} end"
    helpers = f"{p}, {i}, {cuts}, {first}, {pieces}"
    return f"select * exclude ({helpers}), {value} as {column} from ({query})"  # noqa: S608


def _parts(form: Steps | Lines) -> tuple[Floats, dict[str, Floats]]:
    """Places where one piece ends and the next begins, and the numbers of each piece."""
    if isinstance(form, Steps):
        return form.start[1:], {"value": form.value}
    if form.knot.size == 1:
        return form.knot[1:], {"value": form.value}
    return form.knot[1:-1], {
        "value": form.value[:-1],
        "knot": form.knot[:-1],
        "width": np.diff(form.knot),
        "rise": np.diff(form.value),
    }

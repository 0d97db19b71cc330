"""Rows of any container: how many, some of them, what they hold, columns that group them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Indices
from calibrant._base.options import shown
from calibrant.data.frames import table_columns
from calibrant.data.input import as_array
from calibrant.errors import InvalidForecastsError, InvalidOptionError


def count_rows(X: Any) -> int:  # noqa: N803
    """Count the rows of an array, a sparse matrix, a frame or a list."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    if hasattr(X, "__len__"):
        return len(X)
    if hasattr(X, "__array__"):
        return int(np.asarray(X).shape[0])
    raise InvalidForecastsError("X must hold rows", type(X).__name__)


def take(X: Any, rows: Indices) -> Any:  # noqa: N803
    """Take some of the rows, in the container in which they are."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if type(X).__module__.startswith("scipy.sparse"):
        return (X if X.format in {"csr", "csc", "lil"} else X.tocsr())[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, Sequence):
        return [X[row] for row in rows.tolist()]
    import narwhals.stable.v2 as nw

    native = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows.tolist()].to_native()
    return np.asarray(X)[rows]


def takes_rows(value: Any, size: int) -> bool:
    """Whether an argument of a fit has one entry for each row."""
    if isinstance(value, str | bytes | dict | type(None)):
        return False
    try:
        return count_rows(value) == size
    except (InvalidForecastsError, TypeError):
        return False


def content_of(X: Any) -> list[npt.NDArray[Any]]:  # noqa: N803
    """Return what the rows hold, as keys of an order that does not depend on the caller's."""
    if type(X).__module__.startswith("scipy.sparse"):
        return [_sparse_sums(X)]
    columns = None if isinstance(X, np.ndarray | list | tuple) else table_columns(X)
    if columns is not None:
        keys = [_key(as_array(values, name)) for name, values in columns.items()]
        # A frame of numbers is what an array of them is.
        numbers = all(key.dtype.kind in "biuf" for key in keys)
        return [np.column_stack(keys)] if numbers and keys else keys
    table = np.asarray(X)
    if table.ndim == 2 and table.dtype.kind in "biuf":
        return [table]
    if table.ndim >= 2:
        flat = table.reshape(len(table), -1)
        return [_key(column) for column in flat.T]
    return [_key(table)]


def grouping_columns(X: Any, by: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
    """Columns that group the rows, by their names in a frame or their places in an array."""
    columns = None if isinstance(X, np.ndarray | list | tuple) else table_columns(X)
    if columns is None:
        table = np.asarray(X)
        if table.ndim != 2:
            raise InvalidForecastsError(
                "X must have columns that group the rows", f"shape {table.shape}"
            )
        columns = {i: table[:, i] for i in range(table.shape[1])}  # type: ignore[misc]
    unknown = [name for name in by if name not in columns]
    if unknown:
        raise InvalidOptionError(
            "@by must name columns of X",
            shown(unknown[0]),
            f"columns are {', '.join(map(str, list(columns)[:6]))}",
        )
    return {f"x{name}" if isinstance(name, int) else name: columns[name] for name in by}


def _key(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column that can be put in order: words of what cannot be compared."""
    return values if values.dtype.kind in "biufUSmM" else values.astype(str)


def _sparse_sums(X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
    """Two sums of each row with fixed random weights: rows that differ hardly ever agree."""
    from scipy.sparse import csr_array

    table = csr_array(X, copy=True)
    table.sum_duplicates()  # entries of a row in the order of columns: sums to the last bit
    return np.asarray(table @ np.random.default_rng(0).random((X.shape[1], 2)))

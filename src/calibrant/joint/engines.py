"""Any dataframe in, on the engine it lives on; only small tables come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from calibrant.errors import InvalidForecastsError
from calibrant.joint.gate import is_missing

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def as_frame(native: object) -> Frame:
    """Any dataframe that narwhals knows; Polars gets the chance to plan."""
    try:
        frame: Frame = nw.from_native(native)
    except TypeError as error:
        raise InvalidForecastsError(
            "frame must be a dataframe of pandas, Polars, Arrow, DuckDB, Dask or Spark",
            type(native).__name__,
            "for two arrays use Joint.from_samples(y_true, y_proba)",
        ) from error
    return frame.lazy() if frame.implementation.is_polars() else frame


def fetched(frame: Frame, labels: Sequence[str] = ()) -> dict[str, Any]:
    """Fetch a small table: labels as lists of Python values, all else as arrays of numbers.

    DuckDB can do so without pyarrow, which narwhals would want.
    """
    if frame.implementation.is_duckdb():
        dates = [name for name, dtype in frame.collect_schema().items() if dtype == nw.Date]
        columns = dict(frame.to_native().fetchnumpy())
        columns |= {name: columns[name].astype("datetime64[D]") for name in dates}
        lists = {name: columns[name].tolist() for name in labels}
    else:
        eager = _collected(frame)
        columns = {name: eager[name].to_numpy() for name in eager.columns if name not in labels}
        lists = {name: eager[name].to_list() for name in labels}
    return columns | {
        name: [None if is_missing(value) else value for value in values]
        for name, values in lists.items()
    }


def fetched_value(frame: Frame, expression: nw.Expr) -> Any:
    """Fetch the one value of an expression that sums up a frame."""
    return fetched(frame.select(value=expression), labels=["value"])["value"][0]


def as_floats(column: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers that were fetched as doubles; what is missing is NaN."""
    return np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)


def _collected(frame: Frame) -> nw.DataFrame[Any]:
    if isinstance(frame, nw.DataFrame):
        return frame
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    return frame.collect()

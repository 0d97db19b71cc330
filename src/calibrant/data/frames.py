"""Any dataframe in, on the engine it lives on; only small tables come out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from calibrant.data.input import is_missing
from calibrant.data.tables import quoted
from calibrant.errors import CalibrantError, InvalidForecastsError

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def as_frame(native: object) -> Frame:
    """Any dataframe that narwhals knows; Polars gets the chance to plan."""
    try:
        frame: Frame = _known(_with_text_names(native), pass_through=False)
    except TypeError as error:
        raise InvalidForecastsError(
            "frame must be a dataframe of pandas, Polars, Arrow, DuckDB, Dask or Spark",
            type(native).__name__,
            "for two arrays use Joint.from_samples(y_true, y_proba)",
        ) from error
    if frame.implementation.is_spark_like():
        _refuse_capitals(frame.collect_schema().names())
    return frame.lazy() if frame.implementation.is_polars() else frame


def _refuse_capitals(names: Sequence[str]) -> None:
    """Refuse names of Spark that are the same but for their capitals: it takes them for one."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise InvalidForecastsError(
                "columns of a frame of Spark must differ in more than capitals",
                f"{other!r} and {name!r}",
                "rename or drop one of them",
            )


def _known(values: Any, *, pass_through: bool = True, allow_series: bool = False) -> Any:
    """Let narwhals read a frame, or a column; a name that stands twice is refused."""
    try:
        return nw.from_native(values, pass_through=pass_through, allow_series=allow_series)
    except nw.exceptions.DuplicateError as error:
        named = values.columns if hasattr(type(values), "iloc") else values.column_names
        names = list(map(str, named))
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidForecastsError(
            "columns of a frame must have different names",
            f"{names.count(twice)} columns {twice!r}",
            "rename or drop all but one of them",
        ) from error


def _with_text_names(native: Any) -> Any:
    """Return a frame of pandas whose columns have text for names; all else as it is."""
    if not hasattr(type(native), "iloc") or not hasattr(type(native), "columns"):
        return native
    names = list(native.columns)
    if all(isinstance(name, str) for name in names):
        return native
    texts = list(map(str, names))
    if len(set(texts)) < len(set(names)):
        raise InvalidForecastsError(
            "columns of a frame must have different names", f"names like {names[0]!r} and its text"
        )
    return native.set_axis(texts, axis=1)


@contextmanager
def plainly_named(frame: Frame) -> Iterator[tuple[Frame, Mapping[str, str]]]:
    """Rename columns of DuckDB whose names narwhals would take for something else.

    DuckDB before 2.0 parses the names that narwhals hands it, so that a dot divides them and a
    quotation mark begins a quoted name.

    Yields
    ------
    tuple of frame and mapping of str to str
        The frame, and the new names by the old ones. Errors tell the old names.
    """
    names = frame.collect_schema().names() if frame.implementation.is_duckdb() else []
    plain = {
        name: f"calibrant_column_{index}"
        for index, name in enumerate(names)
        if not name.isidentifier()
    }
    if plain:
        selected = ", ".join(f"{quoted(name)} as {quoted(plain.get(name, name))}" for name in names)
        frame = as_frame(frame.to_native().project(selected))
    try:
        yield frame, plain
    except CalibrantError as error:
        what, got, hint = error.texts
        for name, new in plain.items():
            what, got, hint = (text.replace(repr(new), repr(name)) for text in (what, got, hint))
        error.texts = what, got, hint
        raise


def table_columns(values: object) -> dict[str, Any] | None:
    """Columns of a dataframe by name, as its library holds them; None for anything else."""
    native = _known(values)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        return None
    frame = _collected(native)
    # By place: names that are numbers would be taken for rows.
    columns = zip(frame.columns, frame.iter_columns(), strict=True)
    return {str(name): column.to_native() for name, column in columns}


def table_lists(values: object) -> dict[str, list[Any]]:
    """Columns of a small dataframe by name, as lists."""
    frame = _collected(_known(values, pass_through=False))
    return {str(name): column for name, column in frame.to_dict(as_series=False).items()}


def column_names(values: object) -> tuple[str, ...] | None:
    """Names of the columns of a dataframe; None for anything else."""
    native = _known(values)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        return None
    return tuple(native.collect_schema().names())


def as_values(values: object) -> object:
    """Values of a column or a table of pandas, Polars, Arrow and their kin; all else as it is."""
    native = _known(values, allow_series=True)
    if isinstance(native, nw.Series):
        moments = _in_utc(native)
        if moments is not None:
            return moments
        if native.is_null().any():
            return np.array([None if is_missing(v) else v for v in native.to_list()], object)
        return native.to_numpy()
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return _collected(native).to_numpy()
    return values


def possible_keys(frame: Frame, taken: Collection[str], most: int) -> list[str]:
    """Choose columns that may identify what rows are about: text, whole numbers and dates."""
    found = [
        name
        for name, dtype in frame.collect_schema().items()
        if name not in taken
        and (dtype.is_integer() or dtype in {nw.String, nw.Categorical, nw.Enum, nw.Date})
    ]
    return found[:most]


def _in_utc(column: nw.Series[Any]) -> Any:
    """Timestamps with a zone as moments in UTC, NaT where missing; None for other columns."""
    native = column.to_native()
    # Narwhals reads those of other zones than UTC as objects.
    if getattr(getattr(native, "dtype", None), "tz", None) is not None and hasattr(native, "dt"):
        return native.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    aware = column.dtype == nw.Datetime and getattr(column.dtype, "time_zone", None) is not None
    return column.to_numpy() if aware else None


def column_has_zone(native: object, name: str) -> bool:
    """Whether a column of a frame holds timestamps with a zone, as its type says."""
    frame = as_frame(native)
    if getattr(frame.collect_schema()[name], "time_zone", None) is not None:
        return True
    unwrapped = frame.to_native()
    of_pandas = hasattr(type(unwrapped), "iloc")  # narwhals knows no zones of pandas but UTC
    return of_pandas and getattr(unwrapped[name].dtype, "tz", None) is not None


def masked_columns(native: object, names: Sequence[str]) -> dict[str, Any]:
    """Fetch columns of any frame; missing values are masked. DuckDB needs no pyarrow for it."""
    frame = as_frame(native)
    if frame.implementation.is_duckdb():
        return dict(frame.to_native().project(", ".join(map(quoted, names))).fetchnumpy())
    eager = _collected(frame.select(*names))
    return {name: _with_mask(eager[name]) for name in names}


def _with_mask(column: nw.Series[Any]) -> Any:
    missing = column.is_null().to_numpy()
    moments = _in_utc(column)
    if moments is not None:
        return np.ma.array(moments, mask=missing) if missing.any() else moments
    return np.ma.array(column.to_numpy(), mask=missing) if missing.any() else column.to_native()


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

"""Any container in, a numpy array out: lists, arrays, series, columns, tensors, tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidTypeError, mention

# What to do with rows that lack a value; the command line has an option for it.
# Hints that callers who read files replace by options.
DROP = "drop those rows, or fill in their values"
SWAPPED = "are the two arguments swapped? The truth comes first"
PERCENT = "these look like percentages: divide by 100"
ROUNDED_OR_SCORES = (
    "for rounded probabilities pass a larger sum_tolerance, for scores before a softmax logits=True"
)


def as_array(values: object, name: str) -> npt.NDArray[Any]:
    """Any list, array, series, column or tensor as a numpy array; missing values become NaN."""
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        if values.dtype.kind == "M":
            return np.asarray(values.filled(np.datetime64("NaT")))
        with_none = np.asarray(values.data.astype(object))
        with_none[np.ma.getmaskarray(values)] = None
        return with_none
    if isinstance(values, np.ndarray):
        return _widened(np.asarray(values))  # a matrix stays a matrix whatever is taken of it
    if isinstance(values, str | bytes | dict | set) or values is None:
        raise InvalidForecastsError(
            f"{mention(name)} must be an array, a list, a series or a tensor", type(values).__name__
        )
    if isinstance(values, Iterator):
        raise InvalidForecastsError(
            f"{mention(name)} must be an array, a list, a series or a tensor",
            type(values).__name__,
            f"pass list({name})",
        )
    if is_tensor(values):
        return _from_tensor(values, name)
    if type(values).__module__.partition(".")[0] == "ibis":
        raise InvalidForecastsError(
            f"{mention(name)} must hold rows in a known order",
            "an expression of Ibis, and two queries need not agree on one",
            "pass the table and the names of its columns, or table.to_pandas()",
        )
    if not isinstance(values, Sequence):
        from calibrant.data.frames import as_values

        values = as_values(values)
    return _from_other(values, name)


def _from_other(values: Any, name: str) -> npt.NDArray[Any]:
    """Take lists, and arrays of other libraries, by either protocol that numpy knows."""
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return _from_dlpack(values, name)
    try:
        return _widened(np.asarray(values))
    except ValueError as error:
        raise InvalidForecastsError(f"{mention(name)} must be rectangular", str(error)) from error
    except TypeError as error:  # arrays on a graphics card refuse to be copied in passing
        if not hasattr(values, "__dlpack__"):
            raise InvalidForecastsError(f"{mention(name)} must be an array", str(error)) from error
        return _from_dlpack(values, name)


def _widened(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers of short types that jax has and numpy has not, as floats."""
    if values.dtype.kind == "V" and values.dtype.name.startswith(("bfloat16", "float8")):
        return values.astype(np.float32)
    return values


def _from_dlpack(values: Any, name: str) -> npt.NDArray[Any]:
    """Take an array of another library, and ask it for a copy on the host if need be."""
    host: dict[str, Any] = (
        {"device": "cpu"} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}
    )
    try:
        return np.from_dlpack(values, **host)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidForecastsError(
            f"{mention(name)} must be an array that the host can read",
            f"{type(values).__name__}: {error}",
            "copy it to the host first",
        ) from error


def is_tensor(values: object) -> bool:
    """Whether values are a torch tensor, perhaps on another device or with a gradient."""
    return hasattr(type(values), "detach")


def _from_tensor(tensor: Any, name: str) -> npt.NDArray[Any]:
    try:
        on_host = tensor.detach().cpu()
        # Types that numpy does not have.
        if any(kind in str(on_host.dtype) for kind in ("bfloat16", "float8")):
            on_host = on_host.float()
        return np.asarray(on_host.numpy())
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidForecastsError(
            f"{mention(name)} must be a dense tensor of numbers",
            str(error).partition("\n")[0].rstrip("."),
            "pass tensor.to_dense() or tensor.dequantize()",
        ) from error


def refuse_other_labels(**arguments: object) -> None:
    """Refuse columns of one call whose row labels (the index of pandas) do not agree.

    Rows are paired by position, which is wrong where labels say otherwise. What has no labels is
    left alone, and columns of other lengths are refused by those who read them.
    """
    first: tuple[str, Any] | None = None
    for name, labels in _row_labels(arguments):
        if first is None:
            first = name, labels
        elif len(labels) == len(first[1]) and not first[1].equals(labels):
            _refuse_labels_of(first, (name, labels))


def _row_labels(arguments: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """Row labels of the arguments that have any, also of columns in mappings and pairs."""
    for name, value in arguments.items():
        if hasattr(type(value), "iloc"):  # a series or a frame of pandas, or of a library like it
            labels = value.index  # type: ignore[attr-defined]
            yield name, labels.compute() if hasattr(type(labels), "compute") else labels
        elif isinstance(value, Mapping):
            yield from _row_labels({f"{name}[{key!r}]": item for key, item in value.items()})
        elif isinstance(value, list | tuple) and value and hasattr(type(value[0]), "iloc"):
            yield from _row_labels({f"{name}[{i}]": item for i, item in enumerate(value)})


def _refuse_labels_of(pair: tuple[str, Any], other_pair: tuple[str, Any]) -> None:
    (one, labels), (other, others) = pair, other_pair
    unique = labels.is_unique and others.is_unique
    if unique and labels.isin(others).all():
        got = "the same labels in another order"
    else:
        row = next(i for i, two in enumerate(zip(labels, others, strict=True)) if _differ(*two))
        got = f"labels {shown(labels[row])} and {shown(others[row])} in row {row + 1}"
    first, second = mention(one), mention(other)
    by_label = f"{second}.reindex({first}.index) pairs rows by label, " if unique else ""
    raise InvalidForecastsError(
        f"{first} and {second} must have the same row labels (index) in the same order",
        got,
        f"{by_label}{second}.to_numpy() by position",
    )


def _differ(one: object, other: object) -> bool:
    return one != other and not (is_missing(one) and is_missing(other))


def refuse_several(**row: object) -> None:
    """Refuse several rows where one is taken: two of them look like both chances of one row."""
    for name, value in row.items():
        shape = as_array([value], name).shape[1:]
        if shape not in {(), (1,)}:
            raise InvalidForecastsError(
                f"{mention(name)} must be one value, as update takes one row",
                f"shape {shape}",
                "pass several rows to update_many",
            )


def named_columns(values: object) -> tuple[Any, ...] | None:
    """Names of the columns of a frame; None for arrays and lists."""
    if isinstance(values, np.ndarray | Sequence) or is_tensor(values):
        return None
    from calibrant.data.frames import column_names

    return column_names(values)


def are_numbered(columns: Sequence[Any]) -> bool:
    """Whether columns have the names that pandas and Polars give to those without a name."""
    count = len(columns)
    polars = [f"column_{i}" for i in range(count)]
    return list(columns) in (list(range(count)), polars)


def class_text(label: object) -> str:
    """Text by which names of columns and of classes are compared: 1 and "1" are the same."""
    if isinstance(label, np.generic):
        label = label.item()
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def are_grids(y_true: object, y_proba: object) -> bool:
    """Whether both are arrays with named dimensions, the same ones, of two or more: of xarray."""
    first, second = getattr(y_true, "dims", None), getattr(y_proba, "dims", None)
    named = isinstance(first, tuple) and isinstance(second, tuple)
    return named and len(first or ()) > 1 and set(first or ()) == set(second or ())


def flattened(*grids: Any) -> tuple[Any, ...]:
    """Make rows of grids with the same named dimensions, and say so."""
    dimensions, shape = grids[0].dims, grids[0].shape
    warnings.warn(
        f"Arrays with the dimensions {', '.join(map(str, dimensions))} are flattened: "
        f"{' x '.join(map(str, shape))} entries are as many rows.",
        CalibrantWarning,
        stacklevel=5,
    )
    return tuple(
        np.asarray(grid.transpose(*dimensions)).ravel() if hasattr(grid, "dims") else grid
        for grid in grids
    )


def one_hot_positions(labels: npt.NDArray[Any], count: int) -> npt.NDArray[np.intp] | None:
    """Position of the one in each row of a table of so many columns; None for anything else."""
    if labels.ndim != 2 or labels.shape[1] != count or labels.dtype.kind not in "biuf":
        return None
    if not np.isin(labels, (0, 1)).all() or not (labels.sum(axis=1) == 1).all():
        return None
    return np.asarray(labels.argmax(axis=1), dtype=np.intp)


def refuse_unhashable(labels: npt.NDArray[Any], name: str) -> None:
    """Refuse entries that are no labels: lists, tables, numbers too long to be written."""
    for row, label in enumerate(labels.tolist()):
        try:
            hash(label), str(label)
        except (TypeError, ValueError) as error:
            raise InvalidForecastsError(
                f"{mention(name)} must hold labels, such as words or numbers",
                f"{shown(label)} in row {row + 1}",
            ) from error


def read_labels(values: object, name: str, size: int) -> npt.NDArray[Any]:
    """Labels of the rows, of any kind that can be compared, none of them missing."""
    labels = read_column(values, name, size)
    refuse_missing(labels, name, "give those rows a label, or drop them")
    if labels.dtype.kind == "O":
        refuse_unhashable(labels, name)
        labels = labels.astype(str)
    return labels


def read_table(values: object, name: str) -> npt.NDArray[Any]:
    """Read a table of any container as an array of two dimensions."""
    table = as_array(values, name)
    if table.ndim != 2:
        raise InvalidForecastsError(f"{mention(name)} must be a table", f"shape {table.shape}")
    return table


def read_full_column(values: object, name: str) -> npt.NDArray[Any]:
    """Read a column of any container, none of whose entries is missing."""
    column = read_column(values, name)
    refuse_missing(column, name)
    return column


def read_column(values: object, name: str, size: int | None = None) -> npt.NDArray[Any]:
    """One value of any kind for each row; missing ones are None or NaN."""
    column = one_column(as_array(values, name), name)
    if size is not None and column.size != size:
        raise InvalidForecastsError(
            f"{mention(name)} must have one entry per row", f"{column.size} for {size} rows"
        )
    return column


def read_numbers(values: object, name: str) -> Floats:
    """Read one number, or a column of them, as doubles."""
    return np.atleast_1d(as_floats(as_array(values, name), name))


def one_column(values: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Return a column, also of a table that has one only."""
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise InvalidForecastsError(f"{mention(what)} must be one column", f"shape {values.shape}")
    return values


def as_floats(values: npt.NDArray[Any], name: str) -> Floats:
    """Contiguous native float64; None becomes NaN."""
    # numpy would drop the imaginary part, or count the days
    if values.dtype.kind == "c" or _holds_complex(values):
        raise InvalidForecastsError(
            f"{mention(name)} must be numbers",
            f"type {values.dtype}",
            "Complex data not supported",
        )
    if values.dtype.kind in "mMV":
        raise InvalidForecastsError(f"{mention(name)} must be numbers", f"type {values.dtype}")
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidForecastsError
        raise kind(f"{mention(name)} must be numbers", examples(values), str(error)) from error


def _holds_complex(values: npt.NDArray[Any]) -> bool:
    """Whether there are complex numbers among objects."""
    if values.dtype.kind != "O":
        return False
    return any(isinstance(value, complex | np.complexfloating) for value in values.ravel().tolist())


def is_missing(value: object) -> bool:
    """Recognise None, NaN and the missing markers of pandas."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def refuse_missing(
    values: npt.NDArray[Any],
    name: str,
    hint: str = "",
) -> None:
    """Refuse missing values, with their number and the first of them."""
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    elif values.dtype.kind in "fM":
        missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    else:
        missing = np.zeros(values.shape, dtype=bool)
    if missing.any():
        raise InvalidForecastsError(
            f"{mention(name)} must not hold missing values (NaN)",
            f"{missing.sum()} of {missing.size}, first rows {first_rows(missing)}",
            hint or missing_hint(name == "y_true"),
        )


def missing_hint(of_outcomes: bool) -> str:  # noqa: FBT001
    """Say what to do with rows that lack a value."""
    return f"{DROP}; an unresolved outcome is not a 0" if of_outcomes else DROP


def first_rows(bad: npt.NDArray[np.bool_]) -> str:
    """Write the numbers of the first rows that are bad, counted from 1 as everywhere in errors."""
    return ", ".join(str(row + 1) for row in np.flatnonzero(bad)[:3])


def examples(labels: npt.NDArray[Any]) -> str:
    """Write a few of the labels."""
    distinct = list(dict.fromkeys(map(shown, labels.ravel().tolist())))
    return ", ".join(distinct[:4]) + (f" and {len(distinct) - 4} more" if len(distinct) > 4 else "")

"""Columns that group rows: labels, flags, and numbers cut at quantiles; usable on new rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats
from calibrant._base.options import MOST_BINS, check_flag, whole
from calibrant._base.words import visible
from calibrant.data.input import as_array, is_missing, is_tensor, read_column
from calibrant.data.times import moments_of
from calibrant.errors import InvalidForecastsError, mention

Codes = npt.NDArray[np.int64]

# A column of numbers with more distinct values than this is cut at quantiles.
MOST_NUMBERS = 24
PARTS = 5
# A column of labels keeps so many of them, the most frequent; the rest is gathered.
MOST_LEVELS = 250
MISSING = "missing"
UNSEEN = -1
# Whole numbers beyond this are not exact in doubles.
MOST_EXACT = 2**53
# Between the names of columns, and of levels, of a group of several columns.
AND = " & "
# Distinct numbers are looked for among these rows first.
FIRST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Grouping:
    """How the values of a column fall into groups."""

    column: str
    levels: tuple[str, ...]
    """Names of the groups."""
    labels: Mapping[Any, int] = field(default_factory=dict)
    """Group of each value; empty for numbers that are cut."""
    cuts: npt.NDArray[Any] | None = None
    """Where numbers are cut; a number on a cut belongs above it."""
    has_missing: bool = False
    """Whether the last group is that of missing values."""

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def missing(self) -> int:
        """Group of missing values, if the column had any."""
        return len(self) - 1 if self.has_missing else UNSEEN

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers, of which NaN is none."""
        if self.cuts is not None:
            return self.cuts.dtype.kind != "M"
        return bool(self.labels) and all(_is_number(value) for value in self.labels)

    def codes(self, values: object, size: int) -> Codes:
        """Find the group of each value; values that were not seen before are in none (-1)."""
        column = read_column(values, self.column, size)
        if self.cuts is None:
            if column.dtype.kind in "biuf":
                distinct, at = np.unique(column, return_inverse=True)
                return _looked_up(distinct, self.labels, self.missing)[at]
            with _hashed(self.column):
                return _looked_up(column, self.labels, self.missing)
        numbers = _numbers(column, self.column)
        if numbers is None or (numbers.dtype.kind == "M") != (self.cuts.dtype.kind == "M"):
            raise InvalidForecastsError(
                f"{self.column} must hold "
                f"{'times' if self.cuts.dtype.kind == 'M' else 'numbers'} as it did before",
                f"type {column.dtype}",
            )
        gone = _gone(numbers)
        return np.where(gone, self.missing, np.searchsorted(self.cuts, numbers, side="right"))


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows divided by one column, or by several at once."""

    groupings: tuple[Grouping, ...]
    codes: Codes
    """Number of the group of each row."""

    @property
    def by(self) -> str:
        """Name of the columns."""
        return AND.join(grouping.column for grouping in self.groupings)

    @property
    def size(self) -> int:
        """How many groups there could be."""
        return int(np.prod([len(grouping) for grouping in self.groupings]))

    def name(self, code: int) -> str:
        """Name of a group."""
        parts = np.unravel_index(code, [len(grouping) for grouping in self.groupings])
        return AND.join(g.levels[int(i)] for g, i in zip(self.groupings, parts, strict=True))

    def where(self, keep: Flags) -> Partition:
        """Keep some of the rows."""
        return Partition(self.groupings, self.codes[keep])

    def crossed(self, other: Partition) -> Partition:
        """Divide rows by the columns of both."""
        return Partition((*self.groupings, *other.groupings), self.codes * other.size + other.codes)


def label_of(by: str, name: str) -> str:
    """Name a group with its columns, to be read: "carrier 9E, month 12"."""
    columns, names = by.split(AND), name.split(AND)
    if len(columns) != len(names):
        return visible(f"{by} {name}")
    pairs = zip(columns, names, strict=True)
    return visible(", ".join(f"{column} {level}" for column, level in pairs))


def partitions(
    by: Mapping[str, object],
    size: int,
    *,
    pairs: bool = False,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
    weight: Floats | None = None,
) -> list[Partition]:
    """Divide rows by each column, and on request by each pair of columns."""
    if not by:
        raise InvalidForecastsError("@by must name at least one column", "none")
    singles = [
        grouped(values, column, size, parts=parts, most_levels=most_levels, weight=weight)
        for column, values in by.items()
    ]
    if not check_flag("pairs", pairs):
        return singles
    # Two columns of hundreds of labels make more groups than anybody can read.
    few = [
        single
        if len(single.groupings[0]) <= MOST_NUMBERS + 2
        else grouped(values, column, size, parts=parts, most_levels=MOST_NUMBERS, weight=weight)
        for single, (column, values) in zip(singles, by.items(), strict=True)
    ]
    crosses = [one.crossed(two) for i, one in enumerate(few) for two in few[i + 1 :]]
    return singles + crosses


def grouped(
    values: object,
    column: str,
    size: int,
    *,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
    weight: Floats | None = None,
) -> Partition:
    """Read a column and divide rows by it.

    Numbers of more than 24 distinct values, and all dates and timestamps, are cut at quantiles, in
    UTC where they have a zone; other values are labels. The rarer of more than `most_levels` labels
    are gathered in one group, and missing values are a group of their own.
    """
    parts = whole("parts", parts, 1, MOST_BINS)
    most_levels = whole("most_levels", most_levels, 1, MOST_BINS)
    entries = read_column(values, column, size)
    numbers = _numbers(entries, column)
    if numbers is not None:
        distinct = _few_values(numbers)
        if distinct is None:
            return _cut(numbers, column, parts, weight)
        codes = np.minimum(np.searchsorted(distinct, numbers), distinct.size - 1)
        return _labelled(codes, list(distinct), _gone(numbers), column, most_levels)
    if entries.dtype.kind == "b":
        return _labelled(
            entries.astype(np.int64), [False, True], np.zeros(size, dtype=bool), column, 2
        )
    seen: dict[Any, int] = {}
    with _hashed(column):
        codes = _counted(entries, seen)
        for value in seen:
            str(value)  # numbers of thousands of digits refuse to be written
    gone = np.array([is_missing(value) for value in seen], dtype=bool)[codes]
    return _labelled(codes, list(seen), gone, column, most_levels)


def gathered_name(values: int) -> str:
    """Name the group of the rarest labels."""
    return f"other ({values} values)"


def columns_of(by: object, name: str = "by") -> dict[str, object]:
    """Columns by name, of a mapping, a frame, one column, or an array with one for each feature."""
    if isinstance(by, Mapping):
        return {str(column): values for column, values in by.items()}
    if is_tensor(by):
        by = as_array(by, name)
    if isinstance(by, np.ndarray) and by.ndim != 1:
        if by.ndim != 2:
            raise InvalidForecastsError(
                f"{mention(name)} must have one column for each feature",
                f"an array of shape {by.shape}",
            )
        return {f"x{i}": column for i, column in enumerate(by.T)}
    from calibrant.data.frames import table_columns

    columns = table_columns(by)
    if columns is not None:
        return columns
    if hasattr(by, "__len__") and not isinstance(by, str | bytes | AbstractSet):
        own = getattr(by, "name", None)  # of a series
        return {"group" if own is None or own == "" else str(own): by}
    raise InvalidForecastsError(
        f"{mention(name)} must be a mapping, a frame, a column or an array",
        type(by).__name__,
        f"{name}={{'name': labels}}",
    )


def _labelled(
    codes: Codes,
    values: list[Any],
    gone: npt.NDArray[np.bool_],
    column: str,
    most_levels: int,
) -> Partition:
    """Sort labels by name, the rare ones together after them, the missing last."""
    counts = np.bincount(codes[~gone], minlength=len(values))
    present = [i for i in range(len(values)) if counts[i]]
    frequent = sorted(present, key=lambda i: (-counts[i], level_text(values[i])))[:most_levels]
    kept = sorted(frequent, key=lambda i: _order(values[i]))
    rest = sorted(set(present) - set(kept))
    levels = distinct_names([values[i] for i in kept])
    group = np.full(len(values) + 1, len(kept), dtype=np.int64)
    group[kept] = np.arange(len(kept))
    if rest:
        levels.append(free_name(gathered_name(len(rest)), "gathered", levels))
    labels = {_plain(values[i]): int(group[i]) for i in kept + rest}
    numbered = group[codes]
    if gone.any():
        numbered = np.where(gone, len(levels), numbered)
        levels.append(free_name(MISSING, "no value", levels))
    grouping = Grouping(column, tuple(levels), labels, has_missing=bool(gone.any()))
    return Partition((grouping,), numbered)


def _cut(numbers: npt.NDArray[Any], column: str, parts: int, weight: Floats | None) -> Partition:
    gone = _gone(numbers)
    kept = numbers[~gone] if gone.any() else numbers
    cuts = _quantiles(kept, parts, None if weight is None else weight[~gone])
    codes = np.searchsorted(cuts, numbers, side="right").astype(np.int64)
    levels = level_names(cuts)
    if gone.any():
        codes = np.where(gone, len(levels), codes)
        levels.append(MISSING)
    return Partition((Grouping(column, tuple(levels), {}, cuts, bool(gone.any())),), codes)


def distinct_names(values: Sequence[Any]) -> list[str]:
    """Name values so that no two names are alike."""
    names = [level_text(value) for value in values]
    counts = Counter(names)
    if len(counts) == len(names):
        return names
    return [
        name if counts[name] == 1 else f"{value!r}"
        for name, value in zip(names, values, strict=True)
    ]


def free_name(name: str, remark: str, taken: Iterable[str]) -> str:
    """Return a name for what is no label, with a remark where a label has that name."""
    used = set(taken)
    while name in used:
        name = f"{name} ({remark})"
    return name


def level_names(cuts: Sequence[Any] | npt.NDArray[Any]) -> list[str]:
    """Name the parts between cuts."""
    texts = distinct_names(list(cuts))
    if not texts:
        return ["all values"]
    between = [f"{a} to < {b}" for a, b in pairwise(texts)]
    return [f"< {texts[0]}", *between, f">= {texts[-1]}"]


def _quantiles(values: npt.NDArray[Any], parts: int, weight: Floats | None) -> npt.NDArray[Any]:
    """Distinct values at equal shares of the weight; none that leaves an empty part below it."""
    shares = np.arange(1, parts) / parts
    if weight is None:
        at = np.minimum((shares * values.size).astype(np.intp), values.size - 1)
        found = np.partition(values, at)[at]
    else:
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[order])
        at = np.searchsorted(reached, shares * reached[-1], side="right")
        found = values[order[np.minimum(at, values.size - 1)]]
    cuts = np.unique(found)
    return np.asarray(cuts[cuts > values.min()])


def _numbers(column: npt.NDArray[Any], name: str) -> npt.NDArray[Any] | None:
    """Numbers or times, with NaN or NaT where missing; None if the column holds labels.

    Times are moments in UTC, whether a column holds timestamps, with a zone or without, or dates,
    as values or as text: the same moments make the same groups from every container and file.
    """
    if column.dtype.kind in "iuf":
        return column
    moments = moments_of(column)
    if moments is not None or column.dtype.kind != "O":
        return moments
    some = [value for value in column[:100].tolist() if not is_missing(value)]
    if not some or not all(_is_number(value) for value in some):
        return None
    values = [np.nan if is_missing(value) else value for value in column.tolist()]
    if any(isinstance(value, int) and abs(value) > MOST_EXACT for value in values):
        return None  # as doubles different ones would be one
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidForecastsError(
            f"{mention(name)} must hold numbers or labels, not both", str(error)
        ) from error


def _is_number(value: object) -> bool:
    numbers = int | float | np.integer | np.floating
    return isinstance(value, numbers) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def _gone(numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if numbers.dtype.kind == "M":
        return np.asarray(np.isnat(numbers))
    if numbers.dtype.kind == "f":
        return np.asarray(np.isnan(numbers))
    return np.zeros(numbers.size, dtype=bool)


def _few_values(numbers: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Distinct numbers without the missing ones, or None if there are many."""
    if numbers.dtype.kind == "M":
        return None
    seen = np.unique(numbers[:FIRST_ROWS])
    seen = seen[~_gone(seen)]
    while seen.size <= MOST_NUMBERS:
        new = numbers[~(np.isin(numbers, seen) | _gone(numbers))]
        if not new.size:
            return np.asarray(seen)
        seen = np.union1d(seen, new[:FIRST_ROWS])
    return None


def _counted(entries: npt.NDArray[Any], seen: dict[Any, int]) -> Codes:
    """Give values numbers in the order in which they appear."""
    known: dict[Any, int] = _Counter(seen)
    return np.fromiter(map(known.__getitem__, entries.tolist()), np.int64, entries.size)


@contextmanager
def _hashed(column: str) -> Iterator[None]:
    """Refuse labels that cannot be told apart quickly, or written: lists, arrays, long numbers."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise InvalidForecastsError(
            f"{column} must hold labels, numbers or dates", str(error), "group by text instead"
        ) from error


class _Counter(dict[Any, int]):
    """A dictionary that gives every new key the next number, and remembers it elsewhere."""

    def __init__(self, seen: dict[Any, int]) -> None:
        super().__init__()
        self.seen = seen

    def __missing__(self, key: Any) -> int:
        number = len(self)
        self[key] = self.seen[key] = number
        return number


def _looked_up(entries: npt.NDArray[Any], labels: Mapping[Any, int], missing: int) -> Codes:
    codes = [
        missing if is_missing(value) else labels.get(value, UNSEEN) for value in entries.tolist()
    ]
    return np.array(codes, dtype=np.int64)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def level_text(value: Any) -> str:
    """Name a value as a level of its column."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.6g}"  # -0.0 is 0
    return str(value)


def _order(value: Any) -> tuple[int, Any, str]:
    return (0, value, "") if _is_number(value) else (1, 0, str(value))

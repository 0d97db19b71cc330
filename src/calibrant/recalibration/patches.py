"""Patches: small corrections of the predictions of one group, in Python, JSON and SQL."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.stored import Stored, plain_value, value_from, whole
from calibrant._base.words import count_text
from calibrant.data.groupings import UNSEEN, Codes, Grouping, columns_of
from calibrant.errors import (
    CalibrantWarning,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
)
from calibrant.recalibration.forms import TINY
from calibrant.recalibration.quoting import Dialect, number_text

# Types of numbers and dates that can be cut.
TYPES = (
    "float64",
    "int64",
    "uint64",
    *(f"datetime64[{unit}]" for unit in ("D", "s", "ms", "us", "ns")),
)
# How values of these types are stored.
KINDS: dict[str, tuple[type, ...]] = {"f": (int, float), "i": (int,), "u": (int,), "M": (str,)}


def grouping_dict(grouping: Grouping) -> dict[str, Any]:
    """Return plain data."""
    data: dict[str, Any] = {
        "column": grouping.column,
        "levels": list(grouping.levels),
        "missing": grouping.has_missing,
    }
    if grouping.cuts is None:
        labels = grouping.labels.items()
        return data | {"labels": [[plain_value(value), level] for value, level in labels]}
    cuts = grouping.cuts.astype(_type_of(grouping.cuts))
    values = cuts.astype(str) if cuts.dtype.kind == "M" else cuts
    return data | {"cuts": [plain_value(cut) for cut in values.tolist()], "type": cuts.dtype.name}


def grouping_from(data: Stored) -> Grouping:
    """Take plain data back, and refuse what no column can have given."""
    levels = tuple(data.entries("levels"))
    if not all(isinstance(level, str) for level in levels) or len(set(levels)) < len(levels):
        raise InvalidStateError(
            "levels of a stored column must be different texts", f"{levels!r:.60}"
        )
    missing = data.flag("missing")
    parts = len(levels) - missing
    if data.has("cuts"):
        cuts = _cuts_from(data)
        if parts != cuts.size + 1:
            raise InvalidStateError(
                "a stored column must have one level more than cuts", f"{parts} and {cuts.size}"
            )
        return Grouping(data.text("column"), levels, {}, cuts, missing)
    labels: dict[Any, int] = {}
    for pair in data.entries("labels"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidStateError("labels of a stored column must be pairs", f"{pair!r:.60}")
        value = value_from(pair[0], "a stored label")
        if value in labels or value != value:  # noqa: PLR0124  # NaN is none
            raise InvalidStateError("a stored label must stand once", f"{value!r:.60}")
        labels[value] = whole(pair[1], "the level of a stored label", 0, parts - 1)
    if set(labels.values()) != set(range(parts)):
        raise InvalidStateError("every level of a stored column must have a label", f"{parts}")
    return Grouping(data.text("column"), levels, labels, None, missing)


def _cuts_from(data: Stored) -> npt.NDArray[Any]:
    kind = data.choice("type", TYPES)
    values = [value_from(value, "a stored cut") for value in data.entries("cuts")]
    wanted = KINDS[np.dtype(kind).kind]
    if not all(isinstance(v, wanted) and not isinstance(v, bool) for v in values):
        raise InvalidStateError(f"stored cuts must be of type {kind}", f"{values!r:.60}")
    try:
        cuts = np.array(values, dtype=kind)
    except (ValueError, OverflowError) as error:
        raise InvalidStateError(f"stored cuts must be of type {kind}", str(error)) from error
    if not bool((cuts[1:] > cuts[:-1]).all()) or bool((cuts != cuts).any()):  # noqa: PLR0124
        raise InvalidStateError("stored cuts must increase", f"{values!r:.60}")
    return cuts


def _type_of(cuts: npt.NDArray[Any]) -> str:
    if cuts.dtype.kind == "M":
        return cuts.dtype.name if cuts.dtype.name in TYPES else "datetime64[us]"
    return {"i": "int64", "u": "uint64"}.get(cuts.dtype.kind, "float64")


# SQLite's parser overflows where nine steps are nested; this leaves room for what is around them.
SHALLOW = 4
# Patches that DuckDB and PostgreSQL take as one nested expression.
MOST_NESTED = 100
# Powers of predictions that a stored patch may have.
MOST_POWER = 64


@dataclass(frozen=True, slots=True)
class Patch:
    """Add `amount` times a power of the prediction to the predictions of a group in a range."""

    groups: tuple[tuple[int, int], ...]
    """Column and level, by number, that a row must have; none for all rows."""
    low: float
    high: float
    """The range of predictions: low <= p < high, up to 1 itself if high is 1."""
    power: int
    amount: float

    def rows(self, codes: Sequence[Codes], prediction: Floats) -> npt.NDArray[np.intp]:
        """Find the rows that it changes."""
        inside = self.covers(prediction)
        for column, level in self.groups:
            inside &= codes[column] == level
        return np.flatnonzero(inside)

    def covers(self, prediction: Floats) -> npt.NDArray[np.bool_]:
        """Tell which predictions lie in the range."""
        below = prediction < self.high if self.high < 1 else prediction <= 1
        return np.asarray((prediction >= self.low) & below)

    def recalibrated(self, prediction: Floats) -> Floats:
        """Where predictions of the group and range move."""
        return np.clip(prediction + self.amount * prediction**self.power, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches in the order in which they apply, and the columns they look at."""

    groupings: tuple[Grouping, ...] = ()
    patches: tuple[Patch, ...] = ()

    def apply(self, prediction: Floats, codes: Sequence[Codes]) -> Floats:
        """Correct predictions; rows with a value that was not seen before stay as they are."""
        recalibrated = prediction.copy()
        for patch in self.patches:
            rows = patch.rows(codes, recalibrated)
            recalibrated[rows] = patch.recalibrated(recalibrated[rows])
        return np.where(unseen(codes), prediction, recalibrated) if codes else recalibrated

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "columns": [grouping_dict(grouping) for grouping in self.groupings],
            "patches": [
                {
                    "groups": [list(group) for group in patch.groups],
                    "low": patch.low,
                    "high": patch.high,
                    "power": patch.power,
                    "amount": patch.amount,
                }
                for patch in self.patches
            ],
        }

    @classmethod
    def from_stored(cls, data: Stored) -> Patches:
        """Take plain data back."""
        groupings = tuple(grouping_from(entry) for entry in data.parts("columns"))
        return cls(groupings, tuple(_patch_from(p, groupings) for p in data.parts("patches")))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns they look at, each once."""
        return tuple(dict.fromkeys(grouping.column for grouping in self.groupings))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those of the columns whose values are text."""
        return tuple(
            dict.fromkeys(
                grouping.column
                for grouping in self.groupings
                if any(isinstance(label, str) for label in grouping.labels)
            )
        )

    @property
    def time_columns(self) -> tuple[str, ...]:
        """Those of the columns that were cut at times."""
        return tuple(
            dict.fromkeys(
                grouping.column
                for grouping in self.groupings
                if grouping.cuts is not None and grouping.cuts.dtype.kind == "M"
            )
        )

    @property
    def affine(self) -> bool:
        """Whether every patch shifts or stretches all predictions of its group."""
        return all((p.low, p.high) == (0, 1) and p.power <= 1 for p in self.patches)

    def corrected(self, value: str, least: float, kind: Dialect) -> str:
        """Write what becomes of a value that is not NULL, as one expression."""
        if not self.patches:
            return value
        recalibrated = kind.within(self.expression(value, kind), least, 1 - least)
        return f"case when {self.seen(kind)} then {recalibrated} else {value} end"

    def expression(self, prediction: str, kind: Dialect) -> str:
        """Write the corrected prediction as one expression, from an expression of a prediction.

        Each step holds the one before it once, so that the text grows by a line with each patch.
        Parsers that take but few nested steps get them side by side: SQLite as a chain of
        subqueries of a few steps each, Spark as a list that it folds.
        """
        self._refuse_cells()
        steps = [self._step(patch, kind) for patch in self.patches]
        if kind.name == "spark":
            return _folded(prediction, steps, kind)
        if kind.name == "sqlite":
            return self._chained(prediction, steps, kind)
        if len(steps) > MOST_NESTED:
            raise InvalidOptionError(
                f"one expression for {kind.name} takes at most {MOST_NESTED} patches",
                f"{len(steps)}",
                "name the table, for a query in steps",
            )
        return _nested(prediction, steps, kind)

    def _step(self, patch: Patch, kind: Dialect) -> tuple[str, str]:
        """Write what predictions are multiplied by, and what is added to them."""
        where = " and ".join(self._conditions(patch, kind))
        one, none = number_text(1.0), number_text(0.0)
        rest, amount = (one, 1 + patch.amount) if patch.power else (none, patch.amount)
        by = number_text(amount)
        if where:
            by = f"case when {where} then {by} else {rest} end"
        return (by, none) if patch.power else (one, by)

    def _chained(self, prediction: str, steps: Sequence[tuple[str, str]], kind: Dialect) -> str:
        if len(steps) <= SHALLOW:
            return _nested(prediction, steps, kind)
        mark = "v"
        while any(name.lower().startswith(mark) for name in self.columns):
            mark += "v"
        value, links = kind.quoted(mark), []
        starts = range(0, len(steps), SHALLOW)
        for number, start in enumerate(starts):
            recalibrated = _nested(value, steps[start : start + SHALLOW], kind)
            step = f"select {recalibrated} from {mark}{number}"  # noqa: S608
            links.append(f"{mark}{number + 1}({value}) as ({step})")
        chain = ", ".join([f"{mark}0({value}) as (select {prediction})", *links])
        return f"(with {chain} select {value} from {mark}{len(starts)})"  # noqa: S608

    def seen(self, kind: Dialect) -> str:
        """Write a condition for rows whose values were all seen before; never NULL."""
        return " and ".join(_seen(grouping, kind) for grouping in self.groupings) or "1 = 1"

    def steps(self, value: str, kind: Dialect) -> Iterator[str]:
        """Write what each patch makes of a column of predictions, in the order of the patches."""
        for patch in self.patches:
            recalibrated = kind.within(f"{value} + {_added(patch, value, kind)}", 0.0, 1.0)
            where = " and ".join(self._conditions(patch, kind, value))
            yield (
                f"case when {where} then {recalibrated} else {value} end" if where else recalibrated
            )

    def _refuse_cells(self) -> None:
        """Refuse patches of cells or of higher powers: one expression would double with each."""
        if not self.affine:
            raise InvalidOptionError(
                "only patches that shift or stretch whole groups make one expression",
                "patches of cells or of higher powers",
                "name the table, for a query in steps",
            )

    def _conditions(self, patch: Patch, kind: Dialect, value: str = "") -> list[str]:
        found = []
        if patch.low > 0:
            found.append(f"{value} >= {number_text(patch.low)}")
        if patch.high < 1:
            found.append(f"{value} < {number_text(patch.high)}")
        found += [_condition(self.groupings[column], level, kind) for column, level in patch.groups]
        return found


def patches_text(count: int) -> str:
    """Count patches."""
    return "1 patch" if count == 1 else f"{count} patches"


def unseen(codes: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Rows with a value that was not seen before in any column."""
    return np.asarray(np.any([code == UNSEEN for code in codes], axis=0))


def codes_of(groupings: Sequence[Grouping], by: object, size: int) -> list[Codes]:
    """Find the groups of new rows; a warning counts those with values not seen before."""
    columns = columns_of(by)
    missing = [g.column for g in groupings if g.column not in columns]
    if missing:
        raise InvalidForecastsError(f"columns must include {missing[0]!r}", f"{', '.join(columns)}")
    codes = [grouping.codes(columns[grouping.column], size) for grouping in groupings]
    strange = int(unseen(codes).sum()) if codes else 0
    if strange:
        warnings.warn(
            f"{count_text(strange, 'row')} with values that were not seen in the fit keep "
            "their base prediction",
            CalibrantWarning,
            stacklevel=3,
        )
    return codes


def _added(patch: Patch, value: str, kind: Dialect) -> str:
    """Write what a patch adds to a value; PostgreSQL refuses powers that underflow."""
    added = number_text(patch.amount) + f" * {value}" * patch.power
    if patch.power < 2 or kind.name != "postgres":
        return added
    least = number_text(TINY ** (1 / patch.power))
    return f"case when {value} > {least} then {added} else {number_text(0.0)} end"


def _nested(prediction: str, steps: Sequence[tuple[str, str]], kind: Dialect) -> str:
    """Write each step around the one before it."""
    recalibrated = prediction
    for times, plus in steps:
        how = f"* {times}" if plus == number_text(0.0) else f"+ {plus}"
        recalibrated = kind.within(f"({recalibrated}) {how}", 0.0, 1.0)
    return recalibrated


def _folded(prediction: str, steps: Sequence[tuple[str, str]], kind: Dialect) -> str:
    """Write the steps as a list, folded by one function."""
    if not steps:
        return prediction
    listed = ", ".join(f"struct({times} as m, {plus} as a)" for times, plus in steps)
    recalibrated = kind.within("v * s.m + s.a", 0.0, 1.0)
    return f"aggregate(array({listed}), cast({prediction} as double), (v, s) -> {recalibrated})"


def _condition(grouping: Grouping, level: int, kind: Dialect) -> str:
    """Say in SQL that a row belongs to a level of a column."""
    missing = kind.missing(grouping.column, numeric=grouping.numeric)
    if level == grouping.missing:
        return missing
    if grouping.cuts is None:
        values = [value for value, group in grouping.labels.items() if group == level]
        return _among(grouping, values, kind)
    moments = grouping.cuts.dtype.kind == "M"
    column = kind.ordered(grouping.column, numeric=not moments, moments=moments)
    cuts = [kind.literal(cut) for cut in grouping.cuts]
    if moments:
        cuts = [kind.moment.format(cut) for cut in cuts]
    ends = []
    if level > 0:
        ends.append(f"{column} >= {cuts[level - 1]}")
    if level < grouping.cuts.size:
        ends.append(f"{column} < {cuts[level]}")
    else:
        ends.append(f"not {missing}")  # databases hold NaN to be larger than all numbers
    return " and ".join(ends)


def _seen(grouping: Grouping, kind: Dialect) -> str:
    """Say in SQL that a row has a value that was seen before; never NULL."""
    missing = kind.missing(grouping.column, numeric=grouping.numeric)
    if grouping.cuts is not None:
        return "1 = 1" if grouping.has_missing else f"not {missing}"
    known = "1 = 0"
    if grouping.labels:
        known = f"coalesce({_among(grouping, list(grouping.labels), kind)}, 1 = 0)"
    return f"({known} or {missing})" if grouping.has_missing else known


def _among(grouping: Grouping, values: Sequence[Any], kind: Dialect) -> str:
    """Say in SQL that a column has one of some values."""
    column = kind.ordered(grouping.column, numeric=grouping.numeric, moments=False)
    if all(isinstance(value, str) for value in grouping.labels):
        column = f"cast({column} as {kind.text_type})"
    return f"{column} in ({', '.join(map(kind.literal, values))})"


def _patch_from(data: Stored, groupings: Sequence[Grouping]) -> Patch:
    groups = []
    for pair in data.entries("groups"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidStateError("groups of a stored patch must be pairs", f"{pair!r:.60}")
        column = whole(pair[0], "the column of a stored patch", 0, len(groupings) - 1)
        level = whole(pair[1], "the level of a stored patch", 0, len(groupings[column]) - 1)
        groups.append((column, level))
    low = data.number("low", 0.0, 1.0)
    return Patch(
        tuple(groups),
        low,
        data.number("high", low, 1.0),
        data.whole("power", 0, MOST_POWER),
        data.number("amount"),
    )

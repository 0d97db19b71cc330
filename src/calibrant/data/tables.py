"""Files as tables whose text is never guessed at: what plays a part is read for that part.

DuckDB would find the types of text files from their first rows, and round what does not fit them.
Here every column of a CSV or JSON lines file is its letters until somebody needs it as a number, a
label or a value; types of values are found on all rows. Parquet files keep their types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

from calibrant.data.databases import first_row
from calibrant.data.hints import number_hint, require_columns
from calibrant.data.labels import (
    MOST_LABELS,
    LabelMeanings,
    Labels,
    number_of,
    refuse_missing_words,
    shown,
)
from calibrant.errors import InvalidForecastsError

if TYPE_CHECKING:
    import duckdb

NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "BLOB", "BIT", "GEOMETRY", "VARIANT")
KEPT = ("BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "ENUM")
ZONED = "TIMESTAMP WITH TIME ZONE"
# Conditions that text is a time, and that it ends in a zone; those beside it without are in UTC.
TIMES = {
    "TIMESTAMP": "try_cast({} as timestamptz) is not null",
    ZONED: "regexp_matches({}, ':[0-9.]+ ?[A-Za-z+-]')",
}
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
           "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BIGNUM")  # fmt: skip


FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


class Part(Enum):
    """How a column is read."""

    NUMBER = auto()
    OUTCOME = auto()
    """0 and 1, true and false, mean outcomes, or labels."""
    VALUE = auto()
    """Numbers if all of them are, otherwise text."""
    TIME = auto()
    """Numbers, dates or timestamps if all of them are, otherwise text."""
    MOMENT = auto()
    """Dates or timestamps, those with a zone in UTC."""
    TEXT = auto()
    """Letters, whatever they look like."""
    NUMBERS = auto()
    """Lists of numbers."""
    KEY = auto()
    """A number for each value, to see which rows share one."""


@dataclass(frozen=True)
class Table:
    """Files on a connection, with every column of a text file as its letters."""

    connection: duckdb.DuckDBPyConnection
    source: str
    """What queries select from."""
    types: Mapping[str, str]
    """Type of each column: VARCHAR for CSV, JSON for JSON lines, that of the file for Parquet."""
    typed: bool
    """Whether the file itself says of which type columns are."""
    header: Sequence[str] = ()
    """Names as the file writes them, where they are not those of the columns."""

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; DuckDB changes those that are alike but for capitals, or empty."""
        return list(self.types)

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns as the file writes them."""
        return list(self.header or self.types)

    def require(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there, or that are not the only ones of their name."""
        require_columns(self.names, names)
        for name in names:
            alike = [other for other in self.names if other.lower() == name.lower()]
            if alike.count(name) > 1 or self.columns[self.names.index(name)] != name:
                raise InvalidForecastsError(
                    f"there must be one column {name!r}", shown(alike), "rename the others"
                )

    def possible_keys(self, taken: Collection[str], most: int) -> list[str]:
        """Choose columns that may identify what rows are about: no fractions, flags or lists."""
        lowered = [name.lower() for name in self.names]
        found = [
            name
            for name in self.columns
            if name not in taken
            and lowered.count(name.lower()) == 1
            and not self.types[name].startswith((*FRACTIONS, "BOOLEAN", *NESTED))
            and not self.types[name].endswith("]")
        ]
        return found[:most]

    def alike(self) -> list[str]:
        """Names of the file that are the same but for their capitals."""
        lowered = [name.lower() for name in self.names]
        return [name for name in self.names if lowered.count(name.lower()) > 1]

    def read_as(
        self, parts: Mapping[str, Part], labels: Labels
    ) -> tuple[dict[str, str], LabelMeanings | None]:
        """Write each column as its part wants it; return what its labels mean, if named."""
        self.require(list(parts))
        times = [name for name, part in parts.items() if part is Part.TIME]
        values = [name for name, part in parts.items() if part is Part.VALUE]
        found = self.found_types(times + values, times)
        read, meanings = {}, None
        for name, part in parts.items():
            if part is Part.OUTCOME:
                read[name], meanings = self._outcome(name, labels)
            elif part is Part.NUMBER:
                read[name] = self.number(name)
            elif part is Part.TEXT:
                read[name] = self.text(name)
            elif part is Part.NUMBERS:
                read[name] = self._numbers(name)
            elif part is Part.KEY:
                text = self._filled(name)
                read[name] = f"case when {text} is not null then hash({text}) end"
            elif part is Part.MOMENT:
                read[name] = self._moments(name)
            else:
                read[name] = self.value(name, found[name])
        return read, meanings

    def number(self, name: str) -> str:
        """Write a column as doubles, or as the numbers that the file says it holds."""
        self._refuse_nested(name)
        kind = self.types[name]
        if self._is_text(name):
            return f"cast({self._filled(name)} as double)"
        if not kind.startswith((*NUMBERS, "BOOLEAN")):
            raise InvalidForecastsError(
                f"column {name!r} must hold numbers", f"a column of type {kind}"
            )
        return quoted(name)

    def value(self, name: str, kind: str) -> str:
        """Write a column as a type that was found on all its rows."""
        text = self.text(name)
        if not self.typed:
            if kind == "TIMESTAMP":
                return _moment(self._filled(name))
            if kind == ZONED:
                return f"cast({self._filled(name)} as timestamptz)"
            return text if kind == "VARCHAR" else f"cast({self._filled(name)} as {kind})"
        return quoted(name) if kind.startswith((*KEPT, *NUMBERS)) else text

    def text(self, name: str) -> str:
        """Write a column as its letters."""
        if self.types[name] == "JSON":
            return f"({quoted(name)} ->> '$')"
        return quoted(name) if self.types[name] == "VARCHAR" else f"cast({quoted(name)} as varchar)"

    def found_types(
        self, names: Sequence[str], times: Sequence[str] = (), *, flags: bool = False
    ) -> dict[str, str]:
        """Find types that hold for all rows: whole numbers, doubles, or else text.

        Times may be timestamps as well, with a zone if any of them has one. With flags, text that
        says true and false is of a type of its own, and lists and structures are text.
        """
        for name in names:
            self._refuse_nested(name)
        if self.typed or not names:
            return {name: self.types[name] for name in names}
        kinds = ["BIGINT", "DOUBLE", *(["BOOLEAN"] if flags else [])]
        questions = [(name, kind) for name in names for kind in ["", "NESTED", *kinds]]
        questions += [(name, kind) for name in times for kind in TIMES]
        tests = ", ".join(f"count(*) filter ({self._test(*question)})" for question in questions)
        answers = first_row(self.connection, f"select {tests} from {self.source}")  # noqa: S608
        counts = dict(zip(questions, answers or (), strict=True))
        found = {}
        for name in names:
            rows = counts[name, ""]
            if not flags:
                self._refuse_nested(name, counts[name, "NESTED"])
            fits = (k for k in [*kinds, "TIMESTAMP"] if counts.get((name, k)) == rows > 0)
            found[name] = next(fits, "VARCHAR")
            if found[name] == "TIMESTAMP" and counts[name, ZONED]:
                found[name] = ZONED
        return found

    def refuse_unreadable(self, parts: Mapping[str, Part], labels: Labels) -> None:
        """Say which text could not be read as a number, if there is any."""
        for name, part in parts.items():
            if not self._is_text(name):
                continue
            if part is Part.NUMBER:
                self._refuse_text(name, f"try_cast({self._filled(name)} as double)", "numbers")
            elif part is Part.NUMBERS:
                self._refuse_text(
                    name,
                    f"try_cast({self._filled(name)} as double[])",
                    "lists of numbers",
                    "write lists, or give each class a column of its name",
                )
            elif part is Part.MOMENT:
                self._refuse_text(
                    name,
                    f"try_cast({self._filled(name)} as timestamptz)",
                    "dates or timestamps",
                    "write dates as 2026-01-31, times as 2026-01-31T08:00",
                )
            elif part is Part.OUTCOME and labels.positive is None:
                self._refuse_labels(name, self._known(name, labels))

    def _refuse_nested(self, name: str, nested: int = 0) -> None:
        """Refuse columns of lists, structures or bytes."""
        kind = self.types[name]
        if nested or kind.endswith("]") or kind.startswith(NESTED):
            got = (
                f"{nested} rows with lists or structures" if nested else f"a column of type {kind}"
            )
            raise InvalidForecastsError(f"column {name!r} must hold one value in each row", got)

    def _outcome(self, name: str, labels: Labels) -> tuple[str, LabelMeanings | None]:
        if labels.positive is None:
            known = self._known(name, labels)
            return (f"cast({_truth(known)} as double)" if self._is_text(name) else known), None
        label = self._known(name, Labels())
        query = f"select {label}, count(*) from {self.source} group by 1 limit {MOST_LABELS}"  # noqa: S608
        counts = dict(self.connection.execute(query).fetchall())
        meanings = labels.meanings(counts, f"column {name!r}", strict=True)
        unknown = f"{label} is null"
        if meanings.missing:
            unknown += f" or {label} in ({', '.join(map(literal, meanings.missing))})"
        positive = "0"
        if meanings.ones:
            positive = f"cast({label} in ({', '.join(map(literal, meanings.ones))}) as tinyint)"
        return f"case when {unknown} then null else {positive} end", meanings

    def _known(self, name: str, labels: Labels) -> str:
        """Write labels, NULL where a word for missing stands."""
        self._refuse_nested(name)
        text, kind = self.text(name), self.types[name]
        number = kind.startswith((*NUMBERS, "BOOLEAN"))
        there = []
        # Numbers need not be written as text to be compared with nothing.
        if labels.missing or not number:
            missing = ", ".join(map(literal, ["", *map(str, labels.missing)]))
            there.append(f"{text} not in ({missing})")
            # As for other labels: -1, "-1" and "-1.0" are one.
            numbers = [value for value in map(number_of, labels.missing) if value is not None]
            there += [f"try_cast({text} as double) is distinct from {literal(value)}"
                      for value in numbers]  # fmt: skip
        if kind in {"FLOAT", "DOUBLE"}:
            there.append(f"not isnan({quoted(name)})")
        value = quoted(name) if number else text
        return f"case when {' and '.join(there)} then {value} end" if there else value

    def _filled(self, name: str) -> str:
        """Write the letters of a column, NULL where there are none but blanks."""
        return f"nullif(trim({self.text(name)}), '')"

    def _numbers(self, name: str) -> str:
        if self._is_text(name):
            return f"cast({self._filled(name)} as double[])"
        return quoted(name)

    def _moments(self, name: str) -> str:
        """Write a column of dates or timestamps, also of those that are text."""
        self._refuse_nested(name)
        kind = self.types[name]
        if self._is_text(name):
            return _moment(self._filled(name))
        if not kind.startswith(("DATE", "TIMESTAMP")):
            raise InvalidForecastsError(
                f"column {name!r} must hold dates or timestamps", f"a column of type {kind}"
            )
        return quoted(name)

    def _is_text(self, name: str) -> bool:
        return self.types[name] in {"VARCHAR", "JSON"} or self.types[name].startswith("ENUM")

    def _test(self, name: str, kind: str) -> str:
        """Write the condition that a row fits a type; "" for rows that have a value."""
        text = f"nullif({self.text(name)}, '')"
        if kind == "":
            return f"{text} is not null"
        if kind == "NESTED":
            is_json = self.types[name] == "JSON"
            return f"json_type({quoted(name)}) in ('ARRAY', 'OBJECT')" if is_json else "false"
        if kind in TIMES:
            return TIMES[kind].format(text)
        # A JSON string is text, whatever it looks like; a flag of JSON is no string.
        own = "" if self.types[name] != "JSON" else f" and json_type({quoted(name)}) <> 'VARCHAR'"
        if kind == "BOOLEAN":
            return f"{text} in ('true', 'false'){own}"
        if kind == "BIGINT":
            return f"cast(try_cast({text} as bigint) as varchar) = {text}{own}"
        # Codes with leading zeros are no numbers, nor are whole ones that a double would round.
        return (
            f"isfinite(try_cast({text} as double)) and not contains({text}, '_') "
            f"and not regexp_matches({text}, '^[+-]?0[0-9]') "
            f"and (regexp_matches({text}, '[.eE]') or try_cast({text} as bigint) is not null){own}"
        )

    def _first(self, name: str, where: str) -> tuple[int, str] | None:
        """Find the first row for which a condition holds, counted from one, and its letters."""
        rows = f"select row_number() over () as row, * from {self.source}"  # noqa: S608
        found = first_row(
            self.connection,
            f"select row, {self.text(name)} from ({rows}) where {where} order by row limit 1",  # noqa: S608
        )
        return None if found is None else (int(found[0]), str(found[1]))

    def _refuse_text(self, name: str, number: str, what: str, hint: str = "") -> None:
        found = self._first(name, f"{self._filled(name)} is not null and {number} is null")
        if found is not None:
            row, example = found
            raise InvalidForecastsError(
                f"column {name!r} must hold {what}",
                f"text such as {example!r} in row {row}",
                hint or number_hint(example),
            )

    def _refuse_labels(self, name: str, known: str) -> None:
        number = f"try_cast({_truth(known)} as double)"
        if self._first(name, f"{known} is not null and {number} is null") is not None:
            query = f"select {known}, count(*) from {self.source} group by all order by all"  # noqa: S608
            counts = dict(self.connection.execute(f"{query} limit {MOST_LABELS}").fetchall())
            counts.pop(None, None)
            refuse_missing_words(counts, f"column {name!r}", None)
            raise InvalidForecastsError(
                f"column {name!r} must hold 0 and 1, or come with @pos_label",
                f"labels {shown(list(counts))}",
                "name the label of the positive outcome with @pos_label",
            )


def quoted(name: str) -> str:
    """Quote the name of a column."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Write a value of Python in SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"{value!r}::double"
    return str(value)


def _moment(text: str) -> str:
    """Write text as a time in UTC: as a bare timestamp DuckDB would ignore its offset."""
    return f"cast(cast({text} as timestamptz) as timestamp)"


def _truth(text: str) -> str:
    """Write true and false as 1 and 0, in any case; NULL where there are blanks only."""
    return f"case lower(trim({text})) when 'true' then '1' when 'false' then '0' else {text} end"

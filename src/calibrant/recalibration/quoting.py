"""Values, names and sentences as source text: one place for each kind of SQL, one for Python.

Labels and names of columns come from data, and sentences from stored calibrators: nothing of them
may end the literal, name or comment that it is written into.
"""

from __future__ import annotations

import datetime as dt
import keyword
import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

import numpy as np

from calibrant.errors import InvalidOptionError, mention

# Larger whole numbers are exact in no database.
LARGEST_WHOLE = 2**126
# Text that Spark would read in a way that depends on its settings.
NOT_PLAIN = frozenset("\\'$")
TEXT_HINT = "group by text or by numbers instead"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of SQL writes names and values."""

    name: str
    double: str = "double"
    text_type: str = "varchar"
    mark: str = '"'
    """Mark around names of columns."""
    least: str = "least"
    greatest: str = "greatest"
    nan: str = "isnan({})"
    """Condition that a double is NaN; empty where there is none."""
    moment: str = "{}"
    """A date or time as a number, the same in every time zone of the session."""
    typed: tuple[type, ...] = (dt.datetime, dt.date, dt.time, UUID)
    """Kinds of values, beyond numbers and text, that columns can have."""
    largest_whole: int = LARGEST_WHOLE

    def quoted(self, column: str) -> str:
        """Write the name of a column or table."""
        self._refuse_unwritable(column, "a name")
        if self.name == "spark" and "${" in column:
            raise InvalidOptionError(
                "a name must not hold ${, which Spark replaces by a setting", repr(column)
            )
        return self.mark + column.replace(self.mark, 2 * self.mark) + self.mark

    def within(self, text: str, low: float, high: float) -> str:
        """Write a value moved between two ends."""
        return f"{self.greatest}({self.least}({text}, {number_text(high)}), {number_text(low)})"

    def number(self, column: str) -> str:
        """Write a column as doubles."""
        return f"cast({self.quoted(column)} as {self.double})"

    def is_number(self, column: str) -> str:
        """Write a condition that a column of numbers holds one; NULL or false where it does not.

        SQLite keeps text in columns of any type, and casts text that is no number to 0. Compared
        with a number, text that is one counts as that number, and other text equals none.
        """
        if self.name != "sqlite":
            return f"{self.number(column)} is not null"
        name = self.quoted(column)
        return f"{name} = cast({name} as numeric)"

    def missing(self, column: str, *, numeric: bool) -> str:
        """Write a condition, never NULL, that a column has no value; NaN is no number."""
        name = self.quoted(column)
        if not numeric:
            return f"{name} is null"
        if not self.nan:
            return f"coalesce({self.is_number(column)}, 0) = 0"
        return f"({name} is null or {self.nan.format(self.number(column))})"

    def ordered(self, column: str, *, numeric: bool, moments: bool) -> str:
        """Write a column so that it compares with numbers or moments as it does in Python."""
        name = self.quoted(column)
        if moments:
            return self.moment.format(name)
        return f"cast({name} as numeric)" if numeric and self.name == "sqlite" else name

    def literal(self, value: object) -> str:
        """Write a value."""
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, int | np.integer):
            return self._whole(int(value))
        if isinstance(value, float | np.floating):
            return self._double(float(value))
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Decimal) and value.is_finite():
            return f"({value:f})"
        return self._typed(_microseconds(value) if isinstance(value, np.datetime64) else value)

    def text(self, value: str) -> str:
        """Write text."""
        self._refuse_unwritable(value, "a label")
        if self.name == "spark" and NOT_PLAIN & set(value):
            return f"cast(X'{value.encode().hex()}' as string)"
        escaped = value.replace("'", "''")
        if self.name == "postgres" and "\\" in value:  # the same whatever the server's settings
            doubled = escaped.replace("\\", "\\\\")
            return f"E'{doubled}'"
        return f"'{escaped}'"

    def comment(self, sentence: str) -> str:
        """Write a comment of one line."""
        return f"-- {one_line(sentence).replace('${', '$ {')}"

    def _whole(self, value: int) -> str:
        if abs(value) >= self.largest_whole:
            raise InvalidOptionError(
                f"{self.name} knows no whole numbers beyond {self.largest_whole:.3g}",
                f"{Decimal(value):.6g}",
                TEXT_HINT,
            )
        return f"({value})" if value < 0 else str(value)

    def _double(self, value: float) -> str:
        if math.isfinite(value):
            return number_text(value)
        if self.name == "sqlite" and not math.isnan(value):
            return "9e999" if value > 0 else "(-9e999)"
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"cast('{name}' as {self.double})"

    def _typed(self, value: object) -> str:
        zone = getattr(value, "tzinfo", None)
        if not isinstance(value, self.typed) or zone is not None:
            kind = f"{type(value).__name__} with a time zone" if zone else type(value).__name__
            raise InvalidOptionError(
                f"values of type {kind} cannot be written as SQL for {self.name}",
                repr(value)[:60],
                TEXT_HINT,
            )
        if isinstance(value, dt.datetime):
            return f"timestamp '{value.isoformat(sep=' ')}'"
        if isinstance(value, dt.date):
            return f"date '{value.isoformat()}'"
        if isinstance(value, dt.time):
            return f"time '{value.isoformat()}'"
        return f"cast('{value}' as uuid)"

    def _refuse_unwritable(self, value: str, what: str) -> None:
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise InvalidOptionError(
                f"{mention(what)} must be text that databases can hold", repr(value)[:60], TEXT_HINT
            )


DIALECTS = {
    kind.name: kind
    for kind in (
        Dialect("duckdb", moment="epoch_us({})"),
        Dialect(
            "postgres",
            double="double precision",
            text_type="text",
            nan="{} = 'NaN'",
            moment="extract(epoch from {})",
        ),
        # Spark knows no number of a time without a zone: it compares in the zone of the session.
        Dialect("spark", mark="`", text_type="string", typed=(dt.datetime, dt.date)),
        # A name in double quotes that is no column would be a text to SQLite.
        Dialect(
            "sqlite",
            mark="`",
            text_type="text",
            least="min",
            greatest="max",
            nan="",
            typed=(),
            largest_whole=2**63,
        ),
    )
}


def dialect_of(name: str) -> Dialect:
    """Find a kind of SQL by its name."""
    if name not in DIALECTS:
        raise InvalidOptionError(f"@dialect must be one of {', '.join(DIALECTS)}", repr(name))
    return DIALECTS[name]


def number_text(value: float) -> str:
    """Write a finite double; without an exponent DuckDB would take it for a decimal."""
    text = repr(float(value) + 0.0)  # -0.0 is 0.0
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text


def one_line(sentence: str) -> str:
    """Return a sentence without line breaks and characters that nobody can see."""
    return "".join(c for c in " ".join(sentence.split()) if c.isprintable())


def docstring(sentence: str) -> str:
    """Write a docstring of Python of one line."""
    escaped = one_line(sentence).replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""'


def python_literal(value: object) -> str:
    """Write a value as Python that needs no import."""
    if value is None or isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, float):
        return repr(value + 0.0) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, int) and abs(value) < LARGEST_WHOLE:
        return repr(value)
    if isinstance(value, tuple):
        return f"({''.join(f'{python_literal(part)}, ' for part in value).rstrip(' ')})"
    if isinstance(value, dict):
        pairs = (f"{python_literal(key)}: {python_literal(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    raise InvalidOptionError(
        f"values of type {type(value).__name__} cannot be written as Python",
        f"{value!r:.60}" if not isinstance(value, int) else f"{Decimal(value):.6g}",
        "write SQL or JSON",
    )


def python_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a function if Python takes it and the program does not use it."""
    if not name.isidentifier() or keyword.iskeyword(name) or name in taken:
        raise InvalidOptionError("name must be a free name of Python", repr(name))
    return name


def _microseconds(value: np.datetime64) -> object:
    """Return a date or time without loss; databases count microseconds."""
    if np.datetime_data(value.dtype)[0] in {"Y", "M", "W", "D"}:
        return value.astype("datetime64[D]").item()
    exact = value.astype("datetime64[us]")
    if exact != value:
        raise InvalidOptionError(
            "times in SQL must be whole microseconds", str(value), "round them before the fit"
        )
    return exact.item()

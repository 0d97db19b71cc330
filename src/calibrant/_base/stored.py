"""Checks of what was stored: JSON and tables that somebody may have changed on the way.

Every loader takes its data apart with these: a value that is missing, of another type, out of
range or not finite ends in one kind of error that says which.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

from calibrant.errors import (
    CalibrantError,
    InvalidStateError,
    ReadingError,
    mention,
    reading_failed,
)

# Nothing that is written here is larger.
MOST_CHARACTERS = 2**28
# Counts beyond this are not exact in doubles.
MOST_COUNTED = 2**53
# Values of JSON that JSON itself cannot write, by the name that stands before them.
TAGGED: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "float": (float, repr, float),
}


Kind = TypeVar("Kind")


class Stored:
    """A dictionary that was stored, read field by field."""

    __slots__ = ("data", "what")

    def __init__(self, data: object, what: str) -> None:
        if not isinstance(data, Mapping):
            raise InvalidStateError(f"{mention(what)} must be a dictionary", _shown(data))
        self.data, self.what = data, what

    def has(self, name: str) -> bool:
        """Whether a field is there."""
        return name in self.data

    def get(self, name: str) -> Any:
        """Return a field of any type."""
        if name not in self.data:
            raise InvalidStateError(f"{self.what} must have the field {name!r}")
        return self.data[name]

    def part(self, name: str) -> Stored:
        """Return a dictionary within."""
        return Stored(self.get(name), f"{name} of {self.what}")

    def text(self, name: str) -> str:
        """Return text."""
        return self._of(name, str, "text")

    def flag(self, name: str) -> bool:
        """Return True or False."""
        return self._of(name, bool, "true or false")

    def entries(self, name: str) -> list[Any]:
        """Return a list."""
        return self._of(name, list, "a list")

    def parts(self, name: str) -> list[Stored]:
        """Return a list of dictionaries."""
        what = f"an entry in {name} of {self.what}"
        return [Stored(entry, what) for entry in self.entries(name)]

    def choice(self, name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
        """Return one of a few words."""
        value = self.get(name)
        if not isinstance(value, str) or value not in known:
            raise InvalidStateError(
                f"{name} of {self.what} must be one of {', '.join(known)}", _shown(value)
            )
        return value

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number between two ends."""
        return number(self.get(name), f"{name} of {self.what}", low, high)

    def whole(self, name: str, low: int = 0, high: int = MOST_COUNTED) -> int:
        """Return a whole number between two ends."""
        return whole(self.get(name), f"{name} of {self.what}", low, high)

    def numbers(
        self,
        name: str,
        low: float = -math.inf,
        high: float = math.inf,
        shape: tuple[int, ...] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return finite numbers between two ends, one list of them or a table of some shape."""
        return numbers(self.get(name), f"{name} of {self.what}", low, high, shape)

    def require_schema(self, schema: int, hint: str = "") -> None:
        """Refuse another form than the one that is read."""
        if type(self.data.get("schema")) is not int or self.data["schema"] != schema:
            raise InvalidStateError(
                f"{self.what} must have schema {schema}", _shown(self.data.get("schema")), hint
            )

    def _of(self, name: str, kind: type[Kind], description: str) -> Kind:
        value = self.get(name)
        if not isinstance(value, kind):
            raise InvalidStateError(f"{name} of {self.what} must be {description}", _shown(value))
        return value


class Resumable:
    """What writes its whole state as JSON: pickled as that, and equal where that is the same."""

    def to_json(self) -> str:
        """Write the whole state; `from_json` carries on from it bit for bit."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Carry on from what `to_json` wrote."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[str], Self], tuple[str]]:
        return type(self).from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # the state changes


def parse(text: object, what: str, *, infinite: bool = False) -> Stored:
    """Read JSON, not too large, not too deep, without NaN, and without infinities unless asked."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise InvalidStateError(
            f"{mention(what)} must be JSON of at most 2**28 characters", _shown(text)
        )
    try:
        data = json.loads(text, parse_constant=_infinity if infinite else _refuse_constant)
    except RecursionError as error:
        raise InvalidStateError(f"{mention(what)} must not be nested so deeply") from error
    except ValueError as error:
        raise InvalidStateError(f"{mention(what)} must be JSON", str(error)) from error
    return Stored(data, what)


def load_json(source: str | Path | Mapping[str, Any], what: str) -> Stored:
    """Read plain data, JSON, or a file of JSON."""
    if isinstance(source, Mapping):
        return Stored(source, what)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return parse(source, what)
    return parse(load_text(source, what), what)


def load_text(source: str | Path, what: str) -> str:
    """Read a file of JSON, not too large."""
    try:
        path = Path(source)
        if path.stat().st_size > MOST_CHARACTERS:
            raise InvalidStateError(
                f"{mention(what)} must be JSON of at most 2**28 characters", str(source)
            )
        return path.read_text(encoding="utf-8")
    except (OSError, TypeError) as error:
        if isinstance(error, OSError) and reading_failed(error):
            raise ReadingError(f"{mention(what)} must be readable", str(error)) from error
        if isinstance(error, FileNotFoundError):
            raise InvalidStateError(f"{source}: no such file") from error
        raise InvalidStateError(f"{mention(what)} must be readable", str(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidStateError(
            f"{mention(what)} must be JSON", "a file that is no text"
        ) from error
    except CalibrantError:
        raise
    except ValueError as error:  # a path with a NUL
        raise InvalidStateError(f"{mention(what)} must be readable", str(error)) from error


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Turn a refusal of options or rows that were stored into one of what was stored."""
    try:
        yield
    except InvalidStateError:
        raise
    except (
        CalibrantError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError
    ) as error:  # fmt: skip
        raise InvalidStateError(f"{mention(what)} must be what was written", str(error)) from error


def number(value: object, what: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number between two ends."""
    if type(value) in {int, float}:
        try:
            found = float(value)  # type: ignore[arg-type]
        except OverflowError:
            found = math.nan
        if math.isfinite(found) and low <= found <= high:
            return found
    raise InvalidStateError(f"{mention(what)} must be a number{_between(low, high)}", _shown(value))


def whole(value: object, what: str, low: int = 0, high: int = MOST_COUNTED) -> int:
    """Return a whole number between two ends."""
    if type(value) is int and low <= value <= high:
        return value
    raise InvalidStateError(
        f"{mention(what)} must be a whole number{_between(low, high)}", _shown(value)
    )


def numbers(
    value: object,
    what: str,
    low: float = -math.inf,
    high: float = math.inf,
    shape: tuple[int, ...] | None = None,
) -> npt.NDArray[np.float64]:
    """Return finite numbers between two ends, one list of them or a table of some shape."""
    try:
        found = np.array(value)
    except (ValueError, OverflowError):
        found = np.empty(0, dtype=object)
    sound = (
        isinstance(value, list)
        and (found.ndim == 1 if shape is None else found.shape == shape)
        and (found.size == 0 or found.dtype.kind in "iuf")
    )
    if sound:
        found = found.astype(np.float64)
        sound = bool((np.isfinite(found) & (found >= low) & (found <= high)).all())
    if not sound:
        raise InvalidStateError(
            f"{mention(what)} must hold numbers{_between(low, high)}", _shown(value)
        )
    return found


def plain_value(value: object) -> Any:
    """Return a label as something that JSON can write; `value_from` takes it back."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for name, (kind, write, _) in TAGGED.items():
        if isinstance(value, kind):
            return {name: write(value)}
    raise InvalidStateError(
        f"labels of type {type(value).__name__} cannot be stored",
        _shown(value),
        "group by text or by numbers instead",
    )


def value_from(data: object, what: str) -> Any:
    """Take a label back."""
    if isinstance(data, bool | int | float | str):
        return data
    entry = Stored(data, what)
    if len(entry.data) == 1:
        (name,) = entry.data
        if name in TAGGED:
            try:
                return TAGGED[name][2](entry.text(name))
            except (ValueError, InvalidOperation) as error:
                raise InvalidStateError(
                    f"{mention(what)} must be a {name}", _shown(data)
                ) from error
    raise InvalidStateError(f"{mention(what)} must be a value of a column", _shown(data))


def _between(low: float, high: float) -> str:
    if low == -math.inf and high == math.inf:
        return ""
    if high == math.inf:
        return f" of at least {low:g}"
    return f" from {low:g} to {high:g}"


def _infinity(name: str) -> float:
    return _refuse_constant(name) if name == "NaN" else float(name)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deep, or a number of too many digits
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."

"""Times: numbers, dates and timestamps, those with a zone as moments in UTC."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.data.input import DROP, as_array, is_missing, read_column
from calibrant.errors import InvalidForecastsError

Times = npt.NDArray[Any]
NOT_A_TIME = np.datetime64("NaT", "us")
# Numbers beyond this count nothing that has passed.
LARGEST = 1e100
# A whole date, perhaps with a time and the offset of its zone: "2026-01" may be anything.
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?")

ZONE = re.compile(r":\d\d([.,]\d+)?(Z|[+-]\d\d(:?\d\d)?)\s*$")


def checked_times(time: object, count: int) -> Times:
    """Refuse times that are missing, infinite, or neither numbers nor dates."""
    plain = read_dates(read_column(time, "time", count))
    if plain.dtype.kind not in "iufM":
        raise InvalidForecastsError(
            "@time must hold one number, date or timestamp per row",
            f"values like {plain.ravel()[:1].tolist()[0]!r}" if plain.size else "none",
            "write dates as 2026-01-31, times as 2026-01-31T08:00",
        )
    moments = plain.astype("datetime64[us]" if plain.dtype.kind == "M" else np.float64)
    missing = ~np.isfinite(moments)
    if plain.dtype.kind != "M" and (np.abs(moments[~missing]) > LARGEST).any():
        raise InvalidForecastsError(
            f"@time must hold numbers of at most {LARGEST:g}",
            f"{np.abs(moments[~missing]).max():g}",
            "write dates as 2026-01-31, times as 2026-01-31T08:00",
        )
    if missing.any():
        raise InvalidForecastsError(
            "@time must not hold missing values", f"{missing.sum()} of {missing.size}", DROP
        )
    return moments


def read_dates(time: Times) -> Times:
    """Read dates that are text or objects, as files may hold them; leave all else alone."""
    moments = moments_of(time)
    if moments is not None or time.dtype.kind not in "OU":
        return time if moments is None else moments
    try:
        return time.astype("datetime64[us]")  # years and months
    except ValueError:
        return time


def moments_of(values: Times) -> Times | None:
    """Dates and timestamps, as objects or text, in UTC; None if other values are among them."""
    if values.dtype.kind == "M":
        return values
    if values.dtype.kind not in "OUT" or values.ndim != 1:
        return None
    found: dict[Any, Any] = {}
    try:
        for value in values.tolist():
            if value not in found:
                found[value] = _moment(value)
                if found[value] is None:
                    return None
        moments = [found[value] for value in values.tolist()]
    except (TypeError, ValueError, OverflowError):  # lists, or a thirteenth month
        return None
    if all(moment is NOT_A_TIME for moment in found.values()):
        return None
    return np.array(moments, dtype="datetime64[us]")


def have_zone(times: object) -> bool:
    """Whether any time comes with a zone: the type of a column says so, or its values do."""
    kind = getattr(times, "dtype", None)
    if getattr(kind, "tz", None) is not None or getattr(kind, "time_zone", None) is not None:
        return True
    values = as_array(times, "time")
    if values.dtype.kind not in "OUT":
        return getattr(getattr(times, "type", None), "tz", None) is not None  # of Arrow
    return any(
        bool(ZONE.search(value)) if isinstance(value, str) else getattr(value, "tzinfo", None)
        for value in values.ravel().tolist()
    )


def _moment(value: object) -> Any:
    """One date or timestamp without its zone, in UTC; None for anything else."""
    if isinstance(value, str):
        text = value.strip()
        if text and DATE.fullmatch(text) is None:
            return None
        value = dt.datetime.fromisoformat(text) if text else None
    if is_missing(value):
        return NOT_A_TIME
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value if isinstance(value, dt.date | np.datetime64) else None


def time_text(moment: Any) -> str:
    """Write a time: an ISO date or timestamp, or the number."""
    if isinstance(moment, np.datetime64):
        return str(np.datetime_as_string(moment, unit="auto"))
    return f"{moment:.12g}"

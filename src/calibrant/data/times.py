"""When outcomes were due: numbers, dates and timestamps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError

Times = npt.NDArray[Any]


def checked_times(time: Times, count: int) -> Times:
    """Refuse times that are missing, infinite, or neither numbers nor dates."""
    time = read_dates(time)
    plain = np.asarray(np.ma.getdata(time))
    if plain.dtype.kind not in "iufM" or plain.shape != (count,):
        raise InvalidForecastsError(
            "time must hold one number, date or timestamp per row",
            f"values like {plain.ravel()[0]!r}" if plain.size else "none",
            "write dates as 2026-01-31, times as 2026-01-31T08:00",
        )
    moments = plain.astype("datetime64[us]" if plain.dtype.kind == "M" else np.float64)
    missing = np.ma.getmaskarray(time) | ~np.isfinite(moments)
    if missing.any():
        raise InvalidForecastsError(
            "time must not hold missing values", f"{missing.sum()} of {missing.size}"
        )
    return moments


def read_dates(time: Times) -> Times:
    """Read dates that are text, as CSV and Parquet files may hold them; leave all else alone."""
    if time.dtype.kind not in "OU":
        return time
    try:
        return time.astype("datetime64[us]")
    except ValueError:
        return time


def time_text(moment: Any) -> str:
    """Write a time: an ISO date or timestamp, or the number."""
    if isinstance(moment, np.datetime64):
        return str(np.datetime_as_string(moment, unit="auto"))
    return f"{moment:.12g}"

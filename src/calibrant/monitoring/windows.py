"""Stretches of time, for display: how many forecasts, what they said, what happened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.times import Times, time_text
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures import smooth_calibration_error

MOST_WINDOWS = 10_000
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# A Monday: windows of a week begin on Mondays.
ORIGIN = np.datetime64("1970-01-05", "us")


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in one stretch of time; None where no row fell into it."""

    start: str
    end: str
    rows: int
    mean_prediction: float | None
    base_rate: float | None
    smooth_error: float | None
    noise: float | None = None
    """Standard deviation of the base rate if every outcome were a coin with the chance forecast."""


def windows_of(
    time: Times, prediction: Floats, outcome: npt.NDArray[np.uint8], length: float | None
) -> tuple[Window, ...]:
    """Cut rows in the order of time at multiples of a length."""
    if length is None:
        return (_window(time_text(time[0]), time_text(time[-1]), prediction, outcome),)
    since = (time - ORIGIN).astype(np.int64) if time.dtype.kind == "M" else time
    steps = np.floor_divide(since, length)
    first, count = steps[0], steps[-1] - steps[0] + 1
    if count > MOST_WINDOWS:
        raise InvalidOptionError(
            f"there must be at most {MOST_WINDOWS} windows", f"{count:.0f}", "widen the window"
        )
    cuts = np.searchsorted(steps - first, np.arange(count + 1))
    return tuple(
        _window(
            _edge_text(time, (first + k) * length),
            _edge_text(time, (first + k + 1) * length),
            prediction[start:stop],
            outcome[start:stop],
        )
        for k, (start, stop) in enumerate(pairwise(cuts))
    )


def _window(start: str, end: str, prediction: Floats, outcome: npt.NDArray[np.uint8]) -> Window:
    if not prediction.size:
        return Window(start, end, 0, None, None, None)
    joint = Joint.from_samples(outcome, prediction)
    return Window(
        start,
        end,
        joint.row_count,
        joint.mean_prediction,
        joint.base_rate,
        float(smooth_calibration_error(joint)),
        float(np.sqrt(prediction @ (1 - prediction)) / prediction.size),
    )


def window_length(window: str, *, dated: bool) -> float:
    """Length of windows, in microseconds for dates."""
    found = re.fullmatch(r"(\d+\.?\d*)([smhdw]?)", window.strip())
    if found is None or float(found[1]) <= 0 or dated != bool(found[2]):
        wanted = (
            "a number with s, m, h, d or w, like 7d" if dated else "a positive number, like 100"
        )
        raise InvalidOptionError(f"window must be {wanted}", repr(window))
    if not dated:
        return float(found[1])
    return max(1, round(float(found[1]) * SECONDS[found[2]] * 1e6))


def _edge_text(time: Times, since: float) -> str:
    if time.dtype.kind == "M":
        return time_text(ORIGIN + np.timedelta64(int(since), "us"))
    return time_text(since)

"""Stretches of time, for display: how many forecasts, their mean, and the observed rate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.data.times import Times, time_text
from calibrant.errors import InvalidOptionError
from calibrant.inference import Statistic
from calibrant.joint import Joint
from calibrant.joint.draws import draw_positives
from calibrant.measures import smooth_calibration_error

MOST_WINDOWS = 10_000
# Redraws of the outcomes of a window, on so many levels at most.
DRAWS, CELLS = 39, 2**10
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
    """Standard deviation of the base rate if every outcome had the chance forecast."""
    noise_floor: float | None = None
    """Mean smooth error of perfect forecasts on these rows."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows so far; rows may still join the last of them."""

    shown: tuple[Window, ...]
    step: int
    """Position of the last window, in lengths from the origin."""
    last: Joint
    """Rows of the last window."""


def windows_of(
    time: Times,
    prediction: Floats,
    outcome: npt.NDArray[np.uint8],
    length: float | None,
    before: Windows | None = None,
) -> Windows:
    """Cut rows in the order of time at multiples of a length; they may follow other windows."""
    if length is None:
        whole = Joint.from_samples(outcome, prediction)
        return Windows((_window(time_text(time[0]), time_text(time[-1]), whole),), 0, whole)
    since = (time - ORIGIN).astype(np.int64) if time.dtype.kind == "M" else time
    steps = np.floor_divide(since, length)
    first = steps[0] if before is None else before.step
    count = steps[-1] - first + 1
    shown = [] if before is None else list(before.shown[:-1])
    if count + len(shown) > MOST_WINDOWS:
        raise InvalidOptionError(
            f"there must be at most {MOST_WINDOWS} windows",
            f"{count + len(shown):.0f}",
            "widen the window",
        )
    joint = None if before is None else before.last
    cuts = np.searchsorted(steps - first, np.arange(count + 1))
    for k, (start, stop) in enumerate(pairwise(cuts)):
        joint = joint if before is not None and k == 0 else None
        if stop > start:
            found = Joint.from_samples(outcome[start:stop], prediction[start:stop])
            joint = found if joint is None else joint + found
        start_text, end_text = (_edge_text(time, (first + at) * length) for at in (k, k + 1))
        shown.append(_window(start_text, end_text, joint))
    assert joint is not None  # noqa: S101  # the last window holds the last row
    return Windows(tuple(shown), int(steps[-1]), joint)


def _window(start: str, end: str, joint: Joint | None) -> Window:
    if joint is None:
        return Window(start, end, 0, None, None, None)
    variance = float(joint.rows @ (joint.prediction * (1 - joint.prediction)))
    return Window(
        start,
        end,
        joint.row_count,
        joint.mean_prediction,
        joint.base_rate,
        float(smooth_calibration_error(joint)),
        float(np.sqrt(variance)) / joint.row_count,
        _noise_floor(joint),
    )


def _noise_floor(joint: Joint) -> float:
    """Mean smooth error if every outcome had the chance forecast, to a digit or two."""
    cells = joint if len(joint) <= CELLS else joint.rounded(CELLS)
    positives = draw_positives(cells, np.random.default_rng(0), DRAWS)
    residual_mass = (positives - cells.weight * cells.prediction) / cells.total
    return float(Statistic.of(smooth_calibration_error).values(cells, residual_mass).mean())


def window_length(window: str, *, dated: bool) -> float:
    """Length of windows, in microseconds for dates."""
    found = re.fullmatch(r"(\d+\.?\d*)([smhdw]?)", window.strip())
    if found is None or float(found[1]) <= 0 or dated != bool(found[2]):
        wanted = (
            "a number with s, m, h, d or w, like 7d" if dated else "a positive number, like 100"
        )
        hint = "" if dated else "these times are numbers: write dates as 2024-01-15"
        raise InvalidOptionError(f"@window must be {wanted}", repr(window), hint)
    if not dated:
        return float(found[1])
    return max(1, round(float(found[1]) * SECONDS[found[2]] * 1e6))


def _edge_text(time: Times, since: float) -> str:
    if time.dtype.kind == "M":
        return time_text(ORIGIN + np.timedelta64(int(since), "us"))
    return time_text(since)

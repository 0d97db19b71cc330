"""Axes for probabilities: scales, limits, ticks, a panel below, words that fit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.words import LEAST_WRITTEN, MOST_WRITTEN, percent_text
from calibrant.joint import Joint
from calibrant.plots.display import chosen
from calibrant.plots.style import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCALES = ("auto", "linear", "log", "logit")
# Events as rare as this, or forecasts that mostly are, ask for a stretched axis ...
RARE = 0.05
# ... if the odds of most forecasts differ by more than this factor.
WIDE = 10.0
# Rows at each end that are not counted as most.
FAR = 0.03
# An axis of rates is at least so long, for its numbers to be read.
LEAST_AXIS = 1e-6
# Labels of ticks have at most so many letters in all.
LETTERS = 44
# A stretched axis ends where one event would be expected in so many samples like this one ...
SAMPLES = 10
# ... but not before this, and it spans odds or probabilities that differ by a factor of ten.
NEAREST, NARROWEST = 1e-3, 10.0
PANEL_SHARE = 0.24
# A legend beside the axes, and the letters of its lines.
OUTSIDE, LETTERS_OUTSIDE = "calibrant.outside", 26


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of probabilities on a scale."""

    scale: str
    low: float
    high: float

    def clipped(self, values: object) -> Floats:
        """Clip values that a stretched scale cannot show to its ends."""
        at = np.asarray(values, dtype=np.float64)
        return at if self.scale == "linear" else np.clip(at, self.low, self.high)

    def hidden(self, *values: Floats) -> npt.NDArray[np.bool_]:
        """Whether points had to be clipped to an end."""
        outside = [self.clipped(part) != part for part in values]
        return np.asarray(np.any(outside, axis=0))

    def share(self, values: object) -> Floats:
        """Where values stand on the way from low to high, from 0 to 1; those beyond at an end."""
        at = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        ends = _stretched(self.scale, np.array([self.low, self.high]))
        return np.asarray((_stretched(self.scale, at) - ends[0]) / (ends[1] - ends[0]))

    def even(self, count: int) -> Floats:
        """Points at even steps of the scale."""
        ends = _stretched(self.scale, np.array([self.low, self.high]))
        points = _restored(self.scale, np.linspace(ends[0], ends[1], count))
        points[[0, -1]] = self.low, self.high
        return points

    def ticks(self) -> list[float]:
        """Round numbers within, on a stretched scale; few enough to read."""
        found: list[float] = []
        for candidates in _round_numbers(self.scale):
            inside = [value for value in candidates if self.low <= value <= self.high]
            if sum(len(percent_text(value)) + 2 for value in inside) > LETTERS:
                break
            found = inside
        return found

    def united(self, ax: Axes) -> Span:
        """Limits that also hold what axes show already, on their scale."""
        low, high = ax.get_xlim()
        scale = ax.get_xscale()
        if scale != "linear" and (self.low <= 0 or self.high >= 1):
            return Span(scale, low, high)
        return Span(scale, min(low, self.low), max(high, self.high))

    def show(self, ax: Axes, which: str) -> None:
        """Give axes ("x", "y" or "xy") this scale, these limits, and ticks in plain numbers."""
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        for name in which:
            getattr(ax, f"set_{name}scale")(self.scale)
            getattr(ax, f"set_{name}lim")(self.low, self.high)
            axis = getattr(ax, f"{name}axis")
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
            if self.scale != "linear":
                axis.set_major_locator(FixedLocator(self.ticks()))


def choose_scale(joint: Joint, scale: str) -> str:
    """Choose "log" where events are rare, "logit" where they are nearly sure, else "linear"."""
    chosen("scale", scale, SCALES)
    if scale != "auto":
        return scale
    rare, sure = (
        0 < base < RARE or float(joint.mass[away < RARE].sum()) > 0.5
        for base, away in (
            (joint.base_rate, joint.prediction),
            (1 - joint.base_rate, 1 - joint.prediction),
        )
    )
    low, high = _most(joint)
    if not (rare or sure) or high * (1 - low) < WIDE * low * (1 - high):
        return "linear"
    return "log" if rare else "logit"


def _most(joint: Joint) -> tuple[float, float]:
    """Find the ends of the predictions of most rows, leaving out 0 and 1."""
    inside = (joint.prediction > 0) & (joint.prediction < 1)
    if not inside.any():
        return 0.5, 0.5
    share = np.cumsum(joint.weight[inside])
    ends = np.searchsorted(share, np.array([FAR, 1 - FAR]) * share[-1])
    low, high = joint.prediction[inside][np.minimum(ends, share.size - 1)]
    return float(low), float(high)


def span_of(scale: str, joint: Joint, others: Iterable[Floats] = ()) -> Span:
    """Limits that show all predictions and other values, with a small margin.

    A stretched scale leaves out the far ends of the predictions, and ends before 0 and 1: where the
    number of rows says nothing any more, or where probabilities are not written any more.
    """
    at = np.concatenate([joint.prediction, *others])
    if scale != "linear":
        low, high = _most(joint)
        others_shown = np.concatenate([[low, high], *others])
        at = others_shown if scale == "logit" else np.append(others_shown, joint.prediction[-1])
        at = at[(at > 0) & ((at < 1) | (scale == "log"))]
        at = np.clip(at, *_ends(scale, joint.row_count))
    at = at[np.isfinite(at)]
    ends = _stretched(scale, np.array([at.min(), at.max()]))
    if scale != "linear":
        wider = max(0.0, np.log(NARROWEST) - (ends[1] - ends[0])) / 2
        ends += np.array([-wider, wider])
    margin = 0.04 * max(ends[1] - ends[0], 0.05 if scale == "linear" else 1.0)
    low, high = _restored(scale, ends + np.array([-margin, margin]))
    if scale == "linear":
        low, high = max(low, -0.03), min(high, 1.03)
    return Span(scale, float(low), float(min(high, 1.1)))


def _ends(scale: str, rows: float) -> tuple[float, float]:
    """Find the lowest and highest probability that a stretched axis of so many rows shows."""
    near = min(1 / (SAMPLES * max(rows, 1)), NEAREST)
    high = 1.0 if scale == "log" else min(1 - near, MOST_WRITTEN)
    return max(near, LEAST_WRITTEN), high


def _stretched(scale: str, values: Floats) -> Floats:
    if scale == "linear":
        return values
    return np.log(values) if scale == "log" else np.log(values / (1 - values))


def _restored(scale: str, values: Floats) -> Floats:
    if scale == "linear":
        return values.copy()
    return np.exp(values) if scale == "log" else 1 / (1 + np.exp(-values))


def _round_numbers(scale: str) -> Iterable[list[float]]:
    """Series of round numbers, from few to many."""
    for step in (4, 3, 2, 1):
        decades = [10.0**power for power in range(-18, 1) if power % step == 0]
        yield decades if scale == "log" else _mirrored(decades)
    decades = [10.0**power for power in range(-9, 1)]
    for digits in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        finer = sorted(float(f"{d * ten:.3g}") for d in digits for ten in decades)
        yield finer if scale == "log" else _mirrored(finer)


def _mirrored(values: list[float]) -> list[float]:
    below = [value for value in values if value < 0.5]
    return [*below, 0.5, *(1 - value for value in reversed(below))]


def plain_counts(ax: Axes) -> None:
    """Write counts on the y axis in plain numbers, and few of them."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.yaxis.set_major_locator(MaxNLocator(2, integer=True, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}".replace(",", " ")))


def panel_below(ax: Axes, label: str, share: float = PANEL_SHARE) -> Axes:
    """Give the lower part of the axes to further ones; find them if they are there."""
    for sibling in ax.get_shared_x_axes().get_siblings(ax):
        if sibling.get_label() == label:
            return cast("Axes", sibling)
    figure: Any = ax.figure
    cell = ax.get_subplotspec()
    if cell is None:
        box = ax.get_position()
        lower = [box.x0, box.y0, box.width, box.height * share * 0.8]
        ax.set_position((box.x0, box.y0 + box.height * share, box.width, box.height * (1 - share)))
        panel: Axes = figure.add_axes(lower, sharex=ax, label=label)
    else:
        rows = cell.subgridspec(2, 1, height_ratios=[1 - share, share])
        ax.set_subplotspec(rows[0])
        panel = figure.add_subplot(rows[1], sharex=ax, label=label)
    ax.tick_params(labelbottom=False)
    ax.set_xlabel("")
    return panel


def width_of(ax: Axes) -> float:
    """Width in inches of axes, about: a layout may still change it."""
    figure: Any = ax.get_figure(root=True)
    return float(ax.get_position(original=True).width * figure.get_figwidth())


def wrapped(ax: Axes, text: str, size: float = 9.0) -> str:
    """Break text into lines that fit above the axes; a letter is about half as wide as high."""
    return textwrap.fill(text, max(20, int(width_of(ax) * 72 / (0.6 * size))))


def legend(ax: Axes, *, outside: bool = False) -> None:
    """Put a legend beside the axes, or where it hides least, and keep it readable where it does.

    One that stands beside them stays there.
    """
    existing = ax.get_legend()
    if not outside and (existing is None or existing.get_gid() != OUTSIDE):
        ax.legend(loc="best", frameon=True, facecolor=PAPER, edgecolor="none", framealpha=0.8,
                  borderpad=0.2)  # fmt: skip
        return
    handles, labels = ax.get_legend_handles_labels()
    lines = [textwrap.fill(label, LETTERS_OUTSIDE) for label in labels]
    ax.legend(
        handles, lines, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0,
        handlelength=3,
    ).set_gid(OUTSIDE)  # fmt: skip

"""Numbers of rows: histograms below a picture, and what they say about frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.arrays import Floats
from calibrant.inference import clopper_pearson
from calibrant.joint import Joint
from calibrant.plots.axes import Span, plain_counts
from calibrant.plots.display import Columns
from calibrant.pooling import pooling_at, quantile_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_VALUES = 30
"""Up to so many distinct predictions are shown one by one."""
BARS, DOTS = 50, 10
# Intervals of dots with a smaller share of the rows may reach beyond the axes.
SMALL_DOT = 0.01
CLUSTERED = "rows depend on each other"


def histogram(joint: Joint, span: Span) -> Columns:
    """Count rows per stretch of the axis, or per prediction if there are few."""
    if len(joint) <= FEW_VALUES:
        return {"low": joint.prediction, "high": joint.prediction, "rows": joint.rows}
    edges = span.even(BARS + 1)
    bar = np.searchsorted(edges[1:-1], joint.prediction, side="right")
    # The outer bars also hold what lies beyond the axis.
    edges[0], edges[-1] = min(edges[0], joint.prediction[0]), max(edges[-1], joint.prediction[-1])
    return {"low": edges[:-1], "high": edges[1:], "rows": np.bincount(bar, joint.rows, BARS)}


def draw_histogram(ax: Axes, counts: Columns, span: Span, colour: str) -> None:
    """Draw counts on a panel whose x axis is that of the main picture."""
    low, high, rows = counts["low"], counts["high"], counts["rows"]
    if np.array_equal(low, high):
        ax.vlines(span.place(low), 0, rows, color=colour, lw=3)
    else:
        ax.stairs(rows, span.place(np.append(low, high[-1])), fill=True, color=colour, lw=0)
    ax.set(ylim=(0, max(ax.get_ylim()[1], 1.15 * float(rows.max()))), ylabel="rows")
    plain_counts(ax)


def frequency_limits(
    joint: Joint, confidence: float, *, clustered: bool
) -> tuple[tuple[Floats, Floats], tuple[str, ...]]:
    """Limits for the chance of each level by itself, and what to know about them.

    Clopper and Pearson's limits; rows of different weight count as the effective number of equal
    ones (Korn and Graubard 1998), which is approximate. NaN where nothing valid is known.
    """
    unknown = np.full(len(joint), np.nan)
    if not joint.binary:
        return (unknown, unknown), ("No intervals: outcomes are means, not 0 or 1",)
    if clustered:
        return (unknown, unknown), (f"No intervals of dots: {CLUSTERED}",)
    effective = joint.weight**2 / joint.weight_squares
    weighted = not np.allclose(effective, joint.rows, rtol=1e-9)
    limits = clopper_pearson(joint.outcome * effective, effective, (1 - confidence) / 2)
    return limits, ("Intervals by effective numbers of rows",) if weighted else ()


def frequency_dots(
    joint: Joint, confidence: float, *, clustered: bool
) -> tuple[Columns, tuple[str, ...]]:
    """Group neighbouring forecasts, with intervals, or take every forecast if they are few."""
    few = len(joint) <= FEW_VALUES
    pools = pooling_at(joint, np.arange(len(joint))) if few else quantile_bins(joint, DOTS)
    limits, notes = frequency_limits(pools.joint, confidence, clustered=clustered)
    return {**pools.table, "interval_low": limits[0], "interval_high": limits[1]}, notes


def seen_frequencies(dots: Columns) -> list[Floats]:
    """Frequencies that the axes must show."""
    large = dots["rows"] >= SMALL_DOT * dots["rows"].sum()
    return [dots["outcome"], dots["interval_low"][large], dots["interval_high"][large]]

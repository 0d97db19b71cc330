"""Draw the picture of the guide to distances: who may move, and what that costs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import calibrant as cal
from calibrant.plots import PALETTE

INK, BLUE, RED, GREY = PALETTE["ink"], PALETTE["accent"], PALETTE["warning"], PALETTE["muted"]
LOW, HIGH = 0.375, 0.625
STEP = 0.09
BESIDE = 0.012
"""Rows of two groups that come to the same forecast are drawn side by side."""


def stack(axes: Axes, at: float, outcomes: list[int], bottom: float = 0.0) -> None:
    """One dot per row, filled for outcome 1."""
    height = bottom + STEP * np.arange(len(outcomes))
    face = [BLUE if outcome else "white" for outcome in outcomes]
    axes.scatter(np.full(len(outcomes), at), height, s=70, c=face, edgecolors=BLUE, zorder=3)


def arrow(axes: Axes, start: float, end: float, height: float) -> None:
    style = {"arrowstyle": "->", "color": RED, "lw": 1.5, "shrinkA": 6, "shrinkB": 6}
    axes.annotate("", (end, height), (start, height), arrowprops=style)


def scene(axes: Axes, title: str, cost: str) -> None:
    axes.set(xlim=(0.28, 0.72), ylim=(-0.08, 1.25), yticks=[], xticks=[LOW, 0.5, HIGH])
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.text(0.5, 1.12, cost, ha="center", color=RED)
    axes.spines[["top", "right", "left"]].set_visible(False)


def curve(axes: Axes) -> None:
    """Lower against upper distance of two fair coins at 1/2 -+ d."""
    offset = np.linspace(0.002, 0.2, 12)
    pairs = [
        (cal.lower_distance_to_calibration(joint), cal.upper_distance_to_calibration(joint))
        for joint in (cal.Joint.from_counts([0.5 - d, 0.5 + d], [2, 2], [1, 1]) for d in offset)
    ]
    lower, upper = np.array(pairs, dtype=float).T
    axes.plot(lower, upper, "o-", color=BLUE, ms=4)
    axes.plot([0, 0.06], [0, 0.06], color=GREY)
    axes.text(0.035, 0.026, "equal", color=GREY)
    axes.annotate(
        "two forecasts near 1/2, both wrong:\nupper about the root of half the lower",
        (lower[7], upper[7]),
        (0.012, 0.21),
        color=BLUE,
        arrowprops={"arrowstyle": "-", "color": BLUE},
    )
    axes.set(xlim=(0, 0.06), ylim=(0, 0.24), xlabel="lower distance", ylabel="upper distance")
    axes.set_title("How far apart they can be", loc="left", fontsize=11, color=INK)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 10, "text.color": INK}
    joint = cal.Joint.from_counts([LOW, HIGH], [10, 10], [5, 5])
    lower, upper = (
        cal.lower_distance_to_calibration(joint),
        cal.upper_distance_to_calibration(joint),
    )
    figure, (told, parted, together, both) = plt.subplots(
        1, 4, figsize=(13, 3.6), layout="constrained", width_ratios=[1, 1, 1, 1.15]
    )
    coins = [0] * 5 + [1] * 5
    scene(told, "Forecasts and outcomes", "")
    stack(told, LOW, coins)
    stack(told, HIGH, coins)
    told.text(0.5, 1.12, "filled: outcome 1", ha="center", color=BLUE)

    scene(parted, "Some rows may move alone", f"lower distance {lower:.3f}")
    stack(parted, LOW, [0] * 5 + [1] * 3)
    stack(parted, HIGH, [0] * 3 + [1] * 5)
    stack(parted, 0.5, [0, 0, 1, 1], bottom=4 * STEP)
    for k in (4, 5):
        arrow(parted, HIGH, 0.5, k * STEP)
        arrow(parted, LOW, 0.5, (k + 2) * STEP)

    scene(together, "Equal forecasts move together", f"upper distance {upper:.3f}")
    for start, end in ((LOW, 0.5 - BESIDE), (HIGH, 0.5 + BESIDE)):
        stack(together, end, coins)
        for k in range(10):
            arrow(together, start, end, k * STEP)
    curve(both)
    figure.savefig(Path(__file__).with_name("distances.png"), dpi=110)


if __name__ == "__main__":
    main()

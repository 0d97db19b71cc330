"""Draw the picture of how the smooth error is solved: the flow, a value function, the test."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import calibrant as cal
from calibrant.plots import PALETTE

Floats = npt.NDArray[np.float64]

INK, BLUE, RED, GREY = PALETTE["ink"], PALETTE["accent"], PALETTE["warning"], PALETTE["muted"]
STEEP = 5.0
JOINT = cal.Joint.from_counts(
    [0.08, 0.18, 0.28, 0.36, 0.48, 0.6, 0.7, 0.8, 0.92], [20] * 9, [7, 1, 8, 9, 5, 8, 17, 12, 20]
)
SHOWN = 6
"""The step whose value function is drawn."""


def clipped(at: Floats, height: Floats) -> Floats:
    """Least height + distance over all places: the slopes are clipped to [-1, 1]."""
    from_left = np.minimum.accumulate(height - at) + at
    from_right = np.minimum.accumulate((height + at)[::-1])[::-1] - at
    return np.minimum(from_left, from_right)


class Programme:
    """The dynamic programme on a fine grid: slow and plain."""

    def __init__(self) -> None:
        charge = JOINT.mass * JOINT.residual
        self.sums = np.cumsum(charge)
        self.gaps = STEEP * np.diff(JOINT.prediction)
        ends = np.append(self.sums, 0.0)
        places = np.append(np.linspace(ends.min() - 0.02, ends.max() + 0.02, 4001), ends)
        self.at = np.unique(places)
        self.before = [np.abs(self.at)]
        self.added: list[Floats] = []
        for gap, total in zip(self.gaps, self.sums, strict=False):
            self.added.append(self.before[-1] + gap * np.abs(self.at - total))
            self.before.append(clipped(self.at, self.added[-1]))
        self.flow = self._back()

    def _back(self) -> Floats:
        flow = [self.sums[-1]]
        for height in reversed(self.added):
            flow.append(self.at[np.argmin(height + np.abs(self.at - flow[-1]))])
        return np.array(flow[::-1])

    @property
    def value(self) -> float:
        """What the flow costs: the smooth error."""
        jumps = np.abs(np.diff(self.flow, prepend=0.0)).sum()
        return float(jumps + self.gaps @ np.abs(self.sums[:-1] - self.flow[:-1]))


def draw_flow(axes: Axes, found: Programme) -> None:
    """Draw the running sum, the flow that follows it with few jumps, and what both cost."""
    place = np.concatenate([[0.0], JOINT.prediction, [1.0]])
    total, flow = (np.concatenate([[0.0], s, s[-1:]]) for s in (found.sums, found.flow))
    axes.step(place, total, where="post", color=GREY, lw=1.5)
    axes.step(place, flow, where="post", color=BLUE, lw=2.5)
    axes.fill_between(place, total, flow, step="post", color=GREY, alpha=0.3, lw=0)
    for at, low, high in zip(JOINT.prediction, flow, flow[1:], strict=False):
        if abs(high - low) > 1e-6:
            axes.plot([at, at], [low, high], color=RED, lw=3.5, solid_capstyle="butt")
    axes.text(0.02, 0.052, "S, the running sum of residuals", color=INK)
    axes.text(0.3, 0.006, "G, the flow", color=BLUE)
    axes.text(0.02, -0.038, "cost: jumps (orange)\n+ L x area (grey)", color=RED)
    axes.set(
        xlim=(0, 1), ylim=(-0.045, 0.062), xlabel="prediction", ylabel="sum of mass x residual"
    )
    axes.set_title("The dual: follow S with few jumps", loc="left", fontsize=11, color=INK)


def draw_value(axes: Axes, found: Programme) -> None:
    """Draw one step of the programme: add a kink, clip the slopes."""
    at, added, after = found.at, found.added[SHOWN - 1], found.before[SHOWN]
    axes.plot(at, added, "--", color=GREY, lw=1.5)
    axes.plot(at, after, color=BLUE, lw=2.5)
    bends = np.abs(np.diff(np.diff(after) / np.diff(at))) > 1e-6
    kinks = at[1:-1][bends]
    axes.plot(kinks, after[1:-1][bends], "o", color=RED, ms=6, zorder=3)
    total = found.sums[SHOWN - 1]
    axes.axvline(total, color=GREY, lw=0.8, ls=":")
    axes.text(total + 0.001, after.min() - 0.006, "$S_i$", color=INK)
    axes.annotate(
        "a new kink at $S_i$:\nslopes leave [-1, 1]",
        (at[-1], added[-1]),
        (total + 0.002, after.max() + 0.022),
        color=INK,
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.text(kinks.mean(), after.min() + 0.02, "kinks kept", color=RED, ha="center")
    axes.set(xlabel="G after this level", ylabel="least cost so far")
    axes.set_ylim(after.min() - 0.01, after.max() + 0.04)
    axes.set_title("One step: add a kink, clip the slopes", loc="left", fontsize=11, color=INK)


def draw_test(axes: Axes, found: Programme) -> None:
    """Draw the best test: at its limit where G jumps, steep where S and G differ."""
    error = cal.smooth_calibration_error(JOINT, lipschitz=STEEP)
    if abs(error - found.value) > 1e-9:
        raise ValueError(f"the programme found {found.value}, the library {float(error)}")
    level = error.witness(JOINT.prediction)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.plot(JOINT.prediction, level, "o-", color=BLUE, lw=2, ms=4)
    jumps = np.abs(np.diff(found.flow, prepend=0.0)) > 1e-6
    axes.plot(JOINT.prediction[jumps], level[jumps], "o", color=RED, ms=8, zorder=3)
    axes.text(0.3, 0.72, "w is 1 or -1 where G jumps", color=RED)
    axes.text(0.02, -0.92, "steepest where S\nand G differ", color=BLUE)
    axes.set(xlim=(0, 1), ylim=(-1.12, 1.12), xlabel="prediction", ylabel="test w")
    axes.set_title("The primal: the best test", loc="left", fontsize=11, color=INK)


def main() -> None:
    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 10, "text.color": INK}
    found = Programme()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    draw_flow(left, found)
    draw_value(middle, found)
    draw_test(right, found)
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("how.png"), dpi=100)


if __name__ == "__main__":
    main()

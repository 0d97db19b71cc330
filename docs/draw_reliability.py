"""Draw the README's picture: what the shipped forecasts said, and what happened."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.stats import beta

import calibrant as cal
from calibrant.pooling import quantile_bins
from calibrant.words import strongest_region

BINS = 25
INK, BLUE, RED, GREY = "#22272e", "#1f6feb", "#cf222e", "#8c959f"


Point = tuple[float, float]


def note(axes: Axes, text: str, at: Point, place: Point, color: str) -> None:
    axes.annotate(text, at, place, color=color, arrowprops={"arrowstyle": "-", "color": color})


def main() -> None:
    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 11, "svg.hashsalt": "calibrant", "text.color": INK}
    columns = cal.datasets.flights()
    joint = cal.Joint.from_samples(columns["outcome"], columns["prediction"])
    error = cal.smooth_calibration_error(joint)
    region = strongest_region(joint, error.witness.value)
    pools = quantile_bins(joint, BINS).joint
    misses = pools.rows - pools.positives
    low = beta.ppf(0.025, pools.positives, misses + 1)
    high = beta.ppf(0.975, pools.positives + 1, misses)

    figure, (curve, counts) = plt.subplots(
        2, 1, figsize=(7.2, 5.6), sharex=True, height_ratios=[5, 1], layout="constrained"
    )
    curve.plot([0, 1], [0, 1], color=GREY, lw=1.2)
    note(curve, "perfect forecasts lie on this line", (0.58, 0.58), (0.2, 0.66), GREY)
    curve.axvspan(region.low, region.high, color=RED, alpha=0.07, lw=0)
    curve.vlines(pools.prediction, low, high, color=BLUE, lw=2)
    curve.plot(pools.prediction, pools.outcome, "o", color=BLUE, ms=5)
    note(
        curve,
        f"here forecasts are too high:\nthey say {region.prediction:.2f}, "
        f"{region.outcome:.2f} happened",
        (0.43, 0.34),
        (0.44, 0.12),
        RED,
    )
    note(
        curve,
        f"{BINS} groups of equal size,\nbars: 95 % intervals",
        (pools.prediction[4], pools.outcome[4] + 0.02),
        (0.03, 0.36),
        BLUE,
    )
    curve.set(xlim=(0, 0.8), ylim=(0, 0.8), ylabel="share of flights that were late")
    curve.set_title(
        "Chance of a late arrival, New York 2013: said and happened", loc="left", color=INK
    )
    counts.hist(
        joint.prediction, np.linspace(0, 0.8, 41), weights=joint.rows / 1000, color=GREY, rwidth=0.9
    )
    counts.set(xlabel="forecast", ylabel="flights, 1000s")
    for axes in (curve, counts):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("reliability.png"), dpi=110)


if __name__ == "__main__":
    main()

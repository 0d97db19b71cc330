"""Draw the picture of the guide to noise floors: three samples, three verdicts."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.plots import PALETTE

SIZES = (300, 3000, None)
INK, BLUE, RED, GREY = PALETTE["ink"], PALETTE["accent"], PALETTE["warning"], PALETTE["muted"]


def main() -> None:
    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 11, "text.color": INK}
    columns = cal.datasets.flights()
    rng = np.random.default_rng(3)
    order = rng.permutation(columns["outcome"].size)
    figure, axes = plt.subplots(figsize=(8.2, 4.2), layout="constrained")
    for height, size in enumerate(reversed(SIZES)):
        rows = order[:size]
        verdict = cal.verdict(columns["outcome"][rows], columns["prediction"][rows], rng=0)
        null = verdict.test.headline.null
        shares, edges = np.histogram(null, bins=30)
        bottom = height + 0.08
        hill = bottom + 0.42 * shares / shares.max()
        axes.stairs(hill, edges, baseline=bottom, fill=True, color=PALETTE["band"])
        axes.plot(2 * [verdict.noise_floor], [bottom, bottom + 0.42], color=GREY, lw=1.5)
        interval = verdict.interval
        axes.plot([interval.low, interval.high], 2 * [height], color=BLUE, lw=4, alpha=0.5)
        axes.plot(verdict.value, height, "o", color=BLUE, ms=8)
        axes.text(
            0.118,
            height + 0.18,
            f"{verdict.rows:,} rows\n".replace(",", "\N{NO-BREAK SPACE}") + verdict.state,
            ha="right",
            weight="bold",
        )
    axes.axvline(0.02, color=RED, lw=1.5)
    axes.annotate("tolerance", (0.02, 2.75), (0.021, 2.78), color=RED)
    top = len(SIZES) - 1
    axes.annotate(
        "what perfect forecasts\nwould show on these rows",
        (0.038, top + 0.2),
        (0.05, top + 0.42),
        color=PALETTE["quiet"],
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.annotate(
        "measured, with its 95 % interval",
        (0.045, top),
        (0.05, top - 0.32),
        color=BLUE,
        arrowprops={"arrowstyle": "-", "color": BLUE},
    )
    axes.set(xlim=(0, 0.12), ylim=(-0.25, 2.95), yticks=[], xlabel="smooth calibration error")
    axes.set_title("The same forecasts, judged on more and more rows", loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("verdicts.png"), dpi=110)


if __name__ == "__main__":
    main()

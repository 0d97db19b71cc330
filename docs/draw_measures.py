"""Draw a picture for every measure: what it counts, and how it falls with more rows.

Names of measures as arguments draw those alone.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.plots.style import ACCENT, INK, MUTED, QUIET, SETTINGS, WARNING

Floats = npt.NDArray[np.float64]

SIZES = (100, 300, 1000, 3000, 10_000)
DRAWS = 20
FORECASTERS = {
    "forecasts 0.1 too high": (WARNING, "s", lambda truth: truth + 0.1),
    "log-odds twice too large": (
        "#cc79a7",
        "^",
        lambda truth: truth**2 / (truth**2 + (1 - truth) ** 2),
    ),
    "perfect forecasts": (ACCENT, "o", lambda truth: truth),
}
CALIBRATORS = ("upper_distance_to_calibration", "interval_calibration_error")
"""Measures that are attained by a map of the predictions, rather than a test."""
SHOWN = 0.8
"""Forecasts of late flights end here."""


def draw_data(axes: Axes, joint: cal.Joint) -> Floats:
    """Draw the isotonic curve against the diagonal; return its height at every level."""
    pools = cal.binning.isotonic(joint)
    place = np.searchsorted(pools.start, joint.prediction, side="right") - 1
    rate = np.asarray(pools.joint.outcome[place])
    axes.plot([0, SHOWN], [0, SHOWN], color=MUTED, lw=1)
    axes.plot(joint.prediction, rate, drawstyle="steps-mid", color=INK, lw=1.4)
    return rate


def draw_counted(axes: Axes, measure: cal.catalogue.Measure, joint: cal.Joint) -> None:
    """Draw late flights, and in colour what the measure counts of them."""
    measured = measure.function(joint)
    rate, at = draw_data(axes, joint), joint.prediction
    if measure.name == "binned_calibration_error":
        draw_bins(axes, joint)
    elif measure.name in CALIBRATORS:
        draw_moves(axes, at, np.asarray(measured.witness(at)))
    else:
        draw_weights(axes, at, rate, np.asarray(measured.witness(at), dtype=float))
    axes.set(xlim=(0, SHOWN), ylim=(0, SHOWN), xlabel="forecast", ylabel="observed rate")
    axes.set_title(f"Late flights, forecasts of two decimals: {float(measured):.3g}", fontsize=9)


def draw_weights(axes: Axes, at: Floats, rate: Floats, weight: Floats) -> None:
    """Shade the gap between curve and diagonal, the stronger the more the best test weighs it."""
    strength = np.abs(weight) / max(np.abs(weight).max(), 1e-12)
    for place, height, test, alpha in zip(at, rate, weight, strength, strict=True):
        colour = ACCENT if test > 0 else WARNING
        axes.bar(place, height - place, 0.0101, place, color=colour, alpha=0.75 * alpha, lw=0)
    for colour, words, y in ((WARNING, "counted as too high", 0.93), (ACCENT, "as too low", 0.86)):
        if ((weight < 0) if colour == WARNING else (weight > 0)).any():
            axes.text(0.03, y, words, color=colour, transform=axes.transAxes, fontsize=8)


def draw_bins(axes: Axes, joint: cal.Joint) -> None:
    """Shade the gap of every bin between its mean forecast and its observed rate."""
    pools = cal.binning.uniform_bins(joint, 15).joint
    axes.bar(
        pools.prediction, pools.outcome - pools.prediction, 1 / 15, pools.prediction,
        color=WARNING, alpha=0.5, edgecolor=WARNING,
    )  # fmt: skip
    axes.text(0.03, 0.93, "15 bins", color=WARNING, transform=axes.transAxes, fontsize=8)


def draw_moves(axes: Axes, at: Floats, moved: Floats) -> None:
    """Shade how far the best map moves the forecasts."""
    axes.plot(at, moved, drawstyle="steps-mid", color=WARNING, lw=1.2)
    axes.fill_between(at, at, moved, step="mid", color=WARNING, alpha=0.4, lw=0)
    words = "how far the best map\nmoves forecasts"
    axes.text(0.03, 0.85, words, color=WARNING, transform=axes.transAxes, fontsize=8)


def mean_value(measure: cal.catalogue.Measure, size: int, forecast: object) -> float:
    """Average over draws of outcomes and forecasts."""
    rng = np.random.default_rng(size)
    values = []
    for _ in range(DRAWS):
        truth = 0.1 + 0.6 * rng.random(size)
        outcome = rng.random(size) < truth
        values.append(float(measure.function(outcome, forecast(truth))))  # type: ignore[operator]
    return float(np.mean(values))


def draw_sizes(axes: Axes, measure: cal.catalogue.Measure) -> None:
    """Draw what three forecasters score on more and more rows."""
    highest = 0.0
    for words, (colour, marker, forecast) in FORECASTERS.items():
        values = [mean_value(measure, size, forecast) for size in SIZES]
        axes.plot(SIZES, values, marker=marker, color=colour, lw=1.6, ms=5, label=words)
        highest = max(highest, *values)
    axes.set_xscale("log")
    axes.set_xticks(SIZES, [f"{size:,}".replace(",", "\N{NO-BREAK SPACE}") for size in SIZES])
    axes.minorticks_off()
    axes.set_ylim(0, 1.5 * highest)
    axes.set_title("Three simulated forecasters", fontsize=9)
    axes.set(xlabel="rows", ylabel="value, on average")
    axes.legend(frameon=False, fontsize="small", loc="upper left", labelcolor=QUIET)


def main() -> None:
    mpl.use("Agg")
    warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
    columns = cal.datasets.flights()
    joint = cal.Joint.from_samples(columns["outcome"], np.round(columns["prediction"], 2))
    with mpl.rc_context(SETTINGS):
        for measure in JOINT_MEASURES.values():
            if sys.argv[1:] and measure.name not in sys.argv[1:]:
                continue
            figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
            draw_counted(left, measure, joint)
            draw_sizes(right, measure)
            path = Path(__file__).with_name("measures") / f"{measure.name}.png"
            figure.savefig(path, dpi=110, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    main()

"""Draw a picture for every measure: what attains it, and how it falls with more rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.plots.style import ACCENT, GOOD, INK, MUTED, SETTINGS, WARNING

Floats = npt.NDArray[np.float64]

SIZES = (100, 300, 1000, 3000, 10_000)
DRAWS = 20
FORECASTERS = {
    "forecasts 0.1 too high": (WARNING, lambda truth: truth + 0.1),
    "log-odds twice too large": (ACCENT, lambda truth: truth**2 / (truth**2 + (1 - truth) ** 2)),
    "perfect forecasts": (GOOD, lambda truth: truth),
}
MAPS = ("upper_distance_to_calibration", "interval_calibration_error")
"""Measures that are attained by a map of the predictions, rather than a test."""
CORRECTIONS = ("post_processing_gap",)
DECISIONS = ("calibration_decision_loss", "u_calibration_error")


def draw_witness(axes: Axes, measure: cal.catalogue.Measure, joint: cal.Joint) -> None:
    """Draw what attains the value on forecasts of late flights with two decimals."""
    measured = measure.function(joint)
    at = joint.prediction
    height = np.asarray(measured.witness(at))
    axes.plot(at, height, drawstyle="steps-mid", color=INK, lw=1.4)
    if measure.name in MAPS:
        axes.plot(at, at, color=MUTED, lw=1)
        label = "the best map moves them to"
    else:
        axes.axhline(0, color=MUTED, lw=1)
        for side, colour in ((height >= 0, ACCENT), (height <= 0, WARNING)):
            axes.fill_between(at, 0, height, where=side, step="mid", color=colour, alpha=0.25, lw=0)
        label = "the test that finds most"
        if measure.name in CORRECTIONS:
            label = "the correction that gains most"
        if measure.name in DECISIONS:
            label = "what the worst decision\nmaker should have bet"
    axes.set_title(f"Late flights: {float(measured):.3g}")
    axes.set(xlabel="forecast, two decimals", ylabel=label)


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
    for words, (colour, forecast) in FORECASTERS.items():
        values = [mean_value(measure, size, forecast) for size in SIZES]
        axes.plot(SIZES, values, "o-", color=colour, lw=1.6, ms=4, label=words)
        highest = max(highest, *values)
    axes.set_xscale("log")
    axes.set_xticks(SIZES, [f"{size:,}".replace(",", "\N{NO-BREAK SPACE}") for size in SIZES])
    axes.minorticks_off()
    axes.set_ylim(0, 1.5 * highest)
    axes.set_title("Simulated forecasters")
    axes.set(xlabel="rows", ylabel="value, on average")
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def main() -> None:
    mpl.use("Agg")
    warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
    columns = cal.datasets.flights()
    joint = cal.Joint.from_samples(columns["outcome"], np.round(columns["prediction"], 2))
    with mpl.rc_context(SETTINGS):
        for measure in JOINT_MEASURES.values():
            figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), layout="constrained")
            draw_witness(left, measure, joint)
            draw_sizes(right, measure)
            path = Path(__file__).with_name("measures") / f"{measure.name}.png"
            figure.savefig(path, dpi=110, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    main()

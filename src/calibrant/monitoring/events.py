"""Events that several rows share: one bet each.

A title race forecast every day for half a year has one outcome. A bet on every row would win or
lose it 180 times over, and perfect forecasts would cause an alarm. So an event enters once, with
one forecast that was chosen without looking at the outcome.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.data.input import read_labels
from calibrant.errors import InvalidForecastsError

ClusterForecast = Literal["last", "first", "mean", "drawn"]
CLUSTER_FORECASTS: tuple[str, ...] = get_args(ClusterForecast)
WITH = {
    "last": "with its last forecast",
    "first": "with its first forecast",
    "mean": "with the mean of its forecasts",
    "drawn": "with one row drawn at random",
}
Times = npt.NDArray[Any]
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Events:
    """What enters: one row for each cluster."""

    prediction: Floats
    outcome: npt.NDArray[Any]
    time: Times
    """Time of the last row, when the outcome is known at the latest."""
    group: Codes


def one_per_cluster(
    prediction: Floats,
    outcome: npt.NDArray[Any],
    time: Times,
    clusters: object,
    forecast: str,
    group: Codes | None = None,
) -> Events:
    """Let each cluster in once; one that stands in several groups enters each of them.

    Rows of one time are equal: the last forecast is the mean of those of the last time. Nothing
    depends on the order of the rows.
    """
    labels = read_labels(clusters, "clusters", prediction.size)
    names, code = np.unique(labels.reshape(-1), return_inverse=True)
    group = np.zeros(code.size, dtype=np.intp) if group is None else group
    order = np.lexsort((outcome, prediction, time, code, group))
    prediction, outcome, time = prediction[order], outcome[order], time[order]
    code, group = code[order], group[order]
    starts = np.append(True, (np.diff(code) != 0) | (np.diff(group) != 0))
    first = np.flatnonzero(starts)
    final = np.append(first[1:], code.size) - 1
    mixed = np.minimum.reduceat(outcome, first) != np.maximum.reduceat(outcome, first)
    if mixed.any() and forecast != "drawn":
        raise InvalidForecastsError(
            "@clusters must hold rows of one outcome",
            f"several outcomes in {mixed.sum()} of {first.size}, "
            f"for instance {names[code[first[mixed.argmax()]]]!s:.60}",
            "name what shares an outcome, or let one row of each cluster in: "
            "@cluster_forecast='drawn'",
        )
    if forecast == "drawn":
        lots = np.random.default_rng(0).random(code.size)
        chosen = np.lexsort((lots, np.cumsum(starts)))[first]
        return Events(prediction[chosen], outcome[chosen], time[final], group[first])
    event = np.cumsum(starts) - 1
    kept = np.ones(code.size, dtype=bool)
    if forecast != "mean":
        kept = time == time[final if forecast == "last" else first][event]
    sums = np.bincount(event, np.where(kept, prediction, 0.0))
    # Rounding errors of a mean do not lead beyond what it is a mean of.
    mean = np.clip(sums / np.bincount(event, kept), prediction.min(), prediction.max())
    return Events(mean, outcome[first], time[final], group[first])


def added(key: str | int, forecasts: int, before: float, prediction: float, how: str) -> float:
    """Forecast of an event after one more, the `forecasts`-th."""
    if how == "first":
        return before
    if how == "mean":
        return before + (prediction - before) / forecasts
    # Each of k forecasts is kept with chance 1 / k; the lot depends on nothing but key and k.
    if how == "drawn" and _lot(f"{key!r} {forecasts}") * forecasts >= 1:
        return before
    return prediction


def _lot(name: str) -> float:
    """Return a number in [0, 1) that looks random and is the same everywhere."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest()) / 2**48

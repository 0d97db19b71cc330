"""The monitor: sound streams are left in peace, changes are seen in time."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from scipy.special import ndtr

import calibrant as cal
from calibrant.monitoring import run_monitor
from promises.core import Promise
from promises.samples import FAULTS, FORECASTS

# What changes: none of these is among the bets of the monitor.
CHANGES = (
    "too low by 0.06",
    "too high by 0.06",
    "slope 0.6",
    "slope 1.7",
    "three waves of 0.1",
    "three waves of -0.1",
)
RUN_LENGTH = 1e5


def stream(rng, kind, rows):
    """Forecasts and chances within the tolerance of a monitor, and that tolerance."""
    if kind == "edge of the default tolerance":
        p = rng.uniform(0.2, 0.6, rows)
        return p, p + np.minimum(0.02, p / 10), None
    p = FORECASTS[kind](rng, rows)
    return p, p, 0.0


def sound_stream_alarms(kind, rng):
    p, chance, tolerance = stream(rng, kind, 2000)
    return cal.CalibrationMonitor(tolerance).update_many(rng.random(p.size) < chance, p)


def sound_stream_changes(kind, rng):
    p, chance, tolerance = stream(rng, kind, 1000)
    monitor = cal.CalibrationMonitor(tolerance, run_length=10_000)
    monitor.update_many(rng.random(p.size) < chance, p)
    return monitor.change


def races(rng, count, days):
    """Events forecast every day by somebody who knows how far a random walk has come."""
    walk = np.cumsum(rng.standard_normal((count, days + 1)), axis=1)
    left = np.sqrt(np.arange(days, 0, -1))
    won = np.repeat(walk[:, -1] > 0, days)
    race, day = np.repeat(np.arange(count), days), np.tile(np.arange(days), count)
    return won, ndtr(walk[:, :-1] / left).ravel(), race, 3 * race + day


def sound_races_alarm(forecast, rng):
    won, p, race, day = races(rng, 300, 180)
    return run_monitor(won, p, day, clusters=race, cluster_forecast=forecast, tolerance=0.0).alarm


def changed(fault, p):
    """Chances after a change, never quite certain."""
    return np.clip(FAULTS[fault](p), 0.001, 0.999)


def cusums(rng, rows, streams, fault="right"):
    """Largest of the cumulated log likelihood ratios of the changes, row after row."""
    sums = np.zeros((len(CHANGES), streams))
    for _ in range(rows):
        p = rng.uniform(0.001, 0.999, streams)
        y = rng.random(streams) < changed(fault, p)
        for k, change in enumerate(CHANGES):
            q = changed(change, p)
            ratio = np.where(y, q / p, (1 - q) / (1 - p))
            sums[k] = np.maximum(sums[k], 0) + np.log(ratio)
        yield sums.max(axis=0)


@cache
def cusum_level():
    """Level that sound streams reach after RUN_LENGTH rows on average, from 1000 streams."""
    largest = np.max(list(cusums(np.random.default_rng(1), 5000, 1000)), axis=0)
    return np.quantile(largest, np.exp(-5000 / RUN_LENGTH))


@cache
def cusum_delay(fault):
    """Rows within which half of the CUSUM banks see a change that is there from the start."""
    path = cusums(np.random.default_rng(2), 1500, 400, fault)
    reached = np.array(list(path)) >= cusum_level()
    return np.median(np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, np.inf))


def change_is_seen_late(fault, rng):
    p = rng.uniform(0.001, 0.999, 3000)
    chance = np.where(np.arange(3000) < 1000, p, changed(fault, p))
    monitor = cal.CalibrationMonitor(0.0, run_length=RUN_LENGTH)
    monitor.update_many(rng.random(3000) < chance, p)
    return (monitor.change_row or np.inf) - 1000 > 1.5 * cusum_delay(fault)


def promises():
    for kind in ("uniform", "nine levels", "rare", "edge of the default tolerance"):
        runs = 2000 if kind == "uniform" else 500
        yield Promise(
            "no alarm of a sound stream",
            f"{kind}, 2000 rows",
            partial(sound_stream_alarms, kind),
            runs,
        )
        yield Promise(
            "no change of a sound stream",
            f"{kind}, a tenth of the run length",
            partial(sound_stream_changes, kind),
            runs,
            0.1,
        )
    for forecast in ("last", "first", "drawn"):
        yield Promise(
            "no alarm of a sound stream",
            f"300 events of 180 rows, {forecast} forecast",
            partial(sound_races_alarm, forecast),
            500,
        )
    for fault in CHANGES:
        yield Promise(
            "a change is seen within 1.5 times the median delay of a CUSUM bank",
            f"{fault} after 1000 rows, run length 100 000",
            partial(change_is_seen_late, fault),
            200,
            0.5,
        )

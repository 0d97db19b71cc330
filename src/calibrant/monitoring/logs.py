"""A log of forecasts over time: windows to look at, and what the monitor says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import Tolerance, refuse_unknown
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.data.times import Times, checked_times, have_zone, time_text
from calibrant.errors import InvalidOptionError
from calibrant.monitoring.events import CLUSTER_FORECASTS, ClusterForecast, one_per_cluster
from calibrant.monitoring.monitor import CalibrationMonitor, read_binary_rows
from calibrant.monitoring.row_digest import RowDigest
from calibrant.monitoring.runs import MonitoredGroup, MonitorRun
from calibrant.monitoring.state import MonitorState
from calibrant.monitoring.windows import Windows, window_length, windows_of

# Whoever does not say how long windows are gets about so many.
WINDOWS = 24


def run_monitor(
    y_true: object,
    y_proba: object,
    time: Times,
    *,
    pos_label: object = None,
    by: npt.NDArray[Any] | None = None,
    window: str | None = None,
    tolerance: Tolerance | str | None = None,
    alpha: float = 0.05,
    clusters: object = None,
    cluster_forecast: ClusterForecast = "last",
) -> MonitorRun:
    """Run a monitor over a log in the order of time, and describe its windows.

    Rows of the same time enter in a random order, drawn with a fixed seed from the sorted rows: it
    depends neither on the order of the rows nor on outcomes. With k groups each has its own monitor
    with alpha / k, so that the chance of any false alarm is at most alpha.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Outcomes, 0 or 1, and predictions.
    time : array of numbers or datetime64
        When the outcome was due.
    pos_label : object, optional
        The label that counts as outcome 1.
    by : array, optional
        Group of each row.
    window : str, optional
        Length of the windows: a number with s, m, h, d or w for dates (7d by default), a number
        alone for times that are numbers (one window by default). Windows are multiples of their
        length from Monday 5 January 1970, or from 0; they do not depend on the rows.
    tolerance, alpha
        Options of `CalibrationMonitor`.
    clusters : array-like of shape (n,), optional
        Names of the events that rows share: a race forecast every day has one outcome. Each enters
        once, at the time of its last row.
    cluster_forecast : {"last", "first", "mean", "drawn"}, default="last"
        The forecast it enters with: its last or first one (the mean of several of one time), the
        mean of all, or one row drawn with a fixed seed, whose outcome may then be its own. The
        mean is less extreme than a forecaster who learns over time, and may be accused of it.

    Returns
    -------
    MonitorRun

    Examples
    --------
    >>> days = np.arange("2024-01-01", "2024-01-15", dtype="datetime64[D]")
    >>> seen = run_monitor([0, 1] * 7, [0.4, 0.6] * 7, days)
    >>> [(window.start, window.rows) for window in seen.groups[0].windows]
    [('2024-01-01', 7), ('2024-01-08', 7)]
    >>> seen.alarm
    False
    """
    begun = MonitorState({})
    run, _ = continue_monitor(
        begun, y_true, y_proba, time, pos_label=pos_label, by=by, window=window,
        tolerance=tolerance, alpha=alpha, clusters=clusters, cluster_forecast=cluster_forecast,
    )  # fmt: skip
    return replace(run, new_rows=None)


def continue_monitor(
    log: MonitorState,
    y_true: object,
    y_proba: object,
    time: Times,
    *,
    pos_label: object = None,
    by: npt.NDArray[Any] | None = None,
    window: str | None = None,
    tolerance: Tolerance | str | None = None,
    alpha: float = 0.05,
    clusters: object = None,
    cluster_forecast: ClusterForecast = "last",
    zoned: bool | None = None,
) -> tuple[MonitorRun, MonitorState]:
    """Watch rows that come after those of a log; the same as watching all of them at once.

    Parameters
    ----------
    log : MonitorState
        What an earlier run returned, or `MonitorState` with a description for the first run.
    y_true, y_proba, time, pos_label, by, window, tolerance, alpha, clusters, cluster_forecast
        As for `run_monitor`. Clusters cannot be carried on: one might have rows in several runs.
    zoned : bool, optional
        Whether the times came with a time zone, where they no longer show it; all runs must agree.

    Returns
    -------
    tuple of MonitorRun and MonitorState
        All of the log so far, and what the next run needs.
    """
    refuse_other_labels(y_true=y_true, y_proba=y_proba, time=time, by=by, clusters=clusters)
    prediction, outcome = read_binary_rows(y_true, y_proba, pos_label)
    moments = checked_times(time, prediction.size)
    zoned = have_zone(time) if zoned is None else zoned
    dated = moments.dtype.kind == "M"
    window = window or ("7d" if dated else None)
    length = None if window is None else window_length(window, dated=dated)
    labels = np.zeros(prediction.size, dtype=np.intp)
    names: list[str | None] = [None]
    if by is not None:
        column = read_labels(by, "by", prediction.size)
        texts, labels = np.unique(column.astype(str), return_inverse=True)
        names = texts.tolist()
    refuse_unknown("cluster_forecast", cluster_forecast, CLUSTER_FORECASTS)
    how = None if clusters is None else cluster_forecast
    if log.began:
        names, labels = _known_groups(log, names, labels)
        fresh = log.fresh(moments, prediction, outcome, labels, names, zoned=zoned)
        prediction, outcome, moments = prediction[fresh], outcome[fresh], moments[fresh]
        labels = labels[fresh]
    counts = np.bincount(labels, minlength=len(names))
    batch = RowDigest.of(moments, prediction, outcome, labels, names)
    if clusters is not None:
        events = one_per_cluster(prediction, outcome, moments, clusters, cluster_forecast, labels)
        prediction, outcome = events.prediction, events.outcome
        moments, labels = events.time, events.group
    before = {group.group: group for group in log.groups}
    watched_before = [before[name].rows if name in before else 0 for name in names]
    order = _in_order(moments, prediction, outcome, labels, watched_before)
    groups = []
    sizes = np.bincount(labels, minlength=len(names))
    for name, count, rows in zip(
        names, counts, np.split(order, np.cumsum(sizes)[:-1]), strict=True
    ):
        old = before.get(name)
        if old is not None and not rows.size:
            groups.append(old)
            continue
        monitor = CalibrationMonitor(tolerance, alpha / len(names), cluster_forecast=how)
        if old is not None:
            monitor = CalibrationMonitor.from_json(old.monitor.to_json())
        monitor.update_many(outcome[rows], prediction[rows])
        earlier = None if old is None else old.stretch
        stretch = windows_of(moments[rows], prediction[rows], outcome[rows], length, earlier)
        groups.append(_watched(name, int(count), monitor, moments[rows], stretch, old))
    watched = MonitorRun(
        tuple(groups), groups[0].monitor.tolerance, alpha, window, how, new_rows=batch.rows
    )
    if not batch.rows:
        return watched, log
    last = moments.max()
    after = MonitorState(
        log.described,
        dated,
        int(last.astype(np.int64)) if dated else float(last),
        log.watched + batch,
        batch,
        tuple(groups),
        zoned,
    )
    return watched, after


def _known_groups(
    log: MonitorState, names: list[str | None], labels: npt.NDArray[np.intp]
) -> tuple[list[str | None], npt.NDArray[np.intp]]:
    """Take the numbers that groups have in the log; they share alpha, so that none is added."""
    known = [group.group for group in log.groups]
    new = [name for name in names if name not in known]
    if new:
        raise InvalidOptionError(
            "the groups of a log must be there when it is begun: they share alpha",
            f"the new group {new[0]!s:.60}",
            "begin another state with all rows",
        )
    numbers = np.array([known.index(name) for name in names], dtype=np.intp)
    return known, numbers[labels]


def run_at_large(
    rows: Rows, time: Times, tolerance: Tolerance | None, clusters: object = None
) -> MonitoredGroup:
    """Watch all rows together, or one drawn from each cluster, in windows of about equal length."""
    length = (time.max() - time.min()) / WINDOWS
    window: str | None = None
    if time.dtype.kind == "M":
        days = max(1, int(np.ceil(length / np.timedelta64(1, "D"))))
        window = f"{days}d"
    elif length > 0:
        # Two digits, rounded up, keep the last time out of a window of its own.
        step = 10.0 ** (np.floor(np.log10(length)) - 1)
        window = f"{np.ceil(length / step) * step:.12g}"
    run = run_monitor(
        rows.outcome,
        rows.prediction,
        time,
        window=window,
        tolerance=tolerance,
        clusters=clusters,
        cluster_forecast="drawn",
    )
    return run.groups[0]


def _watched(
    name: str | None,
    rows: int,
    monitor: CalibrationMonitor,
    time: Times,
    stretch: Windows,
    before: MonitoredGroup | None,
) -> MonitoredGroup:
    """Describe a group; times of rows that were watched before are known."""

    def time_of(row: int | None, known: str | None) -> str | None:
        if row is None or known is not None:
            return known
        return time_text(time[row - 1 - (monitor.rows - time.size)])

    alarmed, changed = (None, None) if before is None else (before.alarm_time, before.change_time)
    return MonitoredGroup(
        group=name,
        rows=rows if before is None else rows + before.rows,
        monitor=monitor,
        first=time_text(time[0]) if before is None else before.first,
        last=time_text(time[-1]),
        alarm_time=time_of(monitor.alarm_row, alarmed),
        change_time=time_of(monitor.change_row, changed),
        stretch=stretch,
    )


def _in_order(
    time: Times,
    prediction: Floats,
    outcome: npt.NDArray[np.uint8],
    group: npt.NDArray[np.intp],
    watched_before: list[int],
) -> npt.NDArray[np.intp]:
    """Order by group and time; rows of one time are sorted, then shuffled with a fixed seed.

    Lots of a group go on after those of the rows that were watched before.
    """
    by_content = np.lexsort((outcome, prediction, time, group))
    sizes = np.bincount(group, minlength=len(watched_before)).tolist()
    shuffle = np.concatenate([_lots(*part) for part in zip(watched_before, sizes, strict=True)])
    again = np.lexsort((shuffle, time[by_content], group[by_content]))
    return np.asarray(by_content[again])


def _lots(drawn: int, size: int) -> Floats:
    """Numbers of a fixed sequence, after so many that were drawn before."""
    sequence = np.random.PCG64(0)
    sequence.advance(drawn)
    return np.random.Generator(sequence).random(size)

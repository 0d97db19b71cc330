"""A log of forecasts over time: windows to look at, and what the monitor says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.input import read_labels
from calibrant.data.rows import Rows
from calibrant.data.times import Times, checked_times, time_text
from calibrant.monitoring.events import (
    CLUSTER_FORECASTS,
    WITH,
    ClusterForecast,
    one_per_cluster,
)
from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.single_outcomes import read_coins
from calibrant.monitoring.windows import Window, window_length, windows_of
from calibrant.notebook import brief
from calibrant.options import refuse_unknown
from calibrant.words import count_text, probability_text

SCHEMA = 1
WINDOWS_IN_TEXT = 12
# Whoever does not say how long windows are gets about so many.
WINDOWS = 24
# Evidence beyond this is written as this, since JSON has no infinity.
LARGEST_NUMBER = 1e300


@dataclass(frozen=True, slots=True)
class Watched:
    """One group of rows, in the order of time."""

    group: str | None
    rows: int
    monitor: CalibrationMonitor
    first: str
    last: str
    alarm_time: str | None
    change_time: str | None
    windows: tuple[Window, ...]

    def __repr__(self) -> str:
        return brief(self)

    @property
    def sentence(self) -> str:
        """Say what the monitor says, and when it alarmed."""
        when = "" if self.alarm_time is None else f" The alarm was raised at {self.alarm_time}."
        how = self.monitor.cluster_forecast
        once = "" if how is None else f" Each cluster entered once, {WITH[how]}."
        return f"{self.monitor.sentence}{when}{once}"

    @property
    def brief(self) -> str:
        """Say when it alarmed, and whether the signal has weakened since."""
        monitor = self.monitor
        noun = "row" if monitor.cluster_forecast is None else "cluster"
        if not monitor.alarm:
            return f"No alarm after {count_text(monitor.rows, noun)}."
        weaker = monitor.evidence < 1 / monitor.alpha
        when = "Alarm" if self.alarm_time is None else f"Alarm at {self.alarm_time}"
        since = " Since then the signal has weakened." if weaker else ""
        return f"{when}, after {count_text(monitor.alarm_row or 0, noun)}.{since}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        monitor = self.monitor
        return {
            "group": self.group,
            "rows": self.rows,
            "clusters": None if monitor.cluster_forecast is None else monitor.rows,
            "first": self.first,
            "last": self.last,
            "alpha": monitor.alpha,
            "alarm": monitor.alarm,
            "alarm_row": monitor.alarm_row,
            "alarm_time": self.alarm_time,
            "evidence": min(monitor.evidence, LARGEST_NUMBER),
            "kind": monitor.kind if monitor.alarm else None,
            "parts": {name: min(e, LARGEST_NUMBER) for name, e in monitor.parts.items()},
            "pvalue": monitor.pvalue,
            "change": monitor.change,
            "change_row": monitor.change_row,
            "change_time": self.change_time,
            "run_length": monitor.run_length,
            "sentence": monitor.sentence,
            "windows": [asdict(window) for window in self.windows],
        }


@dataclass(frozen=True, slots=True)
class Watch:
    """All groups of a log."""

    groups: tuple[Watched, ...]
    tolerance: float | None
    alpha: float
    window: str | None
    cluster_forecast: ClusterForecast | None = None

    @property
    def alarm(self) -> bool:
        """Whether any group caused an alarm."""
        return any(group.monitor.alarm for group in self.groups)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, of a stable shape."""
        return {
            "schema": SCHEMA,
            "alarm": self.alarm,
            "rows": sum(group.rows for group in self.groups),
            "tolerance": self.tolerance,
            "alpha": self.alpha,
            "window": self.window,
            "cluster_forecast": self.cluster_forecast,
            "groups": [group.as_dict() for group in self.groups],
        }

    def __str__(self) -> str:
        return "\n\n".join(_text(group) for group in self.groups)


def watch(
    y_true: object,
    y_proba: object,
    time: Times,
    *,
    pos_label: object = None,
    by: npt.NDArray[Any] | None = None,
    window: str | None = None,
    tolerance: float | None = None,
    alpha: float = 0.05,
    clusters: object = None,
    cluster_forecast: ClusterForecast = "last",
) -> Watch:
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
    tolerance, alpha : float
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
    Watch

    Examples
    --------
    >>> days = np.arange("2024-01-01", "2024-01-15", dtype="datetime64[D]")
    >>> seen = watch([0, 1] * 7, [0.4, 0.6] * 7, days)
    >>> [(window.start, window.rows) for window in seen.groups[0].windows]
    [('2024-01-01', 7), ('2024-01-08', 7)]
    >>> seen.alarm
    False
    """
    prediction, outcome = read_coins(y_true, y_proba, pos_label)
    moments = checked_times(time, prediction.size)
    dated = moments.dtype.kind == "M"
    window = window or ("7d" if dated else None)
    length = None if window is None else window_length(window, dated=dated)
    labels = np.zeros(prediction.size, dtype=np.intp)
    names: list[str | None] = [None]
    if by is not None:
        column = read_labels(by, "by", prediction.size)
        texts, labels = np.unique(column.astype(str), return_inverse=True)
        names = texts.tolist()
    counts = np.bincount(labels)
    refuse_unknown("cluster_forecast", cluster_forecast, CLUSTER_FORECASTS)
    how = None if clusters is None else cluster_forecast
    if clusters is not None:
        events = one_per_cluster(prediction, outcome, moments, clusters, cluster_forecast, labels)
        prediction, outcome = events.prediction, events.outcome
        moments, labels = events.time, events.group
    order = _in_order(moments, prediction, outcome, labels)
    groups = []
    for name, count, rows in zip(
        names, counts, np.split(order, np.cumsum(np.bincount(labels))[:-1]), strict=True
    ):
        monitor = CalibrationMonitor(tolerance, alpha / len(names), cluster_forecast=how)
        monitor.update_many(outcome[rows], prediction[rows])
        windows = windows_of(moments[rows], prediction[rows], outcome[rows], length)
        groups.append(_watched(name, int(count), monitor, moments[rows], windows))
    return Watch(tuple(groups), tolerance, alpha, window, how)


def watch_at_large(
    rows: Rows, time: Times, tolerance: float | None, clusters: object = None
) -> Watched:
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
    seen = watch(
        rows.outcome,
        rows.prediction,
        time,
        window=window,
        tolerance=tolerance,
        clusters=clusters,
        cluster_forecast="drawn",
    )
    return seen.groups[0]


def _watched(
    name: str | None,
    rows: int,
    monitor: CalibrationMonitor,
    time: Times,
    windows: tuple[Window, ...],
) -> Watched:
    def time_of(row: int | None) -> str | None:
        return None if row is None else time_text(time[row - 1])

    return Watched(
        group=name,
        rows=rows,
        monitor=monitor,
        first=time_text(time[0]),
        last=time_text(time[-1]),
        alarm_time=time_of(monitor.alarm_row),
        change_time=time_of(monitor.change_row),
        windows=windows,
    )


def _in_order(
    time: Times,
    prediction: Floats,
    outcome: npt.NDArray[np.uint8],
    group: npt.NDArray[np.intp],
) -> npt.NDArray[np.intp]:
    """Order by group and time; rows of one time are sorted, then shuffled with a fixed seed."""
    by_content = np.lexsort((outcome, prediction, time, group))
    shuffle = np.concatenate([np.random.default_rng(0).random(size) for size in np.bincount(group)])
    again = np.lexsort((shuffle, time[by_content], group[by_content]))
    return np.asarray(by_content[again])


def _text(watched: Watched) -> str:
    """Write a group for a terminal: the last windows, and what the monitor says."""
    monitor = watched.monitor
    group = "" if watched.group is None else f"{watched.group}: "
    noun = "row" if monitor.cluster_forecast is None else "cluster"
    entered, how = count_text(watched.rows, "row"), monitor.cluster_forecast
    if how is not None:
        entered = f"{count_text(monitor.rows, 'cluster')} ({entered})"
    lines = [f"{group}{entered} from {watched.first} to {watched.last}"]
    if how is not None:
        lines.append(f"Each cluster enters once, {WITH[how]}, at its last time.")
    if how == "mean":
        lines.append("A mean is less extreme than good forecasts are: an alarm may say no more.")
    lines.append(monitor.sentence)
    if watched.alarm_time is not None:
        lines.append(f"The alarm was raised at {watched.alarm_time}.")
    if watched.change_time is not None:
        lines.append(
            f"A change was noticed at {watched.change_time} (a stream within tolerance shows one "
            f"in {count_text(int(monitor.run_length), noun)} on average, or less often)."
        )
    lines.append("")
    shown = watched.windows[-WINDOWS_IN_TEXT:]
    width = max(4, *(len(window.start) for window in shown))
    lines.append(f"{'from':<{width}}  {noun + 's':>9}  prediction  outcome  smooth error")
    lines += [f"{window.start:<{width}}  {_numbers(window)}" for window in shown]
    earlier = len(watched.windows) - len(shown)
    if earlier:
        lines.append(f"({count_text(earlier, 'earlier window')} not shown)")
    return "\n".join(lines)


def _numbers(window: Window) -> str:
    if window.mean_prediction is None or window.base_rate is None or window.smooth_error is None:
        return f"{window.rows:>9}  {'-':>10}  {'-':>7}  {'-':>12}"
    said, happened = probability_text(window.mean_prediction), probability_text(window.base_rate)
    return f"{window.rows:>9}  {said:>10}  {happened:>7}  {window.smooth_error:>12.4f}"

"""A log as a terminal shows it: a sentence, a line for each group, then windows of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calibrant._base.words import (
    comparable_texts,
    count_text,
    distinct_texts,
    factor_text,
    page,
    shortened,
    thousands_text,
    visible,
)
from calibrant.monitoring.events import WITH
from calibrant.monitoring.runs import MonitoredGroup, MonitorRun
from calibrant.monitoring.windows import Window

# Windows of a group, groups whose windows are shown, and letters of the name of a group.
WINDOWS_IN_TEXT, GROUPS_IN_TEXT, LABEL = 12, 3, 40
# Lines of the table of groups.
MOST_GROUPS = 30
NOTHING = "-"


def log_text(run: MonitorRun, *, full: bool = False) -> str:
    """Write a log; of many groups the windows of those that alarm, or of all if asked."""
    groups: Sequence[MonitoredGroup] = run.groups
    blocks = []
    if len(groups) > 1:
        most = None if full else MOST_GROUPS
        blocks.append(page([run.sentence, "", *group_lines(run, most)]))
        if not full:
            groups = run.alarming[:GROUPS_IN_TEXT]
    blocks += [page(_lines(group)) for group in groups]
    hidden = len(run.groups) - len(groups)
    if hidden:
        blocks.append(f"(windows of {count_text(hidden, 'group')} not shown; --full shows all)")
    return "\n\n".join(blocks)


def group_table(run: MonitorRun) -> list[tuple[str, ...]]:
    """Write heads and a line for each group: those that alarm first."""
    heads = ("group", "rows", "mean forecast", "observed rate", "O/E", "evidence", "alarm")
    alarming = run.alarming
    quiet = sorted(
        (group for group in run.groups if not group.monitor.alarm),
        key=lambda group: (-group.monitor.evidence, str(group.group)),
    )
    lines: list[tuple[str, ...]] = [heads]
    for group in (*alarming, *quiet):
        forecast, observed, evidence = (
            group.mean_prediction,
            group.base_rate,
            group.monitor.evidence,
        )
        ratio = NOTHING if forecast <= 0 else factor_text(observed / forecast)
        lines.append(
            (
                shortened(visible(str(group.group)), LABEL),
                thousands_text(group.rows),
                *distinct_texts(forecast, observed),
                ratio,
                "infinite" if evidence == math.inf else f"{evidence:.3g}",
                group.alarm_time or "none",
            )
        )
    return lines


def group_lines(run: MonitorRun, most: int | None = None) -> list[str]:
    """Align the table of groups: names and alarms on the left, numbers on the right."""
    table = group_table(run)
    hidden = 0 if most is None else max(0, len(table) - 1 - most)
    table = table[: len(table) - hidden]
    needed = f"{1 / run.groups[0].monitor.alpha:.3g}"
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 1
    lines = [
        "  ".join(
            f"{cell:<{width}}" if index in {0, last} else f"{cell:>{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    if hidden:
        lines.append(f"({count_text(hidden, 'more group')}; --full shows all)")
    return [*lines, f"An alarm of a group needs evidence of {needed}."]


def window_table(windows: Sequence[Window], noun: str = "row") -> list[tuple[str, ...]]:
    """Write heads and a line for each window of time."""
    heads = ("from", f"{noun}s", "mean forecast", "observed rate", "smooth error", "noise floor")
    return [heads, *(_cells(window) for window in windows)]


def _cells(window: Window) -> tuple[str, ...]:
    forecast, observed = window.mean_prediction, window.base_rate
    if forecast is None or observed is None or window.smooth_error is None:
        return (window.start, "0", *[NOTHING] * 4)
    error, floor = comparable_texts(window.smooth_error, window.noise_floor or 0.0)
    rates = distinct_texts(forecast, observed)
    return (window.start, thousands_text(window.rows), *rates, error, floor)


def _lines(watched: MonitoredGroup) -> Iterator[str]:
    """Write a group: what the monitor says, and the last windows."""
    monitor, noun = watched.monitor, watched.noun
    group = "" if watched.group is None else f"{watched.group}: "
    entered, how = count_text(watched.rows, "row"), monitor.cluster_forecast
    if how is not None:
        entered = f"{count_text(monitor.rows, 'cluster')} ({entered})"
    yield f"{group}{entered} from {watched.first} to {watched.last}"
    if how is not None:
        yield f"Each cluster enters once, {WITH[how]}, at its last time."
    if how == "mean":
        yield "A mean is less extreme than good forecasts are: an alarm may say no more."
    yield monitor.sentence
    if watched.alarm_time is not None:
        yield f"The alarm was raised at {watched.alarm_time}."
    if watched.change_time is not None:
        yield (
            f"A change was noticed at {watched.change_time} (a stream within tolerance shows one "
            f"in {count_text(int(monitor.run_length), noun)} on average, or less often)."
        )
    yield ""
    table = window_table(watched.windows[-WINDOWS_IN_TEXT:], noun)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        numbers = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([f"{first:<{widths[0]}}", *numbers])
    earlier = len(watched.windows) - WINDOWS_IN_TEXT
    if earlier > 0:
        yield f"({count_text(earlier, 'earlier window')} not shown)"

"""A watched log as one HTML page, in the style of the audit's: the sentence, groups, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibrant._base.words import count_text, percent_text
from calibrant.report.tables import ShownTable

if TYPE_CHECKING:
    from calibrant.monitoring import MonitoredGroup, MonitorRun

# Windows in a picture, and groups with a picture of their own.
MOST_WINDOWS, MOST_PICTURES = 120, 24


def render_monitor(run: MonitorRun, title: str, notes: Sequence[str] = ()) -> str:
    """Write a log as a page; whatever the user named is escaped."""
    from markupsafe import Markup

    from calibrant import __version__
    from calibrant.monitoring import group_table

    several = len(run.groups) > 1
    quiet = [group for group in run.groups if not group.monitor.alarm]
    ordered = [*run.alarming, *quiet]
    pictured = ordered[:MOST_PICTURES]
    hidden = len(ordered) - len(pictured)
    from calibrant.report.html import page_environment, raw_file

    environment = page_environment()
    page = environment.get_template("monitor.html.jinja").render(
        run=run,
        title=title,
        certainty=_certainty(run),
        notes=notes,
        groups=_shown(group_table(run), "group", "alarm") if several else None,
        groups_caption=f"{count_text(len(run.groups), 'group')} in one table",
        parts=[_part(group, index, Markup) for index, group in enumerate(pictured)],
        hidden=f"{count_text(hidden, 'group')} without a picture." if hidden else "",
        css=raw_file(environment, "report.css"),
        version=__version__,
    )
    return str(page)


def _part(group: MonitoredGroup, index: int, markup: Any) -> dict[str, Any]:
    """Draw a group, and list its windows."""
    from calibrant.monitoring import window_table
    from calibrant.plots import TimeDisplay
    from calibrant.report.pictures import time_picture

    windows = group.windows[-MOST_WINDOWS:]
    sheet = time_picture(TimeDisplay.of(windows))
    sheet.name = f"time-{index}"
    return {
        "group": group,
        "picture": markup(sheet.svg()),
        "windows": _shown(window_table(group.windows, group.noun), "from"),
        "caption": f"{count_text(len(group.windows), 'window')} of {count_text(group.rows, 'row')}",
        "shown": len(windows),
        "left_out": len(group.windows) - len(windows),
    }


def _shown(lines: list[tuple[str, ...]], *words: str) -> ShownTable:
    """Take heads and lines, and the columns that hold words."""
    return ShownTable(lines[0], tuple(lines[1:]), frozenset(words))


def _certainty(run: MonitorRun) -> str:
    """Say what an alarm promises, and what is tolerated."""
    tolerated = run.tolerance
    if tolerated is None:
        tolerance = "The tolerance is the default: 0.02, or a tenth of the forecast"
    elif isinstance(tolerated, str):
        tolerance = f"The tolerance is {tolerated.removesuffix('%')} % of the forecast"
    else:
        tolerance = f"The tolerance is {tolerated:.3g}"
    return (
        f"How sure: forecasts within the tolerance would ever cause an alarm with a chance of at "
        f"most {percent_text(run.alpha)}, however often one looks. {tolerance}. Silence proves "
        "nothing."
    )

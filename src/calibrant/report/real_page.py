"""An audit of real outcomes as one HTML page, in the style of that of probabilities."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calibrant.real import Dot, RealSummary
from calibrant.report import real_words as words
from calibrant.report.drawing import COLOURS, SHAPES, Axis, Sheet
from calibrant.report.json import plain
from calibrant.report.page import page_environment, raw_file, script_data
from calibrant.report.pictures import judged_rows, scale_picture
from calibrant.report.real_audit import told_beside
from calibrant.words import capital, count_text, number_text, percent_text

if TYPE_CHECKING:
    from markupsafe import Markup

# Room beyond the first and the last dot, as a share of the axis.
MARGIN = 0.05
# Width of an axis, at least, as a share of the largest number on it.
NARROWEST = 1e-3


def render_real_page(summary: RealSummary) -> str:
    """Write an audit as a page; whatever the user named is escaped."""
    from markupsafe import Markup

    from calibrant import __version__

    environment = page_environment()
    unit = words.unit_of(summary)
    page = environment.get_template("real.html.jinja").render(
        s=summary,
        words=words,
        conclusion=words.conclusion(summary),
        certainty=words.certainty(summary),
        diagram=Markup(_diagram(summary).svg()),  # noqa: S704  # words are escaped
        strip=Markup(scale_picture(summary.verdict, unit).svg()),  # noqa: S704
        unit=unit,
        data=_script_data(summary),
        meaning=_meaning(summary),
        beside=list(told_beside(summary)),
        facts=partial(judged_rows, tolerance=summary.verdict.tolerance),
        settings={
            name: number_text(value) if isinstance(value, float) else str(value)
            for name, value in summary.settings.items()
        },
        version=__version__,
        css=raw_file(environment, "report.css"),
        js=raw_file(environment, "report.js"),
    )
    return str(page)


def _script_data(summary: RealSummary) -> Markup:
    tables = {} if summary.groups is None else {"groups": plain(summary.groups.table())}
    return script_data({"shapes": SHAPES, "tables": tables})


def _meaning(summary: RealSummary) -> str:
    """Say how to read the diagram."""
    return summary.forecasts.kind.words.meaning


def _diagram(summary: RealSummary) -> Sheet:
    left, top, side = 66.0, 8.0, 346.0
    base = top + side
    sheet = Sheet("reliability", left + side + 14, base + 42, words.headline(summary))
    across = _axis([dot.place for dot in summary.dots], left, left + side)
    if summary.forecasts.kind.in_outcome_units:
        seen = [end for dot in summary.dots for end in (dot.low, dot.high)]
        ends = [*(dot.place for dot in summary.dots), *seen]
        upward = _axis(ends, base, top)
        low = max(across.span.low, upward.span.low)
        high = min(across.span.high, upward.span.high)
        if low < high:
            sheet.line(across([low, high]), upward([low, high]), "quiet", dashed=True)
    else:
        upward = Axis.linear(0.0, 1.0, base, top)
        level = float(upward(summary.promised))
        sheet.line([left, left + side], [level, level], "quiet", dashed=True)
        at = level - 5 if level > top + 20 else level + 14
        sheet.text(left + side, at, f"promised: {percent_text(summary.promised)}", "quiet", "end")
    for dot in summary.dots:
        x = float(across(dot.place))
        low, high = np.clip([dot.low, dot.high], upward.span.low, upward.span.high)
        sheet.line([x, x], [float(upward(low)), float(upward(high))], "accent", 1.6)
        # One range in twenty is off by chance alone.
        off = summary.detected and not dot.low <= _right(summary, dot) <= dot.high
        state = "miscalibrated" if off else "calibrated"
        ink = COLOURS[state]
        sheet.dot(x, float(upward(dot.region.outcome)), capital(_told(dot)), state, ink)
    terms = summary.forecasts.kind.words
    sheet.upward(upward, left, terms.observed_axis, percent=terms.points)
    sheet.across(across, base, terms.axis, percent=False)
    return sheet


def _right(summary: RealSummary, dot: Dot) -> float:
    return dot.region.prediction if summary.forecasts.kind.in_outcome_units else summary.promised


def _told(dot: Dot) -> str:
    region = dot.region
    rows = count_text(region.rows, "row")
    return f"{region.where}: {region.forecast_and_observed} ({rows})"


def _axis(values: list[float], start: float, end: float) -> Axis:
    known = [value for value in values if np.isfinite(value)]
    low, high = min(known), max(known)
    # Numbers of a narrower axis would need more digits than a reader takes in.
    wider = max(0.0, NARROWEST * max(abs(low), abs(high)) - (high - low)) / 2
    low, high = low - wider, high + wider
    room = MARGIN * (high - low) if high > low else 1.0
    return Axis.linear(low - room, high + room, start, end)

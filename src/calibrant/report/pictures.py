"""The pictures of a page: the data of the Displays, drawn as SVG that can be pointed at."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.words import (
    capital,
    count_text,
    distinct_texts,
    number_text,
    percent_text,
    range_text,
    rounded_down,
    rounded_up,
    thousands_text,
)
from calibrant.inference import DETECTABLE, ErrorUnit, Group, Groups, ObservedRange, Verdict
from calibrant.plots import (
    BEYOND,
    LEAST_AXIS,
    DecisionLossDisplay,
    GroupsDisplay,
    ReliabilityDisplay,
    TimeDisplay,
    WitnessDisplay,
    short_name,
)
from calibrant.report.drawing import COLOURS, LETTER, Axis, Sheet, round_numbers, thin
from calibrant.report.sentences import headline
from calibrant.report.summary import HEADLINE, Summary

# Room beyond the first and the last dot, as a share of the axis.
MARGIN = 0.05
# Width of an axis, at least, as a share of the largest number on it.
NARROWEST = 1e-3
# Pixels of a picture that spans the page, and of one beside another.
WIDE, HALF = 520, 440
# Thinnest and thickest line of the curve: the more forecasts, the thicker.
THIN, THICK = 1.2, 5.0
# The band of a single forecast is so wide.
NARROW_BAND = 12.0
# Bars of the histogram whose mean is the density of the middle one.
NEAR = 7
# Letters of the longest name beside a picture.
LONGEST_NAME = 22


def pictures(summary: Summary) -> dict[str, str]:
    """Draw everything a page shows, by name."""
    drawn = {"scale": scale_picture(summary.verdict)}
    if summary.costs is None:
        drawn["reliability"] = _ranges(summary)
    else:
        drawn["reliability"] = _reliability(summary.diagram, summary)
        drawn["witness"] = _witness(
            WitnessDisplay.of_error(summary.joint, summary.measured.values[HEADLINE]),
            detected=summary.verdict.test.headline.pvalue <= DETECTABLE,
        )
        drawn["costs"] = _costs(DecisionLossDisplay(summary.costs.curve, summary.costs.perfect))
    allowed = summary.verdict.tolerance
    if summary.classes is not None:
        drawn["classes"] = _groups("classes", summary.classes.by_class, allowed)
    if summary.groups is not None and summary.kind.summed:
        drawn["groups"] = _groups("groups", summary.groups, allowed)
    if summary.watched is not None:
        drawn["time"] = time_picture(TimeDisplay.of(summary.watched.windows))
    return {name: sheet.svg() for name, sheet in drawn.items()}


def rates_text(forecast: float, observed: float) -> str:
    """Say what was forecast and what was observed, with digits that tell them apart."""
    texts = distinct_texts(forecast, observed)
    return f"forecast {texts[0]}, observed {texts[1]}"


def _reliability(display: ReliabilityDisplay, summary: Summary) -> Sheet:
    left, top, side, bars = 66.0, 8.0, 346.0, 46.0
    base = top + side
    foot = base + 8 + bars
    clipped = display.span.hidden(display.dots["prediction"], display.dots["outcome"]).any()
    sheet = Sheet("reliability", left + side + 14, foot + (94 if clipped else 78), display.sentence)
    across, upward = Axis(display.span, left, left + side), Axis(display.span, base, top)
    region = display.region if display.detected else None
    if region is not None:
        ends = across([region.low, region.high]) + np.array([-1.0, 1.0])
        sheet.area(ends[[0, 1, 1, 0]], [top, top, base, base], "warning", 0.12)
    if display.band is not None:
        at = across(display.band.prediction)
        edges = [thin(at, upward(edge)) for edge in (display.band.low, display.band.high)]
        x, y = (np.append(low, high[::-1]) for low, high in zip(*edges, strict=True))
        if np.ptp(x) < NARROW_BAND:  # one forecast
            x = x[0] + NARROW_BAND * np.array([-0.5, 0.5, 0.5, -0.5])
            y = y[[0, 0, -1, -1]]
        sheet.area(x, y, "band")
    sheet.line([left, left + side], [base, top], "quiet", dashed=True)
    with sheet.part("before"):
        _weighted_curve(sheet, display, across, upward)
        _dots(sheet, display, across, upward)
    if summary.diagram_after is not None:
        with sheet.part("after", hidden=True):
            _weighted_curve(sheet, summary.diagram_after, across, upward)
            _dots(sheet, summary.diagram_after, across, upward)
    most = max(float(display.counts["rows"].max()), 1.0)
    for low, high, rows in zip(*(display.counts[n] for n in ("low", "high", "rows")), strict=True):
        x = across([low, high]) + (np.array([-1.5, 1.5]) if low == high else 0)
        words = f"{count_text(int(rows), 'forecast')} {range_text(low, high)}"
        sheet.bar(float(x[0]), float(x[1]), foot - bars * float(rows) / most, foot, words)
    sheet.text(left - 7, foot - bars + 9, thousands_text(most), "quiet", "end", size=11)
    sheet.text(left - 7, foot, "rows", "quiet", "end", size=11)
    sheet.upward(upward, left, summary.words.observed_axis)
    sheet.across(across, foot, summary.words.axis)
    parts = None if summary.costs is None else summary.costs.decomposition
    assert parts is not None  # noqa: S101  # events have costs
    values = (parts.miscalibration, parts.discrimination, parts.uncertainty)
    # On the side of the diagonal where the curve is not.
    low = display.region is not None and display.region.outcome < display.region.prediction
    side_x, first, anchor = left + side - 6, base - 40, "end"
    if low:
        side_x, first, anchor = left + 8, top + 14, "start"
    for line, (name, value) in enumerate(zip(("MCB", "DSC", "UNC"), values, strict=True)):
        words = f"{name} {number_text(value)}"
        sheet.text(side_x, first + 15 * line, words, "quiet", anchor, size=11)
    _legend(sheet, display, left, foot + 52, clipped=bool(clipped))
    return sheet


def _ranges(summary: Summary) -> Sheet:
    """Draw what was observed in ranges of the forecasts, of kinds that are no probabilities."""
    left, top, side = 66.0, 8.0, 346.0
    base = top + side
    sheet = Sheet("reliability", left + side + 14, base + 42, headline(summary))
    across = _axis_of([dot.coordinate for dot in summary.ranges], left, left + side)
    if summary.kind.in_outcome_units:
        limits = [end for dot in summary.ranges for end in (dot.low, dot.high)]
        ends = [*(dot.coordinate for dot in summary.ranges), *limits]
        upward = _axis_of(ends, base, top)
        low = max(across.span.low, upward.span.low)
        high = min(across.span.high, upward.span.high)
        if low < high:
            sheet.line(across([low, high]), upward([low, high]), "quiet", dashed=True)
    else:
        upward = Axis.linear(0.0, 1.0, base, top)
        level = float(upward(summary.data.forecast))
        sheet.line([left, left + side], [level, level], "quiet", dashed=True)
        at = level - 5 if level > top + 20 else level + 14
        sheet.text(
            left + side, at, f"promised: {percent_text(summary.data.forecast)}", "quiet", "end"
        )
    for dot in summary.ranges:
        x = float(across(dot.coordinate))
        low, high = np.clip([dot.low, dot.high], upward.span.low, upward.span.high)
        sheet.line([x, x], [float(upward(low)), float(upward(high))], "accent", 1.6)
        # One range in twenty is off by chance alone.
        off = summary.detected and not dot.low <= _right(summary, dot) <= dot.high
        state = "miscalibrated" if off else "calibrated"
        ink = COLOURS[state]
        sheet.dot(x, float(upward(dot.region.outcome)), capital(_range_words(dot)), state, ink)
    terms = summary.kind.words
    sheet.upward(upward, left, terms.observed_axis, percent=terms.points)
    sheet.across(across, base, terms.axis, percent=False)
    return sheet


def _right(summary: Summary, found: ObservedRange) -> float:
    return found.region.prediction if summary.kind.in_outcome_units else summary.data.forecast


def _range_words(found: ObservedRange) -> str:
    region = found.region
    return f"{region.where}: {region.forecast_and_observed} ({count_text(region.rows, 'row')})"


def _axis_of(values: list[float], start: float, end: float) -> Axis:
    known = [value for value in values if np.isfinite(value)]
    low, high = min(known), max(known)
    # Numbers of a narrower axis would need more digits than a reader takes in.
    wider = max(0.0, NARROWEST * max(abs(low), abs(high)) - (high - low)) / 2
    low, high = low - wider, high + wider
    margin = MARGIN * (high - low) if high > low else 1.0
    return Axis.linear(low - margin, high + margin, start, end)


def _weighted_curve(sheet: Sheet, display: ReliabilityDisplay, across: Axis, upward: Axis) -> None:
    """Draw the curve the thicker, the more forecasts there are (as Błasiok and Nakkiran do)."""
    known = np.isfinite(display.curve["outcome"])
    at, outcome = display.curve["prediction"][known], display.curve["outcome"][known]
    cuts = np.unique(np.append(display.counts["low"], display.counts["high"]))
    cuts = cuts[(cuts > at[0]) & (cuts < at[-1])]
    order = np.argsort(np.append(at, cuts), kind="stable")
    x, y = thin(
        across(np.append(at, cuts)[order]),
        upward(np.append(outcome, np.interp(cuts, at, outcome))[order]),
    )
    rows = np.convolve(display.counts["rows"], np.ones(NEAR) / NEAR, mode="same")
    rows = rows / max(float(rows.max()), 1e-300)
    middle = across((display.counts["low"] + display.counts["high"]) / 2)
    near = np.abs((x[1:] + x[:-1])[:, np.newaxis] / 2 - middle).argmin(axis=1)
    # Few widths make few lines.
    width = np.round(2 * (THIN + (THICK - THIN) * np.sqrt(rows[near]))) / 2
    starts = np.flatnonzero(np.diff(width, prepend=-1.0))
    for start, stop in pairwise([*starts.tolist(), width.size]):
        sheet.line(x[start : stop + 1], y[start : stop + 1], "accent", float(width[start]))


def _dots(sheet: Sheet, display: ReliabilityDisplay, across: Axis, upward: Axis) -> None:
    names = ("low", "high", "rows", "prediction", "outcome", "interval_low", "interval_high")
    clipped = display.span.hidden(display.dots["prediction"], display.dots["outcome"])
    for low, high, rows, forecast, happened, least, most, hidden in zip(
        *(display.dots[name] for name in names), clipped, strict=True
    ):
        if not rows:
            continue
        x, y = float(across(forecast)), float(upward(happened))
        where = "" if low == high else f" {range_text(low, high)}"
        words = f"{count_text(int(rows), 'forecast')}{where}: {rates_text(forecast, happened)}"
        if np.isfinite(least):
            words += f" ({range_text(least, most, 'about')})"
            sheet.line([x, x], [float(upward(least)), float(upward(most))], "ink", 1.2)
        sheet.dot(
            x, y, words, ink="paper" if hidden else "accent", edge="accent" if hidden else "paper"
        )


def _legend(
    sheet: Sheet, display: ReliabilityDisplay, left: float, y: float, *, clipped: bool
) -> None:
    sure = percent_text(display.confidence)
    sheet.shape(left - 50, y - 4, "calibrated", "accent")
    dots = count_text(display.dots["rows"].size, "forecast" if display.by_value else "bin")
    barred = f", {sure} intervals" if np.isfinite(display.dots["interval_low"]).any() else ""
    sheet.text(left - 40, y, f"{dots}{barred}", "quiet", size=11)
    sheet.line([left - 56, left - 44], [y + 12, y + 12], "accent", 3)
    sheet.text(left - 40, y + 16, "calibration curve", "quiet", size=11)
    if display.band is not None:
        sheet.area(left + np.array([156.0, 168, 168, 156]), y - np.array([10.0, 10, 0, 0]))
        sheet.text(left + 173, y, f"{sure} band if calibrated", "quiet", size=11)
    sheet.line([left + 156, left + 168], [y + 12, y + 12], "quiet", dashed=True)
    sheet.text(left + 173, y + 16, "perfect forecasts", "quiet", size=11)
    if clipped:
        sheet.shape(left - 50, y + 28, "calibrated", "paper", "accent")
        sheet.text(left - 40, y + 32, BEYOND, "quiet", size=11)


def scale_picture(verdict: Verdict) -> Sheet:
    """Draw smooth error and typical gap on one scale, with tolerances and what chance does."""
    unit = ErrorUnit.of(verdict.kind)
    chance = verdict.test.headline.noise_quantile(0.95)
    tracks = [("smooth error", verdict.interval, verdict.tolerance, verdict.error_state, chance)]
    if verdict.gap is not None:
        gap = verdict.gap
        tracks.append(("typical gap", gap.interval, gap.tolerance, gap.state, 0.0))
    left, right = 14.0, HALF - 14.0
    ends = [
        end for _, at, allowed, _, noise in tracks for end in (at.value, at.high, allowed, noise)
    ]
    most = max(end for end in ends if np.isfinite(end))
    axis = Axis.linear(0, 1.12 * most, left, right)
    sheet = Sheet("scale", HALF, 64.0 * len(tracks) + 46, verdict.sentence)
    for index, (name, interval, allowed, state, noise) in enumerate(tracks):
        top = 64.0 * index
        line = top + 40
        sheet.text(left, top + 16, capital(name), bold=True)
        found = unit.text(interval.value)
        low, high = unit.number(interval.low, rounded_down), unit.number(interval.high, rounded_up)
        known, limit = f"{found} ({low} to {high})", f"tolerated: {unit.text(allowed)}"
        sheet.text(left + LETTER * 15.5, top + 16, known)
        # Long numbers leave no room beside them.
        space = right - left - LETTER * (16.5 + len(known) + len(limit))
        sheet.text(right, top + (16 if space > 0 else 60), limit, "quiet", "end", size=11)
        if noise > 0:
            sheet.area(axis([0, noise, noise, 0]), [line - 9, line - 9, line + 9, line + 9])
        sheet.line([left, right], [line, line])
        factor = allowed / verdict.tolerance
        sheet.tolerance(axis, allowed, line - 15, line + 15, factor=factor)
        visible = [interval.low, min(interval.high, axis.span.high)]
        sheet.line(axis(visible), [line, line], COLOURS[state], 6)
        words = f"{capital(name)} {found}, between {low} and {high}"
        sheet.dot(
            float(axis(interval.value)), line, f"{words}; {limit}: {state}",
            state, COLOURS[state], kind=f"judged {state}",
            data=judged_by(interval.low, interval.high, factor),
        )  # fmt: skip
    foot = 64.0 * len(tracks) + 2
    for number in round_numbers(0, axis.span.high / unit.size):
        at = float(axis(number * unit.size))
        sheet.text(at, foot + 10, number_text(number), "quiet", "middle", size=11)
    sheet.area([left, left + 12, left + 12, left], [foot + 24, foot + 24, foot + 34, foot + 34])
    sheet.text(left + 17, foot + 34, "noise, 95 %", "quiet", size=11)
    sheet.line([left + 150] * 2, [foot + 22, foot + 36], "warning", 1.6, dashed=True)
    sheet.text(left + 157, foot + 34, "tolerance", "quiet", size=11)
    sheet.line([left + 240, left + 258], [foot + 30, foot + 30], "quiet", 6)
    sure = percent_text(verdict.interval.confidence)
    sheet.text(left + 264, foot + 34, f"{sure} confidence limits", "quiet", size=11)
    return sheet


def judged_by(low: float, high: float, factor: float = 1.0) -> dict[str, object]:
    """Give the slider of the page what it needs to judge by another tolerance."""
    # Scripts read no infinity from text.
    most = min(high, sys.float_info.max)
    return {"low": f"{low:.8g}", "high": f"{most:.8g}", "factor": f"{factor:.6g}"}


def judged_rows(groups: Groups, tolerance: float) -> list[dict[str, object]]:
    """Give the slider what it needs to judge all groups, of whom another error is tolerated."""
    return [_judged_group(groups, group, tolerance) for group in groups]


def _judged_group(groups: Groups, group: Group, tolerance: float) -> dict[str, object]:
    facts = judged_by(group.low, group.high, groups.tolerance / tolerance)
    if group.gap is None or groups.gap_tolerance is None:
        return facts
    gap = judged_by(group.gap.low, group.gap.high, groups.gap_tolerance / tolerance)
    return facts | {f"gap-{name}": value for name, value in gap.items()}


def _groups(name: str, groups: Groups, tolerance: float) -> Sheet:
    """Draw a dumbbell for each group, from forecast to observed rate; outliers end in an arrow.

    Names stand beside the picture, or above each dumbbell where they are long.
    """
    display = GroupsDisplay.of(groups)
    shown = display.shown
    labels = [group.label if groups.noun == "group" else group.name for group in shown]
    widest = max(map(len, labels))
    above = widest > LONGEST_NAME
    left, step = (12.0, 40.0) if above else (12 + LETTER * widest + 8, 24.0)
    tall = 30 + step * len(shown) + (84 if display.cut else 68)
    sheet = Sheet(name, WIDE, tall, groups.sentence)
    low, high = display.limits
    axis = Axis.linear(low, high, left, WIDE - (40 if display.cut else 20))
    foot = 24 + step * len(shown)
    for value in axis.ticks():
        sheet.line([float(axis(value))] * 2, [14, foot], "band")
    for index, (group, label) in enumerate(zip(shown, labels, strict=True)):
        y = 24 + step * (index + (0.6 if above else 0.4))
        if above:
            sheet.text(left, y - 10, short_name(label, int((WIDE - 24) / LETTER)))
        else:
            sheet.text(left - 8, y + 4, label, anchor="end")
        _dumbbell(sheet, axis, y, group, label, _judged_group(groups, group, tolerance))
    sheet.across(axis, foot, "forecast (ring) and observed rate (filled)")
    states = (("miscalibrated", "beyond the tolerance"), ("undecided", "undecided"),
              ("calibrated", "within"))  # fmt: skip
    at = left
    for state, words in states:
        sheet.shape(at + 5, foot + 47, state, COLOURS[state])
        sheet.text(at + 15, foot + 51, words, "quiet", size=11)
        at += 34 + LETTER * len(words)
    sure = percent_text(groups.confidence)
    lines = f"Thin lines: {sure} confidence intervals of the rates, all at once"
    ends = np.array([GroupsDisplay.rate_limits(group) for group in shown])
    if ends.min() < low or ends.max() > high:
        lines += ", cut at the ends of the axis"
    sheet.text(12, foot + 68, lines, "quiet", size=11)
    if display.cut:
        sheet.text(12, foot + 84, "Arrows: observed rates beyond the axis", "quiet", size=11)
    return sheet


def _dumbbell(
    sheet: Sheet, axis: Axis, y: float, group: Group, label: str, facts: dict[str, object]
) -> None:
    forecast, happened = group.forecast, group.observed
    least, most = (float(end) for end in GroupsDisplay.rate_limits(group))
    gap, ratio = "", "" if group.ratio is None else f"; O/E {group.ratio.text}"
    if group.gap is not None:
        ends = range_text(group.gap.low, group.gap.high, "about")
        gap = f"; typical gap {group.gap.value:.3g} ({ends})"
    words = (
        f"{label}: {count_text(group.rows, 'row')}; {rates_text(forecast, happened)} "
        f"({range_text(least, most, 'about')}){ratio}; error {group.value:.3g} "
        f"({range_text(group.low, group.high, 'about')}){gap}: {group.state}"
    )
    sheet.line(axis([least, most]), [y, y], "muted", 1)
    sheet.line(axis([forecast, happened]), [y, y], "quiet", 2.5)
    sheet.shape(float(axis(forecast)), y, "calibrated", "paper", "ink")
    shape = group.state
    if not axis.span.low <= happened <= axis.span.high:
        shape = "right" if happened > axis.span.high else "left"
        rate = percent_text(happened)
        label_at = (axis.end + 8, "start") if shape == "right" else (axis.start + 10, "start")
        sheet.text(label_at[0], y + 4, rate, "quiet", label_at[1], size=11)
    sheet.dot(
        float(axis(happened)), y, words, shape, COLOURS[group.state],
        kind=f"judged {group.state}", data=facts,
    )  # fmt: skip


def _costs(display: DecisionLossDisplay) -> Sheet:
    left, top, base = 64.0, 10.0, 190.0
    sheet = Sheet("costs", WIDE, base + 46, display.sentence)
    frame = display.frame()
    curves = [(frame["threshold"], frame["loss"])]
    if display.perfect is not None:
        curves.append((display.perfect.threshold, display.perfect.most))
    highest = max(float(loss.max()) for _, loss in curves)
    across = Axis.linear(*_visible_range(curves, highest), left, WIDE - 20)
    upward = Axis.linear(0, 1.1 * max(highest, LEAST_AXIS), base, top)
    for at, loss in curves[1:]:
        _hill(sheet, across(at), upward(loss), base, "band")
    at, loss = curves[0]
    x, y = thin(across(at), upward(loss))
    sheet.area([x[0], *x, x[-1]], [base, *y, base], "accent", 0.2)
    sheet.line(x, y, "accent", 1.6)
    sheet.across(across, base, "decision threshold")
    sheet.upward(upward, left, "loss per decision", percent=False)
    return sheet


def _visible_range(curves: list[tuple[Floats, Floats]], highest: float) -> tuple[float, float]:
    """Find the thresholds at which a loss can be seen: few where forecasts are rare."""
    at = np.concatenate([x[y > highest / 100] for x, y in curves])
    low, high = (0.0, 1.0) if at.size == 0 else (float(at.min()), float(at.max()))
    margin = 0.05 * (high - low)
    if high - low < LEAST_AXIS or high - low > 0.5:
        return 0.0, 1.0
    return max(low - margin, 0.0), min(high + margin, 1.0)


def _hill(sheet: Sheet, x: Floats, y: Floats, base: float, ink: str) -> None:
    sheet.area([x[0], *x, x[-1]], [base, *y, base], ink)


def _witness(display: WitnessDisplay, *, detected: bool) -> Sheet:
    left, top, base = 64.0, 10.0, 150.0
    found = display.sentence if detected else "The smooth test that finds most bias: by chance."
    sheet = Sheet("witness", WIDE, base + 46, found)
    across, upward = Axis(display.span, left, WIDE - 20), Axis.linear(-1.05, 1.05, base, top)
    x, y = thin(across(display.prediction), upward(display.witness))
    zero = float(upward(0.0))
    for ink, side in (("accent", np.minimum(y, zero)), ("warning", np.maximum(y, zero))):
        sheet.area([x[0], *x, x[-1]], [zero, *side, zero], ink, 0.3)
    sheet.line([left, WIDE - 20], [zero, zero])
    sheet.line(x, y, "quiet", 1.4)
    sheet.text(WIDE - 24, top + 12, "forecasts too low", "quiet", "end")
    sheet.text(WIDE - 24, base - 6, "forecasts too high", "quiet", "end")
    sheet.across(across, base, "forecast")
    sheet.upward(upward, left, "test", percent=False)
    return sheet


def time_picture(display: TimeDisplay) -> Sheet:
    """Draw forecast and observed rate, window by window."""
    left, top, base = 64.0, 10.0, 220.0
    sheet = Sheet("time", WIDE, base + 66, display.sentence)
    low, high = display.chance
    drawn = np.append(high, [display.base_rate, display.mean_prediction])
    most = max(float(np.nanmax(drawn, initial=0.0)), LEAST_AXIS)
    upward = Axis.linear(0, min(1.15 * most, 1.03), base, top)
    count = display.start.size
    across = Axis.linear(-0.5, max(count - 0.5, 0.5), left, WIDE - 20)
    at = across(np.arange(count))
    for some in _runs(np.isfinite(low)):
        edge = np.append(upward(low[some]), upward(high[some])[::-1])
        sheet.area(np.append(at[some], at[some][::-1]), edge)
        sheet.line(at[some], upward(display.mean_prediction[some]), "ink", 1.6, dashed=True)
        sheet.line(at[some], upward(display.base_rate[some]), "accent", 1.6)
    for index in np.flatnonzero(np.isfinite(display.base_rate)).tolist():
        forecast, happened = display.mean_prediction[index], display.base_rate[index]
        inside = low[index] <= happened <= high[index]
        words = (
            f"{display.start[index]}: {count_text(int(display.rows[index]), 'row')}; "
            f"{rates_text(forecast, happened)}; 95 % band "
            f"{range_text(low[index], high[index], 'about')}"
        )
        shape, ink = ("calibrated", "accent") if inside else ("miscalibrated", "warning")
        sheet.dot(float(at[index]), float(upward(happened)), words, shape, ink)
    sheet.line([left, WIDE - 20], [base, base])
    for index in np.unique(np.linspace(0, count - 1, min(5, count)).astype(int)).tolist():
        sheet.text(float(at[index]), base + 16, str(display.start[index]), "quiet", "middle",
                   size=11)  # fmt: skip
    sheet.upward(upward, left, "rate")
    sheet.line([left, left + 18], [base + 40, base + 40], "ink", 1.6, dashed=True)
    sheet.text(left + 24, base + 44, "mean forecast", "quiet", size=11)
    sheet.line([left + 130, left + 148], [base + 40, base + 40], "accent", 1.6)
    sheet.text(left + 154, base + 44, "observed rate", "quiet", size=11)
    sheet.area(left + np.array([260.0, 278, 278, 260]), base + np.array([34.0, 34, 46, 46]))
    sheet.text(left + 284, base + 44, "95 % band if calibrated, all at once", "quiet", size=11)
    return sheet


def _runs(known: npt.NDArray[np.bool_]) -> list[slice]:
    """Stretches of neighbours that are known."""
    ends = np.flatnonzero(np.diff(known, prepend=False, append=False))
    return [slice(int(start), int(stop)) for start, stop in ends.reshape(-1, 2)]

"""The tables of a report, built once and written as text, Markdown or HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calibrant._base.words import (
    chance_text,
    comparable_texts,
    escaped,
    fixed_text,
    interval_texts,
    markdown_table,
    number_text,
    rounded_down,
    rounded_up,
    shortened,
    thousands_text,
    visible,
)
from calibrant.catalogue import CATALOGUE
from calibrant.inference import ConfidenceInterval, Measured, Ratio, RatioJudgement, events_text
from calibrant.joint.ranking import area_under_curve
from calibrant.report.sentences import segment_verdict

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment
    from calibrant.report.summary import Summary

WORDS = frozenset({"group", "class", "segment", "measure", "verdict", "settings", "what it asks"})
PERFECT = "noise floor"
FORECAST, OBSERVED = "mean forecast", "observed rate"
# The p-value of a segment.
PVALUE = "p-value"
# Observed over expected events.
RATIO, EVENTS = "O/E", "events"
GAP, GAP_BETWEEN = "typical gap", "gap between"
# Digits after the point of a rate that is next to nothing.
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class ShownTable:
    """Heads of columns, and cells that are ready to be read."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[str] = WORDS
    """Columns of words; all others hold numbers."""

    def only(self, *heads: str) -> ShownTable:
        """Keep some columns, in the order given."""
        indices = [self.heads.index(head) for head in heads]
        rows = tuple(tuple(row[index] for index in indices) for row in self.rows)
        return replace(self, heads=heads, rows=rows)

    def cut(self, start: int, stop: int | None = None) -> ShownTable:
        """Keep some rows."""
        return replace(self, rows=self.rows[start:stop])

    def shortened(self, head: str, width: int) -> ShownTable:
        """Cut the cells of a column that are longer than a width."""
        index = self.heads.index(head)
        rows = [
            (*row[:index], shortened(row[index], width), *row[index + 1 :]) for row in self.rows
        ]
        return replace(self, rows=tuple(rows))

    def is_numeric(self, head: str) -> bool:
        """Whether a column holds numbers, which stand on the right."""
        return head not in self.words

    def text(self, heads: tuple[str, ...] | None = None) -> Iterator[str]:
        """Write lines of equal columns, for a terminal, perhaps under other heads."""
        lines = [heads or self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = [
                f"{cell:>{width}}" if self.is_numeric(head) else f"{cell:<{width}}"
                for head, cell, width in zip(self.heads, line, widths, strict=True)
            ]
            yield "  ".join(cells).rstrip()

    def markdown(self) -> Iterator[str]:
        """Write a table of Markdown; words of others stay words."""
        rows = [[escaped(cell) for cell in row] for row in self.rows]
        return markdown_table(self.heads, rows)


def group_table(groups: Groups) -> ShownTable:
    """Show every group, or class, the strongest evidence first; classes have the same rows."""
    words = groups.groups[0].kind.words
    fixed, numbers = _digits(groups), words.ratio != RATIO
    rows = []
    for group in groups:
        if numbers:
            both = words.amounts(group.forecast, group.observed)
            error, floor = comparable_texts(group.value, group.noise_floor)
            between = f"{rounded_down(group.low)} and {rounded_up(group.high)}"
        else:
            both = fixed_text(group.forecast, fixed - 1), _fixed(group.observed, fixed - 1)
            error, floor = fixed_text(group.value, fixed), fixed_text(group.noise_floor, fixed)
            between = f"{_fixed(group.low, fixed)} and {_fixed(group.high, fixed)}"
        rows.append(
            (
                group.label if groups.noun == "group" else visible(group.name),
                thousands_text(group.rows),
                "" if group.events is None else thousands_text(group.events),
                *both,
                *_ratio_cells(group.ratio),
                error,
                between,
                floor,
                *_gap_cells(group.gap, None if numbers else fixed),
                f"{group.state}, few rows" if group.small else group.state,
            )
        )
    ratio = words.ratio or RATIO
    table = ShownTable(
        (
            groups.noun,
            "rows",
            EVENTS,
            words.forecast,
            words.observed,
            ratio,
            f"{ratio} between",
            "error",
            "between",
            PERFECT,
            GAP,
            GAP_BETWEEN,
            "verdict",
        ),
        tuple(rows),
    )
    left_out = [] if groups.noun == "group" else ["rows"]
    if groups.gap_tolerance is None:
        left_out += [GAP, GAP_BETWEEN]
    if all(group.events is None for group in groups):
        left_out.append(EVENTS)
    if all(group.ratio is None for group in groups):
        left_out += [ratio, f"{ratio} between"]
    return table.only(*(head for head in table.heads if head not in left_out))


def brief_heads(groups: Groups, table: ShownTable) -> list[str]:
    """Name the columns of a table of groups that fit a terminal."""
    words = groups.groups[0].kind.words
    ratio = words.ratio or RATIO
    wanted = [
        groups.noun,
        "rows" if groups.noun == "group" else EVENTS,
        words.forecast,
        words.observed,
        ratio,
        *(["between"] if ratio not in table.heads else []),
    ]
    return [head for head in wanted if head in table.heads]


def markdown_group_table(groups: Groups) -> ShownTable:
    """Show a line for each group with observed over expected events."""
    table, brief = group_table(groups), brief_group_table(groups).heads
    ratio = groups.groups[0].kind.words.ratio or RATIO
    shown = [*brief[:-1], ratio, f"{ratio} between", brief[-1]]
    return table.only(*(head for head in shown if head in table.heads))


def _digits(groups: Groups) -> int:
    """Digits after the point that show the tolerance, and the rarest event, with two digits."""
    rates = [rate / 10 for g in groups for rate in (g.forecast, g.observed) if rate > 0]
    smallest = max(min([groups.tolerance, *rates]), 10.0**-MOST_DIGITS)
    return max(4, 1 - math.floor(math.log10(smallest)))


def _fixed(value: float, digits: int) -> str:
    return fixed_text(value, digits) if value else "0"


def _gap_cells(gap: ConfidenceInterval | None, digits: int | None) -> tuple[str, str]:
    if gap is None:
        return "", ""
    if digits is None:
        ends = f"{rounded_down(gap.low)} and {rounded_up(gap.high)}"
        return comparable_texts(gap.value)[0], ends
    ends = f"{_fixed(gap.low, digits)} and {_fixed(gap.high, digits)}"
    return fixed_text(gap.value, digits), ends


def _ratio_cells(ratio: Ratio | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    value, low, high = ratio.texts
    return value, f"{low} and {high}"


def ratio_table(groups: Groups, judged: RatioJudgement | None) -> ShownTable:
    """Show events of every group beside those forecast, narrow enough for any terminal."""
    # Weights are no events: these numbers are in units of the mean weight.
    ratios = [(group.label, group.ratio) for group in groups if group.ratio is not None]
    weighted = any(ratio.weighted for _, ratio in ratios)
    counted = ("weighted observed", "expected") if weighted else ("observed", "expected")
    heads = (groups.noun, *counted, groups.groups[0].kind.words.ratio or RATIO, "between")
    rows = [
        (label, events_text(ratio.observed), events_text(ratio.expected), *_ratio_cells(ratio))
        for label, ratio in ratios
    ]
    if judged is None:
        return ShownTable(heads, tuple(rows))
    states = [verdict.state for _, verdict in judged.groups]
    return ShownTable(
        (*heads, "verdict"), tuple((*row, s) for row, s in zip(rows, states, strict=True))
    )


def brief_group_table(groups: Groups) -> ShownTable:
    """Show what fits on a line."""
    size = "rows" if groups.noun == "group" else EVENTS
    gap = [GAP] if any(group.worst is not None for group in groups) else []
    words = groups.groups[0].kind.words
    both = words.forecast, words.observed
    return group_table(groups).only(groups.noun, size, *both, "error", "between", *gap, "verdict")


def measure_table(measured: Measured) -> ShownTable:
    """Show every measure beside its noise floor, what perfect forecasts get on the same rows."""
    texts = {
        name: comparable_texts(float(value), measured.floors[name])
        for name, value in measured.values.items()
    }
    return ShownTable(
        ("measure", "value", PERFECT, "settings", "what it asks"),
        tuple(
            (
                CATALOGUE[name].title,
                *texts[name],
                ", ".join(f"{k} {v}" for k, v in value.settings.items() if k != "clipped"),
                CATALOGUE[name].asks,
            )
            for name, value in measured.values.items()
        ),
    )


def segment_table(segments: Sequence[Segment]) -> ShownTable:
    """Show segments, judged by rows that did not choose them."""
    words = segments[0].kind.words
    rows = []
    for one in segments:
        both: tuple[str, ...] = f"{one.forecast:.3f}", f"{one.observed:.3f}"
        if one.events is None:
            both = words.amounts(one.forecast, one.observed)
        events = [] if one.events is None else [thousands_text(one.events)]
        cells = chance_text(one.pvalue), segment_verdict(one)
        rows.append((one.label, thousands_text(one.rows), *events, *both, *cells))
    counted = [] if segments[0].events is None else [EVENTS]
    heads = ("segment", "rows", *counted, words.forecast, words.observed, PVALUE, "verdict")
    return ShownTable(heads, tuple(rows))


def range_table(summary: Summary) -> ShownTable:
    """Show what was forecast and observed in each range of the forecasts."""
    words, rows = summary.words, []
    for found in summary.ranges:
        region = found.region
        values = words.amounts(region.prediction, region.outcome, found.low, found.high)
        between = " to ".join(comparable_texts(region.low, region.high))
        rows.append((between, thousands_text(region.rows), *values))
    heads = (words.ranges_of, "rows", words.forecast, words.observed, "from", "to")
    return ShownTable(heads, tuple(rows))


def number_table(summary: Summary) -> ShownTable:
    """Show the main numbers, the errors beside their noise floors."""
    verdict, loss, classical = summary.verdict, summary.loss, summary.classical
    error, floor = comparable_texts(verdict.value, verdict.noise_floor)
    ends = f"{rounded_down(verdict.interval.low)} to {rounded_up(verdict.interval.high)}"
    rows: list[tuple[str, ...]] = [("smooth error", error, ends, floor)]
    if loss is not None and verdict.gap is not None:
        gap = verdict.gap.interval
        ends = f"{rounded_down(gap.low)} to {rounded_up(gap.high)}"
        rows.append(("typical gap", number_text(gap.value), ends, ""))
    binned = summary.measured.values["binned_calibration_error"]
    texts = comparable_texts(float(binned), summary.measured.floors[binned.name])
    rows.append((f"binned error, {binned.settings['bins']} bins", texts[0], "", texts[1]))
    if loss is not None:
        mean, low, high = interval_texts(*loss.bias)
        rows.append((summary.words.bias, mean, f"{low} to {high}", ""))
        if verdict.ratio is not None:
            value, low, high = verdict.ratio.texts
            name = f"observed/expected ({summary.words.ratio})"
            rows.append((name, value, f"{low} to {high}", ""))
        rows.append((loss.name, number_text(loss.value), "", ""))
    if classical is not None:
        value, low, high = classical.ratio.texts
        rows.append(("observed/expected", value, f"{low} to {high}", ""))
        rows.append(("Brier score", *comparable_texts(classical.brier), "", ""))
        rows.append(("AUC", *comparable_texts(area_under_curve(summary.joint)), "", ""))
    return ShownTable(("measure", "value", "interval", PERFECT), tuple(rows))

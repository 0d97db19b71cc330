"""The tables of a report, built once and written as text, Markdown or HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calibrant.catalogue import CATALOGUE
from calibrant.inference import ConfidenceInterval, Measured, Ratio, RatioJudgement, events_text
from calibrant.report.sentences import segment_verdict
from calibrant.words import (
    chance_text,
    comparable_texts,
    escaped,
    fixed_text,
    markdown_table,
    shortened,
    thousands_text,
    visible,
)

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment

WORDS = frozenset({"group", "class", "segment", "measure", "verdict", "settings", "what it asks"})
PERFECT = "noise floor"
FORECAST, OBSERVED = "mean forecast", "observed rate"
# The p-value of a segment.
PVALUE = "p-value"
# Observed over expected events.
RATIO, RATIO_BETWEEN = "O/E", "O/E between"
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
        places = [self.heads.index(head) for head in heads]
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return replace(self, heads=heads, rows=rows)

    def cut(self, start: int, stop: int | None = None) -> ShownTable:
        """Keep some rows."""
        return replace(self, rows=self.rows[start:stop])

    def shortened(self, head: str, width: int) -> ShownTable:
        """Cut the cells of a column that are longer than a width."""
        place = self.heads.index(head)
        rows = [
            (*row[:place], shortened(row[place], width), *row[place + 1 :]) for row in self.rows
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
    digits = _digits(groups)
    table = ShownTable(
        (
            groups.noun,
            "rows",
            "events",
            FORECAST,
            OBSERVED,
            RATIO,
            RATIO_BETWEEN,
            "error",
            "between",
            PERFECT,
            GAP,
            GAP_BETWEEN,
            "verdict",
        ),
        tuple(
            (
                group.label if groups.noun == "group" else visible(group.name),
                thousands_text(group.rows),
                "" if group.events is None else thousands_text(group.events),
                fixed_text(group.forecast, digits - 1),
                _fixed(group.observed, digits - 1),
                *_ratio_cells(group.ratio),
                fixed_text(group.value, digits),
                f"{_fixed(group.low, digits)} and {_fixed(group.high, digits)}",
                fixed_text(group.noise_floor, digits),
                *_gap_cells(group.gap, digits),
                f"{group.state}, few rows" if group.small else group.state,
            )
            for group in groups
        ),
    )
    left_out = [] if groups.noun == "group" else ["rows"]
    if groups.gap_tolerance is None:
        left_out += [GAP, GAP_BETWEEN]
    return table.only(*(head for head in table.heads if head not in left_out))


def markdown_group_table(groups: Groups) -> ShownTable:
    """Show a line for each group with observed over expected events."""
    brief = brief_group_table(groups).heads
    return group_table(groups).only(*brief[:-1], RATIO, RATIO_BETWEEN, brief[-1])


def _digits(groups: Groups) -> int:
    """Digits after the point that show the tolerance, and the rarest event, with two digits."""
    rates = [rate / 10 for g in groups for rate in (g.forecast, g.observed) if rate > 0]
    smallest = max(min([groups.tolerance, *rates]), 10.0**-MOST_DIGITS)
    return max(4, 1 - math.floor(math.log10(smallest)))


def _fixed(value: float, digits: int) -> str:
    return fixed_text(value, digits) if value else "0"


def _gap_cells(gap: ConfidenceInterval | None, digits: int) -> tuple[str, str]:
    if gap is None:
        return "", ""
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
    heads = (groups.noun, *counted, RATIO, "between")
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
    size = "rows" if groups.noun == "group" else "events"
    gap = [GAP] if any(group.worst is not None for group in groups) else []
    heads = (groups.noun, size, FORECAST, OBSERVED, "error", "between", *gap, "verdict")
    return group_table(groups).only(*heads)


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
    return ShownTable(
        ("segment", "rows", "events", FORECAST, OBSERVED, PVALUE, "verdict"),
        tuple(
            (
                segment.label,
                thousands_text(segment.rows),
                "" if segment.events is None else thousands_text(segment.events),
                f"{segment.forecast:.3f}",
                f"{segment.observed:.3f}",
                chance_text(segment.pvalue),
                segment_verdict(segment),
            )
            for segment in segments
        ),
    )

"""An audit on one screen: conclusion, how sure, five numbers, the worst groups, what to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from calibrant._base.words import (
    THIN,
    capital,
    count_text,
    percent_text,
    typeset,
    visible,
)
from calibrant.binning import quantile_bins
from calibrant.joint import Joint
from calibrant.report.conclusion import certainty, conclusion
from calibrant.report.findings import RECALIBRATE
from calibrant.report.sentences import (
    SEGMENTS,
    cost_sentence,
    row_sentence,
    set_sentence,
    split_texts,
)
from calibrant.report.summary import Summary
from calibrant.report.tables import (
    GAP,
    PERFECT,
    brief_heads,
    group_table,
    number_table,
    range_table,
)

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment

# A screen: so many lines and columns, and so many groups.
LINES, COLUMNS, MOST_GROUPS = 24, 100, 5
# Groups get at least so many lines; on a narrow screen all that they want.
FEWEST_LINES, NARROW_SCREEN = 4, 80
# Text is never set narrower than this, and labels are cut to so many characters.
NARROWEST, LABEL = 40, 24
# The diagram: its size, the dots in it, and the space between it and the numbers.
NARROW, WIDE, LOW, TALL, DOTS, GUTTER = 24, 40, 8, 13, 10, 3
# What must not be missed about how rows were read and what to doubt.
NOTED = ("CAL038", "CAL034", "CAL033", "CAL052")
# Meanings of pieces of text, which a terminal colours.
PLAIN, STATE, QUIET, STRONG = "", "state", "quiet", "strong"


@dataclass(frozen=True, slots=True)
class Piece:
    """Text, and what it is."""

    text: str
    style: str = PLAIN


Line = tuple[Piece, ...]


def render_screen(
    summary: Summary,
    *,
    width: int = COLUMNS,
    command: str | None = None,
    taken: int = 0,
    diagram: bool = False,
) -> list[Line]:
    """Write an audit for one screen.

    Parameters
    ----------
    summary : Summary
        What was found.
    width : int, default=100
        Columns of the screen; sentences are broken at them.
    command : str, optional
        What to type next.
    taken : int, default=0
        Lines of the screen that hold something else.
    diagram : bool, default=False
        Whether to draw the reliability diagram beside the numbers, where there is space.
    """
    width = max(NARROWEST, min(width, COLUMNS))
    first = sentence_lines(conclusion(summary), width, STATE)
    sure = sentence_lines(certainty(summary), width)
    further = [sentence_lines(text, width) for text in _further(summary)]
    last = [] if command is None else command_lines(command, width)
    space = LINES - taken - len(first) - len(sure) - _height(last, width)
    numbers, split = _numbers(summary, width), _split(summary, width)
    if summary.certified is not None:  # what to do is never cut
        split = [*split, *sentence_lines(summary.certified.brief, width)]
    space -= len(numbers) + len(split) + 2  # and two empty lines
    never_cut = [*_cautions(summary), *_requested(summary)]
    required = [line for text in never_cut for line in sentence_lines(text, width)]
    notes = _that_fit(further, max(space - len(required) - FEWEST_LINES, 1), width) + required
    groups = _groups(summary, space - len(notes), width)
    if not groups and space - len(notes) > len(summary.ranges) + 1:
        groups = _ranges(summary)
    block = [*numbers, *([()] if groups else []), *groups]
    if diagram and summary.loss is None:
        block = _with_diagram(block, summary.joint, width)
    parts = [[*first, *sure], block, [*split, *notes], last]
    lines: list[Line] = []
    for part in parts:
        lines += [(), *part] if part is block else part
    return lines


def plain(lines: Sequence[Line]) -> str:
    """Write the lines without styles."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def sentence_lines(text: str, width: int, first: str = PLAIN) -> list[Line]:
    """Break text into lines; the words before the first colon may have a style of their own."""
    # Numbers are not broken: their spaces are thin while lines are.
    broken = [line.replace(THIN, " ") for line in wrap(typeset(visible(text)), width)]
    lines: list[Line] = [(Piece(line),) for line in broken]
    begin, colon, rest = lines[0][0].text.partition(":") if lines else ("", "", "")
    if first and colon:
        lines[0] = (Piece(begin + colon, first), Piece(rest))
    return lines


def command_lines(command: str, width: int) -> list[Line]:
    """Show what to type; a command is not broken, so that it can be copied."""
    if len(command) + 6 <= width:
        return [(Piece("Next: "), Piece(command, STRONG))]
    return [(Piece("Next:"),), (Piece(command, STRONG),)]


def _height(lines: list[Line], width: int) -> int:
    """Lines of a screen that these take, if long ones run over its edge."""
    return sum(max(1, -(-sum(len(p.text) for p in line) // width)) for line in lines)


def _that_fit(texts: list[list[Line]], space: int, width: int) -> list[Line]:
    """Keep whole texts, the first ones first, and say if some are left out."""
    if sum(map(len, texts)) <= space:
        return [line for text in texts for line in text]
    kept: list[Line] = []
    for text in texts:
        if len(kept) + len(text) < space:
            kept += text
    return [*kept, *sentence_lines("There is more to know: --full prints it.", width)]


def _segment_sentence(segments: Sequence[Segment]) -> str:
    """Say how many segments are off, and name the one with the strongest evidence."""
    found = [segment for segment in segments if segment.confirmed]
    if not found:
        return f"{SEGMENTS} none is confirmed."
    count = "" if len(found) == 1 else f" {len(found)} are confirmed (--full lists them). First:"
    return f"{SEGMENTS}{count} {found[0].sentence}."


def _further(summary: Summary) -> Iterator[str]:
    """Say what else is known, as far as there is space."""
    if summary.classes is not None:
        tests = (summary.classes.sets.projected_test, summary.classes.sets.canonical)
        if any(test is not None for test in tests):
            yield f"{set_sentence(summary.classes)} {row_sentence(summary.classes)}"


def _requested(summary: Summary) -> Iterator[str]:
    """Yield sentences on what was requested; none of them is left out."""
    if summary.ratios is not None:
        yield summary.ratios.overall.sentence
    costs = summary.costs
    if costs is not None and costs.task is not None and costs.own:
        yield cost_sentence(summary)
    if summary.watched is not None:
        yield f"Over time: {summary.watched.brief}"
    if summary.segments is not None:
        yield _segment_sentence(summary.segments)


def _cautions(summary: Summary) -> Iterator[str]:
    """Say what to check before anybody acts, and how rows were read."""
    opening = conclusion(summary)
    for trap in summary.traps:
        if trap.text not in opening:
            yield f"Caution: {trap.text} {capital(trap.advice)}."
    for finding in summary.findings:
        if finding.code in NOTED:
            yield f"Note: {finding.text}"


def _numbers(summary: Summary, width: int) -> list[Line]:
    """Show the main numbers, the errors beside their noise floors."""
    of = count_text(summary.data.rows, "forecast")
    if summary.classes is not None:
        of = f"{of}: confidence"
    if summary.loss is not None:
        of = f"{count_text(summary.data.rows, 'row')} of {summary.words.what}"
    table, sure = number_table(summary), percent_text(summary.verdict.interval.confidence)
    heads = (of, "value", f"{sure} interval", PERFECT)
    lines = list(table.text(heads))
    if max(map(len, lines)) > width:
        lines = list(table.only("measure", "value", PERFECT).text((*heads[:2], heads[-1])))
    head, *rest = lines
    return [(Piece(head, QUIET),), *((Piece(line),) for line in rest)]


def _split(summary: Summary, width: int) -> list[Line]:
    """Show what the score is made of."""
    if summary.costs is None:
        return sentence_lines(cost_sentence(summary), width)
    parts = split_texts(summary.costs.decomposition)
    return sentence_lines(
        f"Brier score {parts['score']} = {parts['miscalibration']} miscalibration - "
        f"{parts['discrimination']} discrimination + {parts['uncertainty']} uncertainty.",
        width,
    )


def _groups(summary: Summary, space: int, width: int) -> list[Line]:
    """Show the worst classes and groups."""
    judged = [summary.groups]
    if summary.classes is not None:
        judged = [summary.classes.by_class, summary.groups]
    known = [groups for groups in judged if groups is not None]
    lines: list[Line] = []
    for groups in known:
        lines += _worst(groups, space // len(known) if width >= NARROW_SCREEN else LINES, width)
    return lines


def _ranges(summary: Summary) -> list[Line]:
    """Show what was observed in ranges of the forecasts, of kinds without a diagram."""
    if not summary.ranges:
        return []
    head, *rest = range_table(summary).text()
    return [(Piece(head, QUIET),), *((Piece(line),) for line in rest)]


def _worst(groups: Groups, space: int, width: int) -> list[Line]:
    """Show the groups that fail; where none does, those with the strongest evidence."""
    listed = groups.failing or groups.groups
    fit = space - 2 if len(listed) <= space - 2 else space - 3  # a line counts the rest
    shown = min(len(listed), MOST_GROUPS, max(fit, FEWEST_LINES - 2))
    if len(listed) == shown + 1:  # it takes the line that would count it
        shown += 1
    table = group_table(groups).cut(0, shown).shortened(groups.noun, LABEL)
    heads = brief_heads(groups, table)
    if any(group.worst is not None for group in listed[:shown]):
        heads.append(GAP)
    if len({group.state for group in listed}) > 1:
        heads.append("verdict")
    head, *rest = table.only(*heads).text()
    if max(map(len, (head, *rest))) > width:
        head, *rest = table.only(*heads[:5]).text()
    count_lines = sentence_lines(groups.count_sentence, width)
    lines: list[Line] = [*count_lines, (Piece(head, QUIET),), *((Piece(line),) for line in rest)]
    more = len(listed) - shown
    if more:
        lines.append(
            (Piece(f"and {count_text(more, groups.noun)} with less evidence (--full)", QUIET),)
        )
    return lines


def _with_diagram(block: list[Line], joint: Joint, width: int) -> list[Line]:
    """Set the diagram to the right of lines, if there is space."""
    widest = max(sum(len(piece.text) for piece in line) for line in block)
    space = min(width - widest - GUTTER, WIDE)
    if space < NARROW:
        return block
    drawn = _diagram(joint, space, min(max(len(block), LOW), TALL))
    lines = []
    for number in range(max(len(block), len(drawn))):
        left = block[number] if number < len(block) else ()
        right = drawn[number] if number < len(drawn) else ()
        used = sum(len(piece.text) for piece in left)
        lines.append((*left, Piece(" " * (widest + GUTTER - used)), *right) if right else left)
    return lines


def _diagram(joint: Joint, width: int, height: int) -> list[Line]:
    """Draw observed rates of ten equal parts of the rows over their mean forecasts."""
    pooled = quantile_bins(joint, DOTS).joint
    rate = pooled.positives / pooled.weight
    top = _round_top(float(max(pooled.prediction.max(), rate.max())))
    mark = f"{top:g}"
    columns, rows = width - len(mark) - 2, height - 3
    cells = [[Piece(" ")] * columns for _ in range(rows)]

    def put(x: float, y: float, piece: Piece) -> None:
        across = round(x / top * (columns - 1))
        cells[rows - 1 - round(y / top * (rows - 1))][across] = piece

    for step in range(columns):
        share = top * step / (columns - 1)
        put(share, share, Piece("·", QUIET))
    for x, y in zip(pooled.prediction.tolist(), rate.tolist(), strict=True):
        put(x, y, Piece("●", STATE))
    margin = [mark, *[""] * (rows - 2), "0"]
    drawn: list[Line] = [(Piece("observed rate", QUIET),)]
    drawn += [
        (Piece(f"{text:>{len(mark)}} │", QUIET), *row)
        for text, row in zip(margin, cells, strict=True)
    ]
    pad = " " * (len(mark) + 1)
    drawn.append((Piece(f"{pad}└{'─' * columns}", QUIET),))
    label = f"0{'forecast':^{columns - 1 - len(mark)}}{mark}"
    drawn.append((Piece(f"{pad} {label}", QUIET),))
    return drawn


def _round_top(most: float) -> float:
    """Find the end of axes that start at 0: 1, or one digit where all is rarer."""
    if most > 0.8 or most <= 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(most))
    return float(f"{np.ceil(most / unit) * unit:.3g}")


def recalibration_is_next(summary: Summary) -> bool:
    """Whether the next step is to recalibrate: a calibrator helps forecasts that need it."""
    advised = [finding for finding in summary.findings if finding.code == RECALIBRATE]
    return any(finding.advice.startswith("recalibrate") for finding in advised)

"""Second step of an audit: everything it found as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant._base.words import (
    chance_text,
    comparable_texts,
    count_text,
    interval_texts,
    number_text,
    page,
    percent_text,
    pvalue_text,
)
from calibrant.catalogue import CATALOGUE
from calibrant.inference import Groups
from calibrant.measures.binned import binned_calibration_error
from calibrant.report.findings import NOTE, UNDECIDED, actions
from calibrant.report.sentences import (
    SEGMENTS,
    at_once,
    cost_sentence,
    headline,
    ratio_sentences,
    row_sentence,
    segment_verdict,
    set_sentence,
    tolerance_text,
    verdict_sentence,
    where_sentence,
)
from calibrant.report.summary import HEADLINE, Summary
from calibrant.report.tables import (
    FORECAST,
    OBSERVED,
    PERFECT,
    brief_group_table,
    measure_table,
    range_table,
    ratio_table,
)

# A terminal shows so many groups or classes; the others are counted.
MOST_GROUPS = 10
BRIEFLY = {FORECAST: "forecast", OBSERVED: "observed"}
# Findings that the first lines say already.
SHOWN_ELSEWHERE = {UNDECIDED, "CAL010", "CAL011", "CAL023", "CAL048", "CAL046", "CAL047"}


def render_text(summary: Summary) -> str:
    """Write everything that an audit found as plain text."""
    sections = [
        _headline,
        _smooth_error,
        _range_table,
        _measure_table,
        _class_table,
        _group_table,
        _ratio_table,
        _segment_lines,
        _advice,
        _notes,
    ]
    written = [page(section(summary)) for section in sections]
    return "\n\n".join(section for section in written if section)


def _headline(summary: Summary) -> Iterator[str]:
    yield headline(summary)
    yield verdict_sentence(summary)
    yield where_sentence(summary)
    if summary.classes is not None:
        yield summary.classes.by_class.sentence
        yield set_sentence(summary.classes)
        yield row_sentence(summary.classes)
    yield from ratio_sentences(summary)
    if cost_sentence(summary):
        yield cost_sentence(summary)
    if summary.certified is not None:
        yield from summary.certified.sentence.split("\n")
    if summary.groups is not None:
        yield summary.groups.sentence
        if summary.ratios is not None:
            yield summary.ratios.sentence_of_groups
    if summary.watched is not None:
        yield f"Row by row in the order of time: {summary.watched.sentence}"


def _smooth_error(summary: Summary) -> Iterator[str]:
    verdict = summary.verdict
    chance = verdict.test.headline
    value, low, high, floor, most = comparable_texts(
        verdict.value,
        verdict.interval.low,
        verdict.interval.high,
        verdict.noise_floor,
        chance.noise_quantile(0.95),
    )
    yield (
        f"{CATALOGUE[HEADLINE].title:<30}  {value}, between {low} and {high} "
        f"with {percent_text(verdict.interval.confidence)} confidence"
    )
    yield f"{'tolerance':<30}  {tolerance_text(summary)}"
    yield (
        f"{'noise floor':<30}  {floor} on average for perfect forecasts, "
        f"at most {most} in 95 % of {count_text(chance.null.size, 'simulation')}"
    )
    if verdict.gap is not None:
        interval = verdict.gap.interval
        value, low, high = comparable_texts(interval.value, interval.low, interval.high)
        yield (
            f"{'typical gap':<30}  {value}, between {low} and {high}, over "
            f"{count_text(verdict.gap.ranges, 'range')} of forecasts"
        )
        yield f"{'tolerance of the gap':<30}  {number_text(verdict.gap.tolerance)}"
    yield f"{'p-value':<30}  {chance_text(verdict.pvalue, verdict.test.null.size)}"
    if summary.loss is not None:
        mean, low, high = interval_texts(*summary.loss.bias)
        yield f"{summary.words.bias:<30}  {mean}, between {low} and {high}"
        yield f"{summary.loss.name:<30}  {number_text(summary.loss.value)}"
    if summary.classical is not None:
        low, high = comparable_texts(summary.distances.low, summary.distances.high)
        yield f"{'distance to calibration':<30}  between {low} and {high} on these rows"
        yield from _both_directions(summary)
        belt = summary.classical.giviti
        result = belt.reason or pvalue_text(belt.pvalue)
        yield f"{'test of the calibration belt':<30}  {result}"
    if summary.classes is not None:
        worth = summary.classes.worth
        yield f"{'worst class':<30}  {worth.worst_class_error:.4f}"
        yield f"{'worst set of classes':<30}  {float(summary.classes.sets.projected):.4f}"
        yield f"{'log loss':<30}  {worth.log_loss:.4f}"
        yield f"{'Brier score':<30}  {worth.brier:.4f}"


def _both_directions(summary: Summary) -> Iterator[str]:
    """Binned error in two parts; of confidences in an answer, too high is overconfident."""
    directions = ("over", "under") if summary.classes is None else ("high", "low")
    over, under = comparable_texts(
        *(
            float(binned_calibration_error(summary.joint, direction=direction))
            for direction in directions
        )
    )
    yield f"{'binned error, two parts':<30}  {over} overconfident, {under} underconfident"


def _range_table(summary: Summary) -> Iterator[str]:
    if summary.ranges:
        yield from range_table(summary).text()


def _measure_table(summary: Summary) -> Iterator[str]:
    if summary.classes is not None:
        yield "Measures of the confidence in the most likely class:"
    yield from (
        measure_table(summary.measured).only("measure", "value", PERFECT, "settings").text()
    )


def _class_table(summary: Summary) -> Iterator[str]:
    if summary.classes is None:
        return
    yield from _first_rows(summary.classes.by_class)
    yield at_once(summary.classes.by_class.confidence)


def _group_table(summary: Summary) -> Iterator[str]:
    if summary.groups is not None:
        yield from _first_rows(summary.groups)


def _ratio_table(summary: Summary) -> Iterator[str]:
    if summary.groups is not None and any(group.ratio is not None for group in summary.groups):
        what = "events (O/E)" if summary.loss is None else f"({summary.words.ratio})"
        yield f"Observed over expected {what}. {at_once(summary.groups.confidence)}"
        yield from ratio_table(summary.groups, summary.ratios).cut(0, MOST_GROUPS).text()


def _first_rows(groups: Groups) -> Iterator[str]:
    table = brief_group_table(groups).cut(0, MOST_GROUPS)
    # One word each, so that a line fits 80 columns.
    yield from table.text(tuple(BRIEFLY.get(head, head) for head in table.heads))
    more = len(groups) - MOST_GROUPS
    if more > 0:
        yield f"and {count_text(more, groups.noun)} with less evidence"


def _segment_lines(summary: Summary) -> Iterator[str]:
    if summary.segments is None:
        return
    yield SEGMENTS
    for segment in summary.segments:
        yield f"  {segment.sentence}: {segment_verdict(segment)}"
    if not summary.segments:
        yield "  none has enough rows"


def _advice(summary: Summary) -> Iterator[str]:
    for finding in actions(summary):
        yield f"what to do: {finding.advice} ({finding.code})"


def _notes(summary: Summary) -> Iterator[str]:
    for finding in summary.findings:
        if finding.kind == NOTE and finding.code not in SHOWN_ELSEWHERE:
            yield f"{finding.code}  {finding.text}"

"""Second step of an audit: the summary in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.catalogue import CATALOGUE
from calibrant.groups import Groups
from calibrant.inference import CALIBRATED
from calibrant.report.findings import ISSUE, NOTE, REPAIR, TRUSTED, UNTOLD, VERDICT
from calibrant.report.sentences import (
    SEGMENTS,
    at_once,
    cost_sentence,
    headline,
    ratio_sentences,
    row_sentence,
    segment_verdict,
    set_sentence,
    verdict_sentence,
    where_sentence,
)
from calibrant.report.summary import HEADLINE, Summary
from calibrant.report.tables import PERFECT, brief_group_table, measure_table, ratio_table
from calibrant.words import chance_text, count_text, percent_text

# A terminal shows so many groups or classes; the others are counted.
MOST_GROUPS = 10
# Findings that the first lines say already.
SAID = {UNTOLD, "CAL010", "CAL011", "CAL023", "CAL048", "CAL046", "CAL047"}


def render_text(summary: Summary) -> str:
    """Write an audit as plain text."""
    sections = [
        _headline,
        _smooth_error,
        _measure_table,
        _class_table,
        _group_table,
        _ratio_table,
        _segment_lines,
        _advice,
        _notes,
    ]
    written = ["\n".join(section(summary)) for section in sections]
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
    yield cost_sentence(summary)
    if summary.groups is not None:
        yield summary.groups.sentence
        if summary.ratios is not None:
            yield summary.ratios.sentence_of_groups
    if summary.watched is not None:
        yield f"Row by row in the order of time: {summary.watched.sentence}"


def _smooth_error(summary: Summary) -> Iterator[str]:
    verdict = summary.verdict
    low, high = verdict.interval.low, verdict.interval.high
    chance = verdict.test.headline
    yield (
        f"{CATALOGUE[HEADLINE].title:<30}  {verdict.value:.4f}, between {low:.4f} and {high:.4f} "
        f"with {percent_text(verdict.interval.confidence)} confidence"
    )
    yield f"{'tolerance':<30}  {verdict.tolerance:.4g}"
    yield (
        f"{'a perfect forecaster would get':<30}  {verdict.noise_floor:.4f} on average, "
        f"at most {chance.noise_quantile(0.95):.4f} in 95 % of {chance.null.size} redraws"
    )
    if verdict.gap is not None:
        gap = verdict.gap.interval
        yield (
            f"{'typical gap':<30}  {gap.value:.4f}, between {gap.low:.4f} and {gap.high:.4f}, over "
            f"{count_text(verdict.gap.ranges, 'range')} of forecasts"
        )
        yield f"{'tolerance of the gap':<30}  {verdict.gap.tolerance:.4g}"
    yield (f"{'chance of such errors':<30}  {chance_text(verdict.pvalue)} for a perfect forecaster")
    yield (
        f"{'distance to calibration':<30}  between {summary.distances.low:.4f} and "
        f"{summary.distances.high:.4f} on these rows"
    )
    if summary.classes is not None:
        worth = summary.classes.worth
        yield f"{'worst class':<30}  {worth.worst_class_error:.4f}"
        yield f"{'worst set of classes':<30}  {float(summary.classes.sets.projected):.4f}"
        yield f"{'log score':<30}  {worth.log_loss:.4f}"
        yield f"{'Brier score':<30}  {worth.brier:.4f}"


def _measure_table(summary: Summary) -> Iterator[str]:
    if summary.classes is not None:
        yield "Measures of the confidence in the most likely class:"
    yield from measure_table(summary.measured).only("measure", "value", PERFECT, "settings").text()


def _class_table(summary: Summary) -> Iterator[str]:
    if summary.classes is None:
        return
    yield from _first_rows(summary.classes.by_class)
    yield at_once(summary.classes.by_class.confidence)


def _group_table(summary: Summary) -> Iterator[str]:
    if summary.groups is not None:
        yield from _first_rows(summary.groups)


def _ratio_table(summary: Summary) -> Iterator[str]:
    if summary.groups is not None:
        yield f"Observed over expected events (O/E). {at_once(summary.groups.confidence)}"
        yield from ratio_table(summary.groups, summary.ratios).cut(0, MOST_GROUPS).text()


def _first_rows(groups: Groups) -> Iterator[str]:
    yield from brief_group_table(groups).cut(0, MOST_GROUPS).text()
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
    advised = [f for f in summary.findings if f.kind == ISSUE and f.advice]
    repair = [f for f in summary.findings if f.code == REPAIR]
    if repair and summary.verdict.state != CALIBRATED:  # says what the verdict says, and how
        advised = repair + [f for f in advised if f.code != VERDICT]
    if not advised:
        advised = [f for f in summary.findings if f.code in {UNTOLD, TRUSTED}] + repair
    for finding in advised:
        yield f"what to do: {finding.advice} ({finding.code})"


def _notes(summary: Summary) -> Iterator[str]:
    for finding in summary.findings:
        if finding.kind == NOTE and finding.code not in SAID:
            yield f"{finding.code}  {finding.text}"

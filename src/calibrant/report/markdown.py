"""An audit as Markdown, for pull requests and the summary of a build."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant._base.words import escaped
from calibrant.report.findings import PASSED
from calibrant.report.sentences import (
    SEGMENTS,
    cost_sentence,
    headline,
    row_sentence,
    set_sentence,
    verdict_sentence,
    where_sentence,
)
from calibrant.report.summary import Summary
from calibrant.report.tables import (
    EVENTS,
    PERFECT,
    brief_group_table,
    markdown_group_table,
    measure_table,
    segment_table,
)

MOST_GROUPS = 20


def render_markdown(summary: Summary) -> str:
    """Write an audit as Markdown."""
    blocks = ["\n".join(block) for block in _blocks(summary)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _blocks(summary: Summary) -> Iterator[Iterator[str] | list[str]]:
    yield [f"## {escaped(summary.title)}: {summary.state}"]
    yield [escaped(verdict_sentence(summary))]
    sentences = (headline(summary), where_sentence(summary), cost_sentence(summary))
    yield [escaped(" ".join(filter(None, sentences)))]
    if summary.ratios is not None:
        yield [escaped(summary.ratios.sentence)]
    if summary.certified is not None:
        yield [escaped(line) for line in summary.certified.sentence.splitlines()]
    yield measure_table(summary.measured).only("measure", "value", PERFECT).markdown()
    if summary.classes is not None:
        section = summary.classes
        sentence = f"{section.by_class.sentence} {set_sentence(section)} {row_sentence(section)}"
        yield [escaped(sentence)]
        yield brief_group_table(section.by_class).cut(0, MOST_GROUPS).markdown()
    if summary.groups is not None:
        yield markdown_group_table(summary.groups).cut(0, MOST_GROUPS).markdown()
    if summary.segments:
        yield [SEGMENTS]
        table = segment_table(summary.segments)
        yield table.only(*(head for head in table.heads if head != EVENTS)).markdown()
    yield _findings(summary)


def _findings(summary: Summary) -> Iterator[str]:
    for finding in summary.findings:
        if finding.kind != PASSED:
            advice = f" *{escaped(finding.advice)}*" if finding.advice else ""
            yield f"- `{finding.code}` {escaped(finding.text)}{advice}"

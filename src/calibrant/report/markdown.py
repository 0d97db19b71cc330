"""An audit as Markdown, for pull requests and the summary of a build."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.catalogue import CATALOGUE
from calibrant.report.findings import PASSED
from calibrant.report.summary import Summary
from calibrant.report.text import SEGMENTS, cost_sentence, headline, segment_verdict
from calibrant.words import chance_text, escaped, markdown_table

MOST_GROUPS = 20


def render_markdown(summary: Summary) -> str:
    """Write an audit as Markdown."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    verdict = summary.verdict
    yield f"## {escaped(summary.title)}: {verdict.state}"
    yield ""
    yield escaped(verdict.sentence)
    yield ""
    yield escaped(f"{headline(summary)} Most clearly: {summary.where}. {cost_sentence(summary)}")
    yield ""
    yield from markdown_table(
        ["measure", "value", "perfect forecaster"],
        [
            [CATALOGUE[name].title, f"{value:.4f}", f"{summary.noise_floors[name]:.4f}"]
            for name, value in summary.measures.items()
        ],
    )
    if summary.groups is not None:
        yield ""
        yield from markdown_table(
            ["group", "rows", "said", "happened", "error", "between", "verdict"],
            [
                [
                    escaped(group.label),
                    str(group.rows),
                    f"{group.mean_prediction:.3f}",
                    f"{group.base_rate:.3f}",
                    f"{group.value:.4f}",
                    f"{group.low:.4f} and {group.high:.4f}",
                    group.state,
                ]
                for group in summary.groups.groups[:MOST_GROUPS]
            ],
        )
    if summary.segments:
        yield ""
        yield SEGMENTS
        yield ""
        yield from markdown_table(
            ["segment", "rows", "said", "happened", "chance", "verdict"],
            [
                [
                    escaped(segment.label),
                    str(segment.rows),
                    f"{segment.mean_prediction:.3f}",
                    f"{segment.base_rate:.3f}",
                    escaped(chance_text(segment.pvalue)),
                    segment_verdict(segment),
                ]
                for segment in summary.segments
            ],
        )
    noted = [finding for finding in summary.findings if finding.kind != PASSED]
    if noted:
        yield ""
    for finding in noted:
        advice = f" *{escaped(finding.advice)}*" if finding.advice else ""
        yield f"- `{finding.code}` {escaped(finding.text)}{advice}"

"""Second step of an audit: the summary in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.catalogue import CATALOGUE
from calibrant.groups import Segment
from calibrant.report.findings import ISSUE, NOTE, REPAIR, VERDICT
from calibrant.report.summary import HEADLINE, Summary
from calibrant.words import chance_text, count_text, distinct_texts, percent_text

# A terminal shows so many groups; the others are counted.
MOST_GROUPS = 10
SEGMENTS = "Segments found on one half of the rows and judged on the other:"


def render_text(summary: Summary) -> str:
    """Write an audit as plain text."""
    sections = [
        _headline,
        _smooth_error,
        _measure_table,
        _group_table,
        _segment_lines,
        _advice,
        _notes,
    ]
    written = ["\n".join(section(summary)) for section in sections]
    return "\n\n".join(section for section in written if section)


def headline(summary: Summary) -> str:
    """Say how many forecasts there are, what they say and what happened."""
    said, happened = distinct_texts(summary.mean_prediction, summary.base_rate)
    rounded = summary.joint.resolution is not None
    return (
        f"{count_text(summary.rows, 'forecast')} {'in' if rounded else 'with'} "
        f"{count_text(summary.levels, 'cell' if rounded else 'different value')}: "
        f"on average they say {said}, and {happened} happened."
    )


def _headline(summary: Summary) -> Iterator[str]:
    yield headline(summary)
    yield summary.verdict.sentence
    yield f"Most clearly: {summary.where}."
    if summary.verdict.ratio is not None:
        yield summary.verdict.ratio.sentence
    yield cost_sentence(summary)
    if summary.groups is not None:
        yield summary.groups.sentence
    if summary.watched is not None:
        yield f"Row by row in the order of time: {summary.watched.monitor.sentence}"


def cost_sentence(summary: Summary) -> str:
    """Say what trusting the forecasts costs: the reader's own task, or the worst one."""
    costs = summary.costs
    if costs.promised is not None and costs.task_loss is not None:
        said = costs.promised.sentence
        return (
            f"{said[:1].upper()}{said[1:]}; recalibrating would bring {costs.task_loss:.4g} more."
        )
    return (
        f"Whoever acts on them loses at most {costs.worst:.4f} per decision, in units of the "
        "range of the payoffs, against recalibrated forecasts."
    )


def _smooth_error(summary: Summary) -> Iterator[str]:
    verdict = summary.verdict
    low, high = verdict.interval.low, verdict.interval.high
    yield (
        f"{CATALOGUE[HEADLINE].title:<30}  {verdict.value:.4f}, between {low:.4f} and {high:.4f} "
        f"with {percent_text(verdict.interval.confidence)} confidence"
    )
    yield f"{'tolerance':<30}  {verdict.tolerance:.4g}"
    yield (
        f"{'a perfect forecaster would get':<30}  {verdict.noise_floor:.4f} on average, "
        f"at most {verdict.test.noise_quantile(0.95):.4f} in 95 % of {verdict.test.null.size} "
        "redraws"
    )
    yield (
        f"{'chance of so large an error':<30}  {chance_text(verdict.pvalue)} "
        "for a perfect forecaster"
    )
    yield (
        f"{'distance to calibration':<30}  between {summary.distances.low:.4f} and "
        f"{summary.distances.high:.4f} on these rows"
    )


def _measure_table(summary: Summary) -> Iterator[str]:
    width = max(len(CATALOGUE[name].title) for name in summary.measures)
    yield f"{'measure':<{width}}   value   perfect   settings"
    for name, value in summary.measures.items():
        settings = ", ".join(f"{k} {v}" for k, v in value.settings.items() if k != "clipped")
        numbers = f"{value:.4f}  {summary.noise_floors[name]:.4f}"
        yield f"{CATALOGUE[name].title:<{width}}   {numbers}    {settings}".rstrip()


def _group_table(summary: Summary) -> Iterator[str]:
    if summary.groups is None:
        return
    shown = summary.groups.groups[:MOST_GROUPS]
    width = max(len(group.label) for group in shown)
    width = max(width, len("group"))
    yield f"{'group':<{width}}      rows  said  happened   error  between            verdict"
    for group in shown:
        name = group.label
        small = ", few rows" if group.small else ""
        yield (
            f"{name:<{width}}  {group.rows:>8}  {group.mean_prediction:.2f}      "
            f"{group.base_rate:.2f}  {group.value:.4f}  {group.low:.4f} and {group.high:.4f}  "
            f"{group.state}{small}"
        )
    if len(summary.groups) > MOST_GROUPS:
        yield f"and {count_text(len(summary.groups) - MOST_GROUPS, 'group')} with less evidence"


def _segment_lines(summary: Summary) -> Iterator[str]:
    if summary.segments is None:
        return
    yield SEGMENTS
    for segment in summary.segments:
        yield f"  {segment.sentence}: {segment_verdict(segment)}"
    if not summary.segments:
        yield "  none has enough rows"


def segment_verdict(segment: Segment) -> str:
    """Say whether rows that did not choose a segment confirm it."""
    return "confirmed" if segment.confirmed else "may be chance"


def _advice(summary: Summary) -> Iterator[str]:
    repair = [f for f in summary.findings if f.code == REPAIR]
    advised = repair + [f for f in summary.findings if f.kind == ISSUE and f.advice]
    if repair:  # says the same, with the command
        advised = [f for f in advised if f.code != VERDICT]
    if not advised:
        advised = [f for f in summary.findings if f.advice][:1]
    for finding in advised:
        yield f"what to do: {finding.advice} ({finding.code})"


def _notes(summary: Summary) -> Iterator[str]:
    for finding in summary.findings:
        if finding.kind == NOTE and finding.code not in {"CAL002", "CAL010", "CAL011"}:
            yield f"{finding.code}  {finding.text}"

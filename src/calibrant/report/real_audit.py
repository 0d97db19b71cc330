"""The audit of real outcomes that users hold: the same doors as that of probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from calibrant.groups import Groups, Segment
from calibrant.measurement import Measurement
from calibrant.real import RealSummary
from calibrant.report import real_words as words
from calibrant.report.audit import Audit
from calibrant.report.findings import NOTE, Finding
from calibrant.report.json import plain as plain_data, verdict_dict
from calibrant.report.screen import (
    COLUMNS,
    LINES,
    MOST_GROUPS,
    QUIET,
    STATE,
    Line,
    Piece,
    command_lines,
    plain,
    sentence_lines,
)
from calibrant.report.sentences import SEGMENTS
from calibrant.report.tables import GAP_BETWEEN
from calibrant.report.traps import find_real_traps
from calibrant.words import capital, count_text, escaped, page, percent_text

SCHEMA = 4
# Groups that Markdown and the terminal list.
MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class RealAudit(Audit):
    """How far forecasts of real outcomes can be trusted; `print` it to read it on one screen."""

    summary: RealSummary  # type: ignore[assignment]
    """Everything the audit found, as plain data."""

    real: ClassVar[bool] = True

    def __str__(self) -> str:
        return plain(render_real_screen(self.summary))

    def screen(
        self,
        *,
        width: int,
        command: str | None = None,
        taken: int = 0,
        diagram: bool = False,  # noqa: ARG002  # there is none on a screen
        notes: bool = True,  # noqa: ARG002  # they are few
    ) -> list[Line]:
        """Return the audit as lines of one screen."""
        return render_real_screen(self.summary, width=width, command=command, taken=taken)

    def __repr__(self) -> str:
        return f"<RealAudit of {self.summary.title!r}: {self.summary.state}>"

    def _text(self) -> str:
        return page(_text(self.summary))

    def _html(self) -> str:
        from calibrant.report.real_page import render_real_page

        return render_real_page(self.summary)

    def _json(self) -> str:
        return json.dumps(as_dict(self.summary), indent=2, allow_nan=False)

    def _markdown(self) -> str:
        return "\n\n".join(_markdown(self.summary)) + "\n"

    @property
    def line(self) -> str:
        """The verdict in one sentence."""
        return self.verdict.sentence

    @property
    def measures(self) -> dict[str, Measurement]:
        """Every measure, by name, in the units of the outcome."""
        return self.summary.measures

    @property
    def groups(self) -> Groups | None:
        """One verdict per group, if groups were asked for."""
        return self.summary.groups

    @property
    def by_class(self) -> None:
        """None: real outcomes have no classes."""

    @property
    def segments(self) -> tuple[Segment, ...] | None:
        """Combinations of columns that are worst, if they were asked for."""
        return self.summary.segments

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Cautions; what else is wrong, and what to do, stands in the conclusion."""
        traps = find_real_traps(self.summary)
        found = [Finding(trap.code, NOTE, trap.text, trap.advice) for trap in traps]
        doubt = self.summary.dependence
        if doubt is not None:
            found.append(Finding("CAL054", NOTE, f"{capital(doubt.sentence)}.", doubt.advice))
        return tuple(found)


def render_real_screen(
    summary: RealSummary, *, width: int = COLUMNS, command: str | None = None, taken: int = 0
) -> list[Line]:
    """Write an audit for one screen: conclusion, how sure, numbers, worst groups, what to type."""
    lines = sentence_lines(words.conclusion(summary), width, STATE)
    lines += sentence_lines(words.certainty(summary), width)
    lines.append(())
    table = words.number_table(summary)
    heads = (
        words.headline(summary).partition(":")[0],
        "value",
        f"{percent_text(summary.verdict.interval.confidence)} interval",
        "noise floor",
    )
    head, *rest = table.text(heads)
    lines += [(Piece(head, QUIET),), *((Piece(line),) for line in rest)]
    last = [] if command is None else command_lines(command, width)
    notes = [line for note in _notes(summary) for line in sentence_lines(f"Note: {note}", width)]
    room = LINES - taken - len(lines) - len(last) - len(notes) - 1
    if summary.groups is not None:
        lines += [(), *_worst_groups(summary, summary.groups, room, width)]
    elif summary.segments is None and room > len(summary.dots) + 1:
        head, *rest = words.dot_table(summary).text()
        lines += [(), (Piece(head, QUIET),), *((Piece(line),) for line in rest)]
    if summary.segments is not None:
        notes = [*sentence_lines(next(told_beside(summary)), width), *notes]
    return [*lines, *notes, *last]


def _worst_groups(summary: RealSummary, groups: Groups, room: int, width: int) -> list[Line]:
    told = sentence_lines(groups.count_sentence, width)
    listed = groups.failing or groups.groups
    shown = max(1, min(len(listed), MOST_GROUPS, room - len(told) - 1))
    table = words.group_table(groups, summary).cut(0, shown)
    heads = ["group", "rows", words.PROMISED, words.OBSERVED, "between"]
    if any(group.low <= groups.tolerance for group in groups.failing[:shown]):
        heads.append(GAP_BETWEEN)
    if len({group.state for group in listed}) > 1:
        heads.append("verdict")
    head, *rest = table.only(*heads).text()
    lines: list[Line] = [*told, (Piece(head, QUIET),), *((Piece(line),) for line in rest)]
    more = len(listed) - shown
    if more:
        lines.append((Piece(f"and {count_text(more, 'group')} with less evidence", QUIET),))
    return lines


def _notes(summary: RealSummary) -> Iterator[str]:
    for trap in find_real_traps(summary):
        yield f"{trap.text} {capital(trap.advice)}"
    yield from summary.source.all_notes
    yield from summary.verdict.cautions
    if summary.dependence is not None:
        yield f"{summary.dependence.sentence}; {summary.dependence.advice}"


def _text(summary: RealSummary) -> Iterator[str]:
    yield words.headline(summary)
    yield words.conclusion(summary)
    yield words.certainty(summary)
    if summary.worst is not None:
        yield f"Where: {summary.worst.sentence}."
    yield from told_beside(summary)
    for note in _notes(summary):
        yield f"Note: {note}"
    yield ""
    yield from words.number_table(summary).text()
    yield ""
    yield from words.measure_table(summary).text()
    yield ""
    yield from words.dot_table(summary).text()
    if summary.groups is not None:
        yield ""
        yield summary.groups.count_sentence
        yield from words.group_table(summary.groups, summary).text()


def told_beside(summary: RealSummary) -> Iterator[str]:
    """Say what segments were found, what the loss is made of, and what a map would do."""
    if summary.segments is not None:
        confirmed = [one.sentence for one in summary.segments if one.confirmed]
        yield f"{SEGMENTS} {'; '.join(confirmed) or 'none is confirmed'}."
    if summary.decomposition is not None:
        yield summary.decomposition.sentence
    if summary.repair is not None:
        yield summary.repair.sentence


def _markdown(summary: RealSummary) -> Iterator[str]:
    yield f"## {escaped(summary.title)}: {summary.state}"
    yield escaped(words.conclusion(summary))
    yield escaped(f"{words.headline(summary)} {words.certainty(summary)}")
    yield "\n".join(words.number_table(summary).markdown())
    if summary.groups is not None:
        yield "\n".join(words.group_table(summary.groups, summary).cut(0, MOST_LISTED).markdown())
    for note in _notes(summary):
        yield f"- {escaped(note)}"


def as_dict(summary: RealSummary) -> dict[str, Any]:
    """Return an audit as plain data; numbers that are not defined are null."""
    from calibrant import __version__

    forecasts, worst = summary.forecasts, summary.worst
    found = {
        "schema": SCHEMA,
        "kind": "real outcomes",
        "calibrant": __version__,
        "title": summary.title,
        "data": {
            "rows": len(forecasts),
            "of": summary.kind,
            "promised": summary.promised,
            "observed": summary.observed,
            "dropped": summary.source.dropped,
            "fingerprint": summary.source.fingerprint,
            "notes": list(summary.source.all_notes),
            "scale": asdict(forecasts.scale),
        },
        "conclusion": words.conclusion(summary),
        "state": summary.state,
        "verdict": verdict_dict(summary.verdict),
        "where": None if worst is None else worst.sentence,
        "bias": dict(zip(("value", "low", "high"), summary.bias, strict=True)),
        "loss": {"name": forecasts.kind.loss_name, "value": summary.loss},
        "decomposition": None if summary.decomposition is None else asdict(summary.decomposition),
        "repair": None if summary.repair is None else summary.repair.as_dict(),
        "measures": {
            name: {"value": float(value), "noise_floor": summary.floors[name]}
            for name, value in summary.measures.items()
        },
        "diagram": [
            {
                "from": dot.region.low,
                "to": dot.region.high,
                "rows": dot.region.rows,
                "place": dot.place,
                "promised": dot.region.prediction,
                "observed": dot.region.outcome,
                "low": dot.low,
                "high": dot.high,
            }
            for dot in summary.dots
        ],
        "groups": None if summary.groups is None else summary.groups.table(),
        "segments": None
        if summary.segments is None
        else [
            {
                "conditions": one.conditions,
                "rows": one.rows,
                "forecast": one.forecast,
                "observed": one.observed,
                "pvalue": one.pvalue,
                "confirmed": one.confirmed,
            }
            for one in summary.segments
        ],
        "settings": summary.settings,
    }
    return dict(plain_data(found))

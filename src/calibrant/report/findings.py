"""What an audit found, one coded line each, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.inference.verdict import CALIBRATED, MISCALIBRATED, RARE
from calibrant.words import count_text

if TYPE_CHECKING:
    from calibrant.repair import Choice
    from calibrant.report.summary import Summary

ISSUE, NOTE, PASSED = "issue", "note", "passed"
# The finding that a map would help.
REPAIR = "CAL070"
# The finding that forecasts are beyond the tolerance.
VERDICT = "CAL001"
FEW_VALUES = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know, under a code that stays the same."""

    code: str
    kind: str
    """"issue", "note" or "passed"."""
    text: str
    advice: str = ""

    @property
    def page(self) -> str:
        """Where the documentation explains it."""
        return f"docs/findings.md#{self.code.lower()}"


def findings(summary: Summary) -> tuple[Finding, ...]:
    """List what was found, issues first."""
    found = [
        *_verdict(summary),
        *repair_findings(summary.choice),
        *_shape(summary),
        *_groups(summary),
        *_time(summary),
        *_data(summary),
    ]
    order = {ISSUE: 0, NOTE: 1, PASSED: 2}
    return tuple(sorted(found, key=lambda finding: order[finding.kind]))


def _verdict(summary: Summary) -> Iterator[Finding]:
    verdict = summary.verdict
    if verdict.state == MISCALIBRATED:
        yield Finding(
            VERDICT,
            ISSUE,
            verdict.sentence,
            "recalibrate on rows that the model was not fitted to, and audit again",
        )
    elif verdict.state == CALIBRATED:
        yield Finding("CAL003", PASSED, verdict.sentence, "use the probabilities as they are")
    else:
        needed = verdict.rows_needed
        more = "" if needed is None else f": about {count_text(needed, 'row')} in all"
        yield Finding("CAL002", NOTE, verdict.sentence, f"collect more rows{more}")


def repair_findings(choice: Choice | None) -> Iterator[Finding]:
    """Say what a map would gain, or that none would."""
    if choice is None:
        return
    if choice.leave_alone:
        yield Finding("CAL071", PASSED, choice.sentence)
        return
    before, after = choice.smooth_errors
    yield Finding(
        REPAIR,
        NOTE,
        f"{choice.sentence} The smooth error falls from {before:.4f} to {after:.4f} on rows that "
        "the map had not seen.",
        "recalibrate: calibrant repair FILE --out fixed.parquet --map map.json",
    )


def _shape(summary: Summary) -> Iterator[Finding]:
    detected = summary.verdict.pvalue <= 0.05
    if detected:
        code = "CAL010" if "too high" in summary.where else "CAL011"
        kind = ISSUE if summary.verdict.state == MISCALIBRATED else NOTE
        yield Finding(code, kind, f"{_capital(summary.where)}.")
    slope = summary.classical.slope
    if slope.high < 1:
        yield Finding(
            "CAL020",
            NOTE,
            f"Over-confident: the calibration slope is {slope.value:.2f} "
            f"(between {slope.low:.2f} and {slope.high:.2f}; 1 is right).",
            "forecasts are too extreme: temperature or Platt scaling shrinks them",
        )
    elif slope.low > 1:
        yield Finding(
            "CAL021",
            NOTE,
            f"Under-confident: the calibration slope is {slope.value:.2f} "
            f"(between {slope.low:.2f} and {slope.high:.2f}; 1 is right).",
            "forecasts are too timid: temperature or Platt scaling spreads them",
        )
    ratio = summary.classical.ratio
    if ratio.high < 1 or ratio.low > 1:
        yield Finding(
            "CAL022",
            NOTE,
            f"Off on the whole: {ratio.sentence}",
            "if rows were resampled or the base rate has changed, correct the prior first",
        )


def _groups(summary: Summary) -> Iterator[Finding]:
    groups = summary.groups
    if groups is None:
        return
    if groups.failing:
        yield Finding(
            "CAL040",
            ISSUE,
            groups.sentence,
            "recalibrate by group (calibrant repair FILE --by), or give the model the column",
        )
    else:
        yield Finding("CAL042", PASSED, groups.sentence)
    small = sum(group.small for group in groups)
    if small:
        yield Finding(
            "CAL041",
            NOTE,
            f"{count_text(small, 'group')} with few rows or events: their intervals are wide.",
        )


def _time(summary: Summary) -> Iterator[Finding]:
    if summary.watched is None:
        return
    monitor = summary.watched.monitor
    if monitor.alarm:
        yield Finding(
            "CAL060",
            NOTE,
            f"{monitor.sentence} The alarm is of {summary.watched.alarm_time}.",
            "look at the windows before and after, and watch the stream from now on",
        )
    else:
        yield Finding("CAL061", PASSED, monitor.sentence)


def _data(summary: Summary) -> Iterator[Finding]:
    if min(summary.base_rate, 1 - summary.base_rate) < RARE:
        yield Finding(
            "CAL031",
            NOTE,
            "One outcome is rare: read observed over expected events beside the error.",
        )
    if summary.levels <= FEW_VALUES and summary.rows > 2 * summary.levels:
        yield Finding(
            "CAL035",
            NOTE,
            f"Only {count_text(summary.levels, 'different forecast')}: grouped by value, no bins.",
        )
    if summary.dropped:
        yield Finding(
            "CAL034", NOTE, f"{count_text(summary.dropped, 'row')} with a missing value left out."
        )
    if summary.clipped:
        yield Finding(
            "CAL033",
            NOTE,
            f"{count_text(summary.clipped, 'prediction')} outside [0, 1] by a rounding error, "
            "moved to its end.",
        )
    if summary.classical.certain == summary.rows:
        yield Finding(
            "CAL032",
            NOTE,
            "Every forecast is 0 or 1: such answers carry no probability to judge, only how often "
            "they are wrong.",
        )
    elif summary.classical.certain:
        yield Finding(
            "CAL037",
            NOTE,
            f"{count_text(summary.classical.certain, 'forecast')} of exactly 0 or 1: left out of "
            "slope and intercepts.",
        )
    for note in summary.notes:
        yield Finding("CAL038", NOTE, f"{_capital(note)}.")
    for caution in summary.cautions:
        yield Finding("CAL036", NOTE, f"{_capital(caution)}.")
    yield from _method(summary)


def _method(summary: Summary) -> Iterator[Finding]:
    test = summary.verdict.test
    if test.cells:
        yield Finding(
            "CAL050",
            NOTE,
            f"The redraws use predictions rounded to {test.cells} cells, which errs on the safe "
            "side.",
        )
    if summary.joint.resolution is not None:
        yield Finding(
            "CAL053",
            NOTE,
            f"Predictions were summed into {count_text(summary.joint.resolution, 'cell')} and "
            f"moved by at most {summary.joint.rounding:.1g} on average: continuous measures are "
            "within their bounds, the others are those of the rounded forecasts.",
        )
    if not test.exact:
        why = "Rows of one level differ in weight" if test.clusters is None else "Rows in clusters"
        yield Finding("CAL051", NOTE, f"{why}: the chance of so large an error is approximate.")
    for caution in summary.verdict.cautions:
        yield Finding("CAL052", NOTE, f"{_capital(caution)}.")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]

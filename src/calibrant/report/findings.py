"""What an audit found, one coded line each, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant._base.words import agreeing, capital, count_text, interval_texts
from calibrant.data.groupings import AND
from calibrant.inference import CALIBRATED, DETECTABLE, MISCALIBRATED, RARE, range_text
from calibrant.recalibration import ContinuousRecalibration, Recalibration
from calibrant.report.recalibrate_command import RecalibrateCommand
from calibrant.report.sentences import row_sentence, set_sentence, verdict_sentence

if TYPE_CHECKING:
    from calibrant.groups import Groups
    from calibrant.inference import Estimate
    from calibrant.report.sections import ClassSection
    from calibrant.report.summary import Summary

ISSUE, NOTE, PASSED = "issue", "note", "passed"
# The finding that a calibrator would help.
RECALIBRATE = "CAL070"
# The finding that forecasts are beyond the tolerance, that it is undecided, that they are within.
VERDICT, UNDECIDED, TRUSTED = "CAL001", "CAL002", "CAL003"
# What is seen where higher forecasts mean fewer outcomes, and what to do: of two, and of classes.
TURNED = (
    "The higher the forecast, the rarer the outcome",
    "check which label is outcome 1, and of which outcome the predictions are",
)
TURNED_CLASSES = (
    "The surer the forecast, the rarer it was right",
    "check that the columns stand in the order of the classes, and the outcomes beside their rows",
)
FEW_VALUES = 30
# Rows that sum to one but for this do.
ROUNDING = 1e-9


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
        *recalibration_findings(
            # A calibrator would hide that the wrong label counts as outcome 1, or what else is
            # wrong.
            None if summary.turned_round or summary.spoiled else summary.choice,
            needed=summary.verdict.state != CALIBRATED,
            censored=summary.censored,
            command=summary.recalibrate_command,
        ),
        *_shape(summary),
        *_ratios(summary),
        *([] if summary.classes is None else _classes(summary.classes)),
        *_groups(summary),
        *_time(summary),
        *_data(summary),
    ]
    order = {ISSUE: 0, NOTE: 1, PASSED: 2}
    return tuple(sorted(found, key=lambda finding: order[finding.kind]))


def actions(summary: Summary) -> list[Finding]:
    """Choose what to do: more rows where these are too few, recalibration, then the rest."""
    advised = [finding for finding in summary.findings if finding.advice]
    found = [finding for finding in advised if finding.code == UNDECIDED]
    needed = summary.verdict.state != CALIBRATED
    fix = [finding for finding in advised if finding.code == RECALIBRATE and needed]
    issues = [finding for finding in advised if finding.kind == ISSUE]
    # A calibrator says what the verdict says, and how.
    found += fix + [finding for finding in issues if not (fix and finding.code == VERDICT)]
    return found or [finding for finding in advised if finding.code == TRUSTED]


def _verdict(summary: Summary) -> Iterator[Finding]:
    verdict = summary.verdict
    if verdict.state == MISCALIBRATED:
        yield Finding(
            VERDICT,
            ISSUE,
            verdict_sentence(summary),
            "recalibrate on rows that the model was not fitted to, and audit again",
        )
    elif verdict.state == CALIBRATED:
        trust = summary.words.trust
        if summary.classes is not None:
            trust = "trust the confidence as it is; what holds for each class is said beside it"
        if any(trap.useless for trap in summary.traps):
            trust = ""
        if summary.state == MISCALIBRATED:
            trust = "what fails for groups or classes is listed beside it"
        yield Finding(TRUSTED, PASSED, verdict_sentence(summary), trust)
    else:
        more = "more rows" if verdict.plan is None else range_text(verdict.plan, "new row")
        advice = f"collect {more}, and audit the new rows without these"
        yield Finding(UNDECIDED, NOTE, verdict_sentence(summary), advice)


def recalibration_findings(
    choice: Recalibration | ContinuousRecalibration | None,
    *,
    needed: bool = True,
    censored: bool = False,
    command: RecalibrateCommand | None = None,
) -> Iterator[Finding]:
    """Say what a calibrator would gain, or that none would; forecasts within a tolerance need none.

    Censored outcomes are not those of the file, so that no command can recalibrate them.
    """
    if choice is None:
        return
    if choice.unchanged:
        yield Finding("CAL071", PASSED, choice.sentence)
        return
    classes = getattr(choice.calibrator, "classes_", None)
    named = () if classes is None else ("--classes", ",".join(map(str, classes)))
    how = (command or RecalibrateCommand(options=named)).whole
    if not isinstance(choice, Recalibration):
        how = "the calibrator is fitted in Python (cal.recalibrate)"
    elif censored:
        how = "learn the calibrator in Python from the weighted rows (cal.recalibrate)"
    sure = "" if not choice.gain.low <= 0 else ", and audit new observations before you rely on it"
    yield Finding(
        RECALIBRATE,
        NOTE,
        choice.sentence,
        f"recalibrate{sure}: {how}" if needed else f"not needed; to gain it all the same: {how}",
    )


def turned(summary: Summary) -> tuple[str, str]:
    """Say that higher forecasts mean fewer outcomes, and what to check."""
    return TURNED if summary.classes is None else TURNED_CLASSES


def _shape(summary: Summary) -> Iterator[Finding]:
    if summary.verdict.pvalue <= DETECTABLE:
        high = summary.worst is not None and summary.worst.direction == summary.words.too_high
        code = "CAL010" if high else "CAL011"
        kind = ISSUE if summary.verdict.state == MISCALIBRATED else NOTE
        yield Finding(code, kind, f"{capital(summary.where)}.")
    if summary.classical is None:
        return
    slope = summary.classical.slope
    of = "" if summary.classes is None else " of the confidence"
    if summary.turned_round:
        sentence, advice = turned(summary)
        yield Finding("CAL024", ISSUE, f"{sentence}: {_slope_text(slope, of)}", advice)
    elif slope.high < 1 or slope.low > 1:
        over = slope.high < 1
        code, kind = ("CAL020", "Over-confident") if over else ("CAL021", "Under-confident")
        shown = "too extreme" if over else "too timid"
        cure = "shrinks" if over else "spreads"
        advice = f"forecasts are {shown}"
        if summary.choice is None:  # else the calibrator that suits them is named
            advice += f": temperature or Platt scaling {cure} them"
        if summary.verdict.state == CALIBRATED:
            kind, advice = f"{kind}, by less than is tolerated", ""
        yield Finding(code, NOTE, f"{kind}: {_slope_text(slope, of)}", advice)
    ratio = summary.classical.ratio
    # Of classes, promised and received say the same.
    off = ratio.high < 1 or ratio.low > 1
    if summary.classes is None and off and summary.ratios is None:
        yield Finding(
            "CAL022",
            NOTE,
            f"Biased overall: {ratio.sentence[:1].lower()}{ratio.sentence[1:]}",
            "if rows were resampled or the base rate has changed, correct the prior first",
        )


def _slope_text(slope: Estimate, of: str) -> str:
    value, low, high = interval_texts(slope.value, slope.low, slope.high)
    return f"the calibration slope{of} is {value} (between {low} and {high}; 1 is right)."


def _ratios(summary: Summary) -> Iterator[Finding]:
    if summary.ratios is None:
        return
    overall = summary.ratios.overall
    advice = "if rows were resampled or the base rate has changed, correct the prior first"
    yield _judged("CAL023", overall.state, overall.sentence, advice)
    if summary.groups is not None:
        # Groups that fail by their smooth error are advised already.
        advice = "" if summary.groups.failing else _by_group(summary)
        state, sentence = summary.ratios.state_of_groups, summary.ratios.sentence_of_groups
        yield _judged("CAL048", state, sentence, advice)


def _judged(code: str, state: str, sentence: str, advice: str) -> Finding:
    if state == MISCALIBRATED:
        return Finding(code, ISSUE, sentence, advice)
    return Finding(code, PASSED if state == CALIBRATED else NOTE, sentence)


def _classes(section: ClassSection) -> Iterator[Finding]:
    judged = section.by_class
    if judged.failing:
        yield Finding(
            "CAL043",
            ISSUE,
            judged.sentence,
            "recalibrate class by class (vector scaling, isotonic), or change the model",
        )
    else:
        yield Finding("CAL044", PASSED, judged.sentence)
    few = sum(group.small for group in judged)
    if few:
        yield Finding("CAL045", NOTE, f"{count_text(few, 'class')} {_are_wide(few)}")
    tests = (section.sets.projected_test, section.sets.canonical)
    for test, sentence, code in zip(
        tests, (set_sentence(section), row_sentence(section)), ("CAL046", "CAL047"), strict=True
    ):
        if test is not None and test.pvalue <= DETECTABLE:
            yield Finding(code, NOTE, sentence)
    if section.sum_gap > ROUNDING:
        yield Finding(
            "CAL039",
            NOTE,
            f"Rows sum to one within {section.sum_gap:.1e}; they were not rescaled.",
        )


def _by_group(summary: Summary) -> str:
    columns = [] if summary.groups is None else columns_of(summary.groups)
    if summary.classes is not None:
        named = f"{agreeing(len(columns), 'column', 'columns')} {', '.join(columns)}"
        return f"give the model the {named}"
    these = agreeing(len(columns), "the column", "these columns")
    if summary.censored or summary.loss is not None:
        return f"give the model {these}"
    how = (summary.recalibrate_command or RecalibrateCommand()).text("--by", ",".join(columns))
    return f"recalibrate by group ({how}), or give the model {these}"


def columns_of(groups: Groups) -> list[str]:
    """Columns that divide the rows, without pairs of them."""
    return list(dict.fromkeys(group.by for group in groups if AND not in group.by))


def _are_wide(count: int) -> str:
    wide = agreeing(count, "its interval is", "their intervals are")
    return f"with few rows or events: {wide} wide."


def _groups(summary: Summary) -> Iterator[Finding]:
    groups = summary.groups
    if groups is None:
        return
    if groups.failing:
        yield Finding("CAL040", ISSUE, groups.sentence, _by_group(summary))
    else:
        yield Finding("CAL042", PASSED, groups.sentence)
    small = sum(group.small for group in groups)
    if small:
        yield Finding(
            "CAL041",
            NOTE,
            f"{count_text(small, 'group')} {_are_wide(small)}",
        )


def _time(summary: Summary) -> Iterator[Finding]:
    if summary.watched is None:
        return
    monitor = summary.watched.monitor
    if monitor.alarm:
        yield Finding(
            "CAL060",
            NOTE,
            summary.watched.sentence,
            "look at the windows before and after, and watch the stream from now on",
        )
    else:
        yield Finding("CAL061", PASSED, summary.watched.sentence)


def _data(summary: Summary) -> Iterator[Finding]:
    data, classical = summary.data, summary.classical
    if classical is not None and min(data.observed, 1 - data.observed) < RARE:
        rare = "One outcome is rare"
        if summary.classes is not None:
            rare = "Right guesses are rare" if data.observed < RARE else "Wrong guesses are rare"
        yield Finding(
            "CAL031", NOTE, f"{rare}: read observed over expected events beside the error."
        )
    if classical is not None and data.levels <= FEW_VALUES and data.rows > 2 * data.levels:
        yield Finding(
            "CAL035",
            NOTE,
            f"Only {count_text(data.levels, 'different forecast')}: grouped by value, no bins.",
        )
    if data.dropped:
        yield Finding(
            "CAL034", NOTE, f"{count_text(data.dropped, 'row')} with a missing value left out."
        )
    if data.clipped:
        noun = "prediction" if summary.classes is None else "probability"
        yield Finding(
            "CAL033",
            NOTE,
            f"{count_text(data.clipped, noun)} outside [0, 1] by a rounding error, moved to its "
            "end.",
        )
    for trap in summary.traps:
        yield Finding(trap.code, NOTE, trap.text, trap.advice)
    if classical is not None and 0 < classical.certain < data.rows:
        yield Finding(
            "CAL037",
            NOTE,
            f"{count_text(classical.certain, 'forecast')} of exactly 0 or 1: left out of "
            "slope and intercepts.",
        )
    for note in data.notes:
        yield Finding("CAL038", NOTE, f"{capital(note)}.")
    for caution in summary.measured.cautions:
        yield Finding("CAL036", NOTE, f"{capital(caution)}.")
    yield from _method(summary)


def _method(summary: Summary) -> Iterator[Finding]:
    test = summary.verdict.test
    if summary.dependence is not None:
        doubt = summary.dependence
        yield Finding("CAL054", NOTE, f"{capital(doubt.sentence)}.", doubt.advice)
    if test.cells:
        yield Finding(
            "CAL050",
            NOTE,
            f"The simulation rounds forecasts to {count_text(test.cells, 'value')}; its p-value is "
            "conservative.",
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
        why = "Rows of one level differ in weight"
        if summary.loss is not None:
            why = "Residuals are multiplied by random numbers"
        if test.clusters is not None:
            why = "Rows in clusters"
        yield Finding("CAL051", NOTE, f"{why}: the p-value is approximate.")
    for caution in summary.verdict.cautions:
        yield Finding("CAL052", NOTE, f"{capital(caution)}.")

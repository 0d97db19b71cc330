"""The first lines of an audit: what is wrong, where, by how much, what to do, and how sure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calibrant._base.words import (
    RARE,
    capital,
    count_text,
    is_bound,
    percent_text,
    rounded_up,
    samples_text,
    thousands_text,
)
from calibrant.inference import (
    CALIBRATED,
    DETECTABLE,
    MISCALIBRATED,
    ConfidenceInterval,
    Dependence,
    ErrorUnit,
    Groups,
    Verdict,
    worse_state,
)
from calibrant.measures.regions import Region
from calibrant.report.findings import turned
from calibrant.report.sections import RELATIVE
from calibrant.report.summary import Summary

# Where each test of a combined test looks.
PART_NAMES = {
    "smooth_calibration_error": "the smooth error",
    "slope_and_intercept": "slope and intercept",
    "shape": "the shape of the calibration curve",
}


def certainty_of(
    verdict: Verdict, about: str = "", origin: str = "", doubt: Dependence | None = None
) -> str:
    """Say how sure a verdict is, something about its test, and where the tolerance comes from.

    Where rows look dependent, that comes first: everything after it assumes that they are not.
    """
    unit = ErrorUnit.of(verdict.kind)
    known = [_known("the smooth error", verdict.interval, verdict.tolerance, unit)]
    if verdict.gap is not None:
        gap = verdict.gap
        known.insert(0, _known("the typical gap", gap.interval, gap.tolerance, unit))
    most = "at most " if is_bound(verdict.pvalue, verdict.test.null.size) else ""
    sure = "How sure:"
    if doubt is not None:
        sure = f"Less sure than it looks: {doubt.sentence}; {doubt.advice}. As computed,"
    return (
        f"{sure} with {percent_text(verdict.interval.confidence)} confidence for each limit, "
        f"{' and '.join(known)}. Perfect forecasts would look at least this bad in "
        f"{most}{samples_text(verdict.pvalue)} samples{_clearest_part(verdict)}{about}.{origin}"
    )


def _known(name: str, interval: ConfidenceInterval, tolerance: float, unit: ErrorUnit) -> str:
    """Say what the limits of an error are, beside its tolerance."""
    limits = unit.between(interval.low, interval.high)
    if interval.low <= 0:
        limits = f"at most {unit.text(interval.high, rounded_up)}"
    return f"{name} is {limits} (tolerance {unit.number(tolerance)})"


def _clearest_part(verdict: Verdict) -> str:
    """Name the part of the test that found something, unless it is the smooth error."""
    test = verdict.test
    found = [part.measure for part in test.parts if part.pvalue == test.most_striking.pvalue]
    if verdict.pvalue > DETECTABLE or not found or verdict.measure in found:
        return ""
    return f", most clearly in {' and in '.join(PART_NAMES[name] for name in found)}"


def wrong(verdict: Verdict, subject: str, size: str, worst: str) -> str:
    """Say where forecasts are off; before that by how much typically, where only the gap fails."""
    if verdict.error_state == MISCALIBRATED or verdict.gap is None:
        return f"Miscalibrated: {worst}"
    return f"Miscalibrated: {subject} are typically off by {size}, up and down. Worst: {worst}"


def wrong_in_parts(
    verdict: Verdict, judged: Iterable[Groups | None], whole: str, worst: str
) -> str:
    """Name groups and classes that fail where all rows together do not; nothing if none does."""
    failing = [groups.count_sentence for groups in judged if groups is not None and groups.failing]
    if not failing:
        return ""
    limit = ErrorUnit.of(verdict.kind).text(verdict.tolerance)
    overall = f"calibrated within {limit}" if verdict.state == CALIBRATED else "undecided"
    found = f" Their worst range: {worst}" if worst else ""
    return f"Miscalibrated: {' '.join(failing)} {whole} {overall}.{found}"


def not_wrong(verdict: Verdict, trust: str, worst: str) -> str:
    """Say what to trust, or what is known of the error; name the worst range if one was found."""
    if verdict.state == CALIBRATED:
        if worst:
            return f"{verdict.headline} Worst range: {worst}"
        bounded = capital(verdict.known(CALIBRATED))
        return f"Calibrated: {trust}. {bounded}."
    sentences = [verdict.headline, f"Worst range: {worst}" if worst else "", verdict.outlook]
    return " ".join(filter(None, sentences))


def conclusion(summary: Summary) -> str:
    """Say in two plain sentences what was found and what to do about it."""
    verdict = summary.verdict
    others = worse_state(verdict.error_state, verdict.gap.state if verdict.gap else CALIBRATED)
    if verdict.state != others:  # observed over expected alone decides
        sentence = f"{capital(verdict.state)}: {verdict.ratio_sentence}."
        if verdict.state == MISCALIBRATED:
            sentence = f"Miscalibrated: {verdict.direction_of_ratio}."
        return f"{sentence} {verdict.outlook or _cure(summary)}"
    if verdict.state == MISCALIBRATED:
        return f"{_wrong(summary)} {_cure(summary)}"
    worst = _worst_range(summary) if summary.detected else ""
    sentence = wrong_in_parts(verdict, summary.judged, summary.words.whole, worst)
    if not sentence:
        sentence = not_wrong(verdict, _trust(summary), worst)
    return " ".join([sentence, *_ratio_of_rare(summary)])


def certainty(summary: Summary) -> str:
    """Say how sure the conclusion is, and what is tolerated."""
    verdict = summary.verdict
    exact = verdict.test.exact or summary.kind.summed
    about = "" if exact else " (approximately)"
    origin, doubt = tolerance_origin(summary), summary.dependence
    sentence = certainty_of(verdict, about, origin, doubt)
    if verdict.ratio_tolerance is None:
        return sentence
    allowed = percent_text(verdict.ratio_tolerance)
    called = summary.words.ratio
    return f"{sentence} Observed over expected ({called}) within {allowed} of 1 is tolerated."


def _ratio_of_rare(summary: Summary) -> Iterator[str]:
    """Say how many events there were for one forecast, where they are rare and it is not one."""
    observed = summary.data.observed
    rare = summary.kind.summed and min(observed, 1 - observed) < RARE
    if summary.classical is None or not rare or summary.ratios is not None:
        return
    ratio = summary.classical.ratio
    if ratio.low > 1 or ratio.high < 1:
        value, low, high = ratio.texts
        yield f"There were {value} times as many events as forecast (between {low} and {high})."


def tolerance_origin(summary: Summary) -> str:
    """Say where the tolerance comes from, unless it was given as a number."""
    relative = summary.settings.get(RELATIVE)
    if relative is not None:
        return f" The tolerance is {str(relative).removesuffix('%')} % of the rarer outcome."
    if summary.settings["tolerance given"]:
        return ""
    return f" {summary.kind.default_reason(summary.evidence.rows)}"


def _wrong(summary: Summary) -> str:
    verdict, words = summary.verdict, summary.words
    if summary.worst is None:
        return f"Miscalibrated: {words.forecasts} are off."
    gap = "" if verdict.gap is None else words.amount(verdict.gap.interval.value)
    return wrong(verdict, words.forecasts, gap, _worst_range(summary))


def _worst_range(summary: Summary) -> str:
    """Say where forecasts are most clearly off, and by how much; nothing if nowhere."""
    region, words = summary.worst, summary.words
    if region is None:
        return ""
    both = words.in_short(region.prediction, region.outcome)
    rows = f"{thousands_text(region.rows)} of {count_text(summary.data.rows, 'row')}"
    sentence = (
        f"{words.forecasts}{_range(summary, region)} are {_off(summary, region)} ({both}, {rows})"
    )
    other = summary.other
    if other is not None:
        sentence += f", those{_range(summary, other)} {_off(summary, other)}"
    return f"{sentence}."


def _off(summary: Summary, region: Region) -> str:
    apart = summary.words.apart(region.prediction, region.outcome)
    return f"{region.direction} by {apart}"


def _range(summary: Summary, region: Region) -> str:
    """Say which forecasts a range holds; of probabilities one end does for all beyond."""
    words = summary.words
    if words.ends is None:
        return f" {region.among}"
    low, high = words.ends(region.low, region.high)
    lowest, highest = summary.joint.prediction[[0, -1]]
    if region.low <= lowest and region.high >= highest:
        return ""
    if low == high or low.startswith("more than"):
        return f" of {low}"
    if high.startswith("less than"):
        return f" of {high}"
    if region.low <= lowest:
        return f" up to {high}"
    return f" of {low} or more" if region.high >= highest else f" between {low} and {high}"


def _cure(summary: Summary) -> str:
    no_cure = _no_cure(summary)
    if no_cure is not None:
        return no_cure
    if summary.choice is None:
        return "Recalibrate on rows that the model was not fitted to."
    return summary.choice.advice


def _no_cure(summary: Summary) -> str | None:
    """Say why recalibration is not the answer, if it is not."""
    if summary.turned_round:
        return f"{': '.join(turned(summary))}."
    for trap in summary.traps:
        if trap.spoils_maps:
            return f"{trap.text} {capital(trap.advice)}."
        if trap.useless and summary.kind.summed:
            return f"Recalibration can only return the base rate: {trap.useless}."
    return None


def _trust(summary: Summary) -> str:
    useless = [trap.useless for trap in summary.traps if trap.useless]
    if useless:
        return f"right on average, but of no use to tell rows apart: {useless[0]}"
    return summary.words.trust

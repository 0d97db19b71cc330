"""The first lines of an audit: what is wrong, where, by how much, what to do, and how sure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.inference import DETECTABLE, MISCALIBRATED
from calibrant.regions import Region
from calibrant.report.error_units import ErrorUnit
from calibrant.report.findings import turned
from calibrant.report.sections import RELATIVE
from calibrant.report.summary import Summary
from calibrant.report.verdict_words import (
    NO_MAP,
    certainty_of,
    not_wrong,
    wrong,
    wrong_in_parts,
)
from calibrant.words import (
    RARE,
    capital,
    count_text,
    factor_text,
    points_text,
    range_texts,
    rate_texts,
    thousands_text,
)

DEFAULT_TOLERANCE = "Default tolerance: 2 points, or a tenth of the rarer outcome if less."


def conclusion(summary: Summary) -> str:
    """Say in two plain sentences what was found and what to do about it."""
    verdict = summary.verdict
    if verdict.state == MISCALIBRATED:
        return f"{_wrong(summary)} {_cure(summary)}"
    unit = ErrorUnit.of(summary)
    whole = "All rows together are"
    if summary.classes is not None:
        whole = "The confidence in the most likely class is"
    worst = _worst_range(summary) if verdict.pvalue <= DETECTABLE else ""
    told = wrong_in_parts(verdict, unit, summary.judged, whole, worst)
    if not told:
        told = not_wrong(verdict, unit, _trust(summary), worst)
    return " ".join([told, *_ratio_of_rare(summary)])


def certainty(summary: Summary) -> str:
    """Say how sure the conclusion is, and what is tolerated."""
    unit, origin = ErrorUnit.of(summary), tolerance_origin(summary)
    return certainty_of(summary.verdict, unit, origin=origin, doubt=summary.dependence)


def _ratio_of_rare(summary: Summary) -> Iterator[str]:
    """Say how many events there were for one forecast, where they are rare and it is not one."""
    ratio = summary.classical.ratio
    if ErrorUnit.of(summary).rare and summary.ratios is None and (ratio.low > 1 or ratio.high < 1):
        value, low, high = ratio.texts
        yield f"There were {value} times as many events as forecast (between {low} and {high})."


def tolerance_origin(summary: Summary) -> str:
    """Say where the tolerance comes from, unless it was given as a number."""
    relative = summary.settings.get(RELATIVE)
    if relative is not None:
        return f" The tolerance is {str(relative).removesuffix('%')} % of the rarer outcome."
    return "" if summary.settings["tolerance given"] else f" {DEFAULT_TOLERANCE}"


def _wrong(summary: Summary) -> str:
    verdict, subject = summary.verdict, _subject(summary)
    if summary.worst is None:
        return f"Miscalibrated: {subject} are off."
    gap = "" if verdict.gap is None else points_text(verdict.gap.interval.value)
    return wrong(verdict, subject, gap, _worst_range(summary))


def _subject(summary: Summary) -> str:
    return "forecasts" if summary.classes is None else "confidences"


def _worst_range(summary: Summary) -> str:
    """Say where forecasts are most clearly off, and by how much; nothing if nowhere."""
    region, subject = summary.worst, _subject(summary)
    if region is None:
        return ""
    mean, observed = "mean forecast", "observed rate"
    if summary.classes is not None:
        mean, observed = "mean confidence", "accuracy"
    where = f"{subject}{_range(summary, region)}"
    forecast, rate = rate_texts(region.prediction, region.outcome)
    rows = thousands_text(region.rows)
    told = (
        f"{where} are {_off(region)} ({mean} {forecast}, {observed} "
        f"{rate}, {rows} of {count_text(summary.data.rows, 'row')})"
    )
    other = summary.other
    if other is not None:
        told += f", those{_range(summary, other)} {_off(other)}"
    return f"{told}."


def _off(region: Region) -> str:
    too = "low" if region.outcome > region.prediction else "high"
    return f"too {too} by {_difference(region)}"


def _range(summary: Summary, region: Region) -> str:
    """Say which forecasts a range holds; one end is enough where it holds all beyond."""
    low, high = range_texts(region.low, region.high)
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


def _difference(region: Region) -> str:
    """Write how far a range is off: in points, or as a factor where events are rare."""
    larger, smaller = sorted((region.prediction, region.outcome), reverse=True)
    if larger >= RARE:
        return points_text(larger - smaller)
    if smaller <= 0:
        return f"a factor of {factor_text(np.inf)}"
    return f"a factor of {factor_text(larger / smaller, 2)}"


def _cure(summary: Summary) -> str:
    choice = summary.choice
    no_cure = _no_cure(summary)
    if no_cure is not None:
        return no_cure
    if choice is None:
        return "Recalibrate on rows that the model was not fitted to."
    if choice.leave_alone:
        if choice.runner_up_gain.low > 0:
            return (
                f"The {choice.runner_up} map may help, but too few rows show it: collect more, or "
                "change the model."
            )
        return NO_MAP
    score, gain = choice.score, choice.gain
    if not np.isfinite([gain.low, gain.high]).all():  # certain forecasts that failed
        score, gain = "brier", choice.gains["brier"]
    if not gain.low > 0:
        return (
            f"Recalibrating ({choice.map.name} map) may help; evaluate it on new observations "
            "before you use it."
        )
    lowers = gain.lowers(score, choice.confidence)
    return f"Recalibrate: on held-out data the {choice.map.name} map {lowers}."


def _no_cure(summary: Summary) -> str | None:
    """Say why recalibration is not the answer, if it is not."""
    if summary.turned_round:
        return f"{': '.join(turned(summary))}."
    for trap in summary.traps:
        if trap.spoils_maps:
            return f"{trap.text} {capital(trap.advice)}."
        if trap.useless:
            return f"Recalibration can only return the base rate: {trap.useless}."
    return None


def _trust(summary: Summary) -> str:
    useless = [trap.useless for trap in summary.traps if trap.useless]
    if useless:
        return f"right on average, but of no use to tell rows apart: {useless[0]}"
    if summary.classes is not None:
        return "trust the confidence in the most likely class as it is"
    return "use the probabilities as they are"

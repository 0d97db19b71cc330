"""The first lines of an audit: what is wrong, where, by how much, what to do, and how sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from calibrant.inference import (
    CALIBRATED,
    DETECTABLE,
    MISCALIBRATED,
    bounds_text,
)
from calibrant.regions import Region, strongest_region
from calibrant.report.sections import RELATIVE
from calibrant.report.summary import HEADLINE, Summary
from calibrant.words import (
    RARE,
    agreeing,
    comparable_texts,
    count_text,
    number_text,
    percent_text,
    points_text,
    rate_texts,
    rounded_down,
    rounded_up,
    samples_text,
    thousands_text,
)

DEFAULT_TOLERANCE = "The tolerance is the default: 0.02, or a tenth of the rarer outcome."


def conclusion(summary: Summary) -> str:
    """Say in two plain sentences what was found and what to do about it."""
    verdict = summary.verdict
    if verdict.state == MISCALIBRATED:
        return f"{_wrong(summary)} {_cure(summary)}"
    told = _fine(summary) if verdict.state == CALIBRATED else _open(summary)
    return " ".join([told, *_but(summary)])


def certainty(summary: Summary) -> str:
    """Say how sure the conclusion is, and what is tolerated."""
    verdict = summary.verdict
    error = bounds_text(verdict.interval, verdict.tolerance)
    known = f"the smooth error is {error} (tolerance {number_text(verdict.tolerance)})"
    if verdict.gap is not None:
        gap = bounds_text(verdict.gap.interval, verdict.gap.tolerance)
        known += f" and the typical gap {gap} (tolerance {number_text(verdict.gap.tolerance)})"
    draws = verdict.test.headline.null.size
    most = "at most " if verdict.pvalue * (draws + 1) < 1.5 else ""
    return (
        f"How sure: {percent_text(verdict.interval.confidence)} confident that {known}. Perfect "
        f"forecasts would look at least this bad in {most}{samples_text(verdict.pvalue)} samples."
        f"{tolerance_origin(summary)}"
    )


def tolerance_origin(summary: Summary) -> str:
    """Say where the tolerance comes from, unless it was given as a number."""
    relative = summary.settings.get(RELATIVE)
    if relative is not None:
        return f" The tolerance is {str(relative).removesuffix('%')} % of the rarer outcome."
    return "" if summary.settings["tolerance given"] else f" {DEFAULT_TOLERANCE}"


def _but(summary: Summary) -> Iterator[str]:
    """Name classes and groups that fail where all rows together do not."""
    judged = [summary.groups, None if summary.classes is None else summary.classes.by_class]
    for groups in judged:
        if groups is not None and groups.failing:
            yield f"But {groups.count_sentence}"


def worst_region(summary: Summary) -> Region | None:
    """Find the range of forecasts that is most clearly off: that of `Summary.where`."""
    verdict = summary.verdict
    if verdict.gap is not None and verdict.test.headline.pvalue > DETECTABLE:
        return verdict.gap.worst
    witness = summary.measured.values[HEADLINE].witness
    return strongest_region(summary.joint, witness(summary.joint.prediction))


def _wrong(summary: Summary) -> str:
    verdict, region = summary.verdict, worst_region(summary)
    subject, mean, observed = "forecasts", "mean forecast", "observed rate"
    if summary.classes is not None:
        subject, mean, observed = "confidences", "mean confidence", "accuracy"
    if region is None:
        return f"Miscalibrated: {subject} are off."
    too = "low" if region.outcome > region.prediction else "high"
    ends = rate_texts(region.low, region.high)
    where = f"{subject} between {ends[0]} and {ends[1]}"
    if ends[0] == ends[1]:
        where = f"{subject} of {ends[0]}"
    if region.rows == summary.data.rows:
        where = subject
    forecast, rate = rate_texts(region.prediction, region.outcome)
    rows = thousands_text(region.rows)
    told = (
        f"{where} are too {too} by {_difference(region)} ({mean} {forecast}, {observed} "
        f"{rate}, {rows} of {count_text(summary.data.rows, 'row')})."
    )
    if verdict.error_state == MISCALIBRATED or verdict.gap is None:
        return f"Miscalibrated: {told}"
    gap = points_text(verdict.gap.interval.value)
    return f"Miscalibrated: {subject} are typically off by {gap}, up and down. Worst: {told}"


def _difference(region: Region) -> str:
    """Write how far a range is off: in points, or as a factor where events are rare."""
    larger, smaller = sorted((region.prediction, region.outcome), reverse=True)
    if larger >= RARE:
        return points_text(larger - smaller)
    return "any measure" if smaller <= 0 else f"a factor of {larger / smaller:.2g}"


def _cure(summary: Summary) -> str:
    choice = summary.choice
    if choice is None:
        return "Recalibrate on rows that the model was not fitted to."
    if choice.leave_alone:
        return "No calibration map lowers the loss on rows it had not seen: change the model."
    before, after = choice.smooth_errors
    if choice.gain.low <= 0 or after >= before:
        return (
            f"Recalibrating ({choice.map.name} map) may help; audit fresh rows before you trust it."
        )
    first, second = comparable_texts(before, after)
    return (
        f"Recalibrate: the {choice.map.name} map lowers the smooth error from {first} to {second} "
        "on rows it had not seen."
    )


def _fine(summary: Summary) -> str:
    verdict = summary.verdict
    trust = "use the probabilities as they are"
    if summary.classes is not None:
        trust = "trust the confidence in the most likely class as it is"
    most = _error(summary, verdict.interval.high, rounded_up)
    limit = _error(summary, verdict.tolerance, rounded_down)
    begin, but = "Calibrated", "They are"
    if verdict.pvalue <= DETECTABLE:
        begin, but = "Good enough", "They are not perfect, but"
    return f"{begin}: {trust}. {but} off by at most {most}; {limit} {_is(limit)} tolerated."


def _open(summary: Summary) -> str:
    verdict = summary.verdict
    interval, tolerance, what = verdict.interval, verdict.tolerance, "error"
    if verdict.error_state == CALIBRATED and verdict.gap is not None:
        interval, tolerance, what = verdict.gap.interval, verdict.gap.tolerance, "typical gap"
    high, limit = (
        _error(summary, interval.high, rounded_up),
        _error(summary, tolerance, rounded_down),
    )
    up_to = f"the {what} may be anything up to {high}, and {limit} {_is(limit)} tolerated"
    if verdict.pvalue <= DETECTABLE:
        begin = "Not perfect, but too few rows to say whether it matters"
    else:
        begin = "Too few rows to say"
    return f"{begin}: {up_to}. {verdict.outlook}"


def _error(summary: Summary, value: float, rounded: Callable[[float], str]) -> str:
    """Write an error in points, or as a share of the rarer outcome where that is rare."""
    rarer = min(summary.data.base_rate, 1 - summary.data.base_rate)
    if 0 < rarer < RARE:
        return f"{rounded(round(100 * value / rarer, 9))} % of the rate of events"
    points = rounded(round(100 * value, 9))
    return f"{points} {agreeing(1 if points == '1' else 2, 'point', 'points')}"


def _is(amount: str) -> str:
    return "are" if amount.endswith("points") else "is"

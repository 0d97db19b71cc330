"""What a verdict says in plain words, whatever the outcomes: errors in a unit that laymen read."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant.inference import (
    CALIBRATED,
    DETECTABLE,
    MISCALIBRATED,
    ConfidenceInterval,
    Dependence,
    Groups,
    Verdict,
)
from calibrant.report.error_units import ErrorUnit
from calibrant.words import capital, is_bound, percent_text, rounded_up, samples_text

# Where each test of a combined test looks.
SEEN_IN = {
    "smooth_calibration_error": "the smooth error",
    "slope_and_intercept": "slope and intercept",
    "shape": "the shape of the calibration curve",
}


def certainty_of(
    verdict: Verdict,
    unit: ErrorUnit,
    about: str = "",
    origin: str = "",
    doubt: Dependence | None = None,
) -> str:
    """Say how sure a verdict is, something about its test, and where the tolerance comes from.

    Where rows look dependent, that comes first: everything after it assumes that they are not.
    """
    error = unit.bounds(verdict.interval, verdict.tolerance)
    known = f"the smooth error is {error} (tolerated: {unit.number(verdict.tolerance)})"
    each = ""
    if verdict.gap is not None:
        gap = unit.bounds(verdict.gap.interval, verdict.gap.tolerance)
        known += f" and the typical gap {gap} (tolerated: {unit.number(verdict.gap.tolerance)})"
        each = " each"
    most = "at most " if is_bound(verdict.pvalue, verdict.test.null.size) else ""
    sure = "How sure:"
    if doubt is not None:
        sure = f"Less sure than it looks: {doubt.sentence}; {doubt.advice}. As computed,"
    return (
        f"{sure} with {percent_text(verdict.interval.confidence)} confidence{each}, {known}. "
        f"Perfect forecasts would look at least this bad in {most}{samples_text(verdict.pvalue)} "
        f"samples{_seen_in(verdict)}{about}.{origin}"
    )


def _seen_in(verdict: Verdict) -> str:
    """Name the part of the test that found something, unless it is the smooth error."""
    test = verdict.test
    found = [part.measure for part in test.parts if part.pvalue == test.most_striking.pvalue]
    if verdict.pvalue > DETECTABLE or not found or verdict.measure in found:
        return ""
    return f", most clearly in {' and in '.join(SEEN_IN[name] for name in found)}"


def wrong(verdict: Verdict, subject: str, size: str, worst: str) -> str:
    """Say where forecasts are off; before that by how much typically, where only the gap fails."""
    if verdict.error_state == MISCALIBRATED or verdict.gap is None:
        return f"Miscalibrated: {worst}"
    return f"Miscalibrated: {subject} are typically off by {size}, up and down. Worst: {worst}"


def wrong_in_parts(
    verdict: Verdict,
    unit: ErrorUnit,
    judged: Iterable[Groups | None],
    whole: str,
    worst: str,
) -> str:
    """Name groups and classes that fail where all rows together do not; nothing if none does."""
    failing = [groups.count_sentence for groups in judged if groups is not None and groups.failing]
    if not failing:
        return ""
    limit = unit.text(verdict.tolerance)
    overall = f"calibrated within {limit}" if verdict.state == CALIBRATED else "undecided"
    found = f" Their worst range: {worst}" if worst else ""
    return f"Miscalibrated: {' '.join(failing)} {whole} {overall}.{found}"


def not_wrong(verdict: Verdict, unit: ErrorUnit, trust: str, worst: str) -> str:
    """Say what to trust, or what is open; name the worst range where the test found something."""
    if verdict.state == CALIBRATED:
        return _fine(verdict, unit, trust, worst)
    said = [_open(verdict, unit), f"Not perfect: {worst}" if worst else "", verdict.outlook]
    return " ".join(filter(None, said))


def _fine(verdict: Verdict, unit: ErrorUnit, trust: str, worst: str) -> str:
    """Say what is bounded, and what to trust unless some range is detectably off."""
    what, interval, tolerance = _leading(verdict, unit)
    most, limit = unit.text(interval.high, rounded_up), unit.text(tolerance)
    bounded = f"the {what} is at most {most}; {limit} {_is_or_are(limit)} tolerated."
    if worst:
        return f"Calibrated within tolerance, but not perfectly: {bounded} Worst range: {worst}"
    return f"Calibrated: {trust}. {capital(bounded)}"


def _leading(verdict: Verdict, unit: ErrorUnit) -> tuple[str, ConfidenceInterval, float]:
    """Choose the typical gap, which people imagine, unless it is left out of the verdict."""
    gap = verdict.gap
    if gap is None or unit.size < 1 <= gap.tolerance:
        return "smooth error", verdict.interval, verdict.tolerance
    return "typical gap", gap.interval, gap.tolerance


def _open(verdict: Verdict, unit: ErrorUnit) -> str:
    """Say how large the error that is open may be."""
    interval, tolerance, what = verdict.interval, verdict.tolerance, "smooth error"
    if verdict.error_state == CALIBRATED and verdict.gap is not None:
        interval, tolerance, what = verdict.gap.interval, verdict.gap.tolerance, "typical gap"
    high, limit = unit.text(interval.high, rounded_up), unit.text(tolerance)
    return (
        f"Undecided: the {what} may be anything up to {high}, and {limit} {_is_or_are(limit)} "
        "tolerated."
    )


def _is_or_are(amount: str) -> str:
    """Choose the verb of an amount."""
    return "are" if amount.endswith("points") else "is"

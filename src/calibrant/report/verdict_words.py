"""What a verdict says in plain words, whatever the outcomes: errors in a unit that laymen read."""

from __future__ import annotations

from calibrant.inference import CALIBRATED, DETECTABLE, MISCALIBRATED, Verdict
from calibrant.report.error_units import ErrorUnit
from calibrant.words import percent_text, rounded_up, samples_text


def certainty_of(verdict: Verdict, unit: ErrorUnit, about: str = "", origin: str = "") -> str:
    """Say how sure a verdict is, something about its test, and where the tolerance comes from."""
    error = unit.bounds(verdict.interval, verdict.tolerance)
    known = f"the smooth error is {error} (tolerated: {unit.number(verdict.tolerance)})"
    if verdict.gap is not None:
        gap = unit.bounds(verdict.gap.interval, verdict.gap.tolerance)
        known += f" and the typical gap {gap} (tolerated: {unit.number(verdict.gap.tolerance)})"
    draws = verdict.test.headline.null.size
    most = "at most " if verdict.pvalue * (draws + 1) < 1.5 else ""
    return (
        f"How sure: {percent_text(verdict.interval.confidence)} confident that {known}. Perfect "
        f"forecasts would look at least this bad in {most}{samples_text(verdict.pvalue)} "
        f"samples{about}.{origin}"
    )


def wrong(verdict: Verdict, subject: str, size: str, worst: str) -> str:
    """Say where forecasts are off; before that by how much typically, where only the gap fails."""
    if verdict.error_state == MISCALIBRATED or verdict.gap is None:
        return f"Miscalibrated: {worst}"
    return f"Miscalibrated: {subject} are typically off by {size}, up and down. Worst: {worst}"


def not_wrong(verdict: Verdict, unit: ErrorUnit, trust: str) -> str:
    """Say what to trust, or that the rows do not tell."""
    return _fine(verdict, unit, trust) if verdict.state == CALIBRATED else _open(verdict, unit)


def _fine(verdict: Verdict, unit: ErrorUnit, trust: str) -> str:
    """Say what to trust, and by how much forecasts are off at most."""
    most, limit = unit.text(verdict.interval.high, rounded_up), unit.text(verdict.tolerance)
    but = "They are not perfect, but" if verdict.pvalue <= DETECTABLE else "They are"
    return (
        f"Calibrated: {trust}. {but} off by at most {most}; {limit} {_is_or_are(limit)} tolerated."
    )


def _open(verdict: Verdict, unit: ErrorUnit) -> str:
    """Say how large the error may be, and how many rows would tell."""
    interval, tolerance, what = verdict.interval, verdict.tolerance, "error"
    if verdict.error_state == CALIBRATED and verdict.gap is not None:
        interval, tolerance, what = verdict.gap.interval, verdict.gap.tolerance, "typical gap"
    high, limit = unit.text(interval.high, rounded_up), unit.text(tolerance)
    but = ""
    if verdict.pvalue <= DETECTABLE:
        but = "not perfect, but too few rows to say whether it matters; "
    return (
        f"Undecided: {but}the {what} may be anything up to {high}, and {limit} "
        f"{_is_or_are(limit)} tolerated. {verdict.outlook}"
    )


def _is_or_are(amount: str) -> str:
    """Choose the verb of an amount."""
    return "are" if amount.endswith("points") else "is"

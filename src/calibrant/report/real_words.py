"""Sentences and tables of an audit of real outcomes."""

from __future__ import annotations

from calibrant.inference import CALIBRATED, MISCALIBRATED, ConfidenceInterval, Groups, worse_state
from calibrant.kinds import OfNumbers
from calibrant.real import RealSummary
from calibrant.report.error_units import ErrorUnit
from calibrant.report.tables import GAP, GAP_BETWEEN, PERFECT, ShownTable
from calibrant.report.traps import find_real_traps
from calibrant.report.verdict_words import (
    NO_MAP,
    certainty_of,
    not_wrong,
    wrong,
    wrong_in_parts,
)
from calibrant.words import (
    capital,
    comparable_texts,
    count_text,
    interval_texts,
    number_text,
    percent_text,
    rounded_down,
    rounded_up,
    thousands_text,
)

PROMISED, OBSERVED = "promised", "observed"


def conclusion(summary: RealSummary) -> str:
    """Say in two plain sentences what was found and what to do about it."""
    verdict = summary.verdict
    unit, whole = unit_of(summary), "All rows together are"
    if verdict.state != MISCALIBRATED and summary.state == MISCALIBRATED:
        worst = _worst_range(summary)
        return wrong_in_parts(verdict, unit, [summary.groups], whole, worst)
    others = worse_state(verdict.error_state, verdict.gap.state if verdict.gap else CALIBRATED)
    if worse_state(others, verdict.ratio_state) != others:  # the ratio alone decides
        told = f"{capital(verdict.state)}: {verdict.ratio_sentence}."
        return f"{told} {verdict.outlook or _cure(summary)}"
    if verdict.state == MISCALIBRATED:
        return f"{_wrong(summary)} {_cure(summary)}"
    several = summary.forecasts.kind.words.forecasts
    useless = [trap.useless for trap in find_real_traps(summary) if trap.useless]
    trust = f"use the {several} as they are"
    if useless:
        trust = f"right on average, but of no use to tell rows apart: {useless[0]}"
    return not_wrong(verdict, unit, trust, _worst_range(summary))


def certainty(summary: RealSummary) -> str:
    """Say how sure the conclusion is, and what is tolerated."""
    unit, verdict = unit_of(summary), summary.verdict
    about, origin = _about_test(summary), _origin(summary)
    told = certainty_of(verdict, unit, about, origin, summary.dependence)
    if verdict.ratio_tolerance is None:
        return told
    allowed = percent_text(verdict.ratio_tolerance)
    return f"{told} Observed over expected (A/E) within {allowed} of 1 is tolerated."


def _about_test(summary: RealSummary) -> str:
    if summary.forecasts.kind.chance is not None and summary.source.clusters is None:
        return ""
    return " (approximately)"


def _origin(summary: RealSummary) -> str:
    """Say where the tolerance comes from, unless it was given."""
    if summary.tolerance_given:
        return ""
    forecasts = summary.forecasts
    if not isinstance(forecasts.kind, OfNumbers):
        return " Default tolerance: 2 points, or a tenth of the rarer side if less."
    extent, name = forecasts.kind.extent_and_name(forecasts)
    return f" Default tolerance: 2 % of {name} ({number_text(extent)})."


def unit_of(summary: RealSummary) -> ErrorUnit:
    """Choose what errors are counted in: units of the outcome, or points."""
    return ErrorUnit.of_outcomes(in_units=summary.forecasts.kind.in_outcome_units)


def _wrong(summary: RealSummary) -> str:
    if summary.worst is None:
        return "Miscalibrated: forecasts are off."
    gap = summary.verdict.gap
    size = "" if gap is None else _amount(summary, gap.interval.value)
    return wrong(summary.verdict, "forecasts", size, _worst_range(summary))


def _worst_range(summary: RealSummary) -> str:
    """Say where forecasts are most clearly off; nothing where noise explains all of it."""
    region = summary.worst
    if region is None:
        return ""
    by = _amount(summary, abs(region.outcome - region.prediction))
    rows = f"{thousands_text(region.rows)} of {count_text(len(summary.forecasts), 'row')}"
    told = f"{region.where} are {region.direction} by {by} ({region.forecast_and_observed}, {rows})"
    other = summary.other
    if other is not None:
        by = _amount(summary, abs(other.outcome - other.prediction))
        told += f", those {other.among} {other.direction} by {by}"
    return f"{told}."


def _amount(summary: RealSummary, size: float) -> str:
    """Write how far apart two numbers are: in points, or in the units of the outcome."""
    return summary.forecasts.kind.words.amount(size)


def _cure(summary: RealSummary) -> str:
    found = summary.repair
    if found is not None and found.leave_alone:
        return NO_MAP
    if found is not None and found.gain.low > 0:
        before, after = comparable_texts(found.before, found.after)
        return (
            f"Recalibrate: the {found.map.method} map lowers the {found.loss} from {before} to "
            f"{after} on held-out data."
        )
    if summary.forecasts.kind.has_ends:
        wider = summary.observed < summary.promised
        return f"{'Widen' if wider else 'Narrow'} them on rows that the model was not fitted to."
    return "Recalibrate them on rows that the model was not fitted to, or change the model."


def headline(summary: RealSummary) -> str:
    """Say what was read, and what the forecasts are forecasts of."""
    words = summary.forecasts.kind.words
    told = capital(f"{count_text(len(summary.forecasts), 'row')} of {words.what}: ")
    if words.points:
        return f"{told}{percent_text(summary.observed)} of outcomes {words.observed}."
    return f"{told}{words.forecast_and_observed(summary.promised, summary.observed)}."


def number_table(summary: RealSummary) -> ShownTable:
    """Show the main numbers, the errors beside their noise floors."""
    verdict, rows = summary.verdict, []
    error, floor = comparable_texts(verdict.value, verdict.noise_floor)
    ends = f"{rounded_down(verdict.interval.low)} to {rounded_up(verdict.interval.high)}"
    rows.append(("smooth error", error, ends, floor))
    if verdict.gap is not None:
        gap = verdict.gap.interval
        rows.append(
            (
                "typical gap",
                number_text(gap.value),
                f"{rounded_down(gap.low)} to {rounded_up(gap.high)}",
                "",
            )
        )
    binned = summary.measures["binned_calibration_error"]
    texts = comparable_texts(float(binned), summary.floors[binned.name])
    rows.append((f"binned error, {binned.settings['bins']} bins", texts[0], "", texts[1]))
    mean, low, high = interval_texts(*summary.bias)
    rows.append((summary.forecasts.kind.words.bias, mean, f"{low} to {high}", ""))
    if verdict.ratio is not None:
        value, low, high = verdict.ratio.texts
        rows.append(("observed/expected (A/E)", value, f"{low} to {high}", ""))
    rows.append((summary.forecasts.kind.loss_name, number_text(summary.loss), "", ""))
    return ShownTable(("measure", "value", "interval", PERFECT), tuple(rows))


def measure_table(summary: RealSummary) -> ShownTable:
    """Show every measure beside its noise floor."""
    rows = []
    for name, value in summary.measures.items():
        texts = comparable_texts(float(value), summary.floors[name])
        settings = ", ".join(f"{key} {set_}" for key, set_ in value.settings.items())
        rows.append((name.replace("_", " "), *texts, settings))
    return ShownTable(("measure", "value", PERFECT, "settings"), tuple(rows))


def dot_table(summary: RealSummary) -> ShownTable:
    """Show what was promised and observed in each range of the forecasts."""
    rows = []
    for dot in summary.dots:
        region = dot.region
        between = " to ".join(comparable_texts(region.low, region.high))
        rows.append(
            (
                between,
                thousands_text(region.rows),
                *_amounts(summary, region.prediction, region.outcome, dot.low, dot.high),
            )
        )
    place = summary.forecasts.kind.words.place
    return ShownTable((place, "rows", PROMISED, OBSERVED, "from", "to"), tuple(rows))


def group_table(groups: Groups, summary: RealSummary) -> ShownTable:
    """Show every group, the strongest evidence first."""
    rows = []
    for group in groups.groups:
        error = comparable_texts(group.value, group.noise_floor)
        few = ", few rows" if group.small else ""
        rows.append(
            (
                group.label,
                thousands_text(group.rows),
                *_amounts(summary, group.forecast, group.observed),
                error[0],
                f"{rounded_down(group.low)} to {rounded_up(group.high)}",
                error[1],
                *_gap_cells(group.gap),
                f"{group.state}{few}",
            )
        )
    errors = ("error", "between", PERFECT, GAP, GAP_BETWEEN)
    heads = ("group", "rows", PROMISED, OBSERVED, *errors, "verdict")
    return ShownTable(heads, tuple(rows))


def _gap_cells(gap: ConfidenceInterval | None) -> tuple[str, str]:
    if gap is None:
        return "", ""
    return comparable_texts(gap.value)[0], f"{rounded_down(gap.low)} to {rounded_up(gap.high)}"


def _amounts(summary: RealSummary, *values: float) -> tuple[str, ...]:
    return summary.forecasts.kind.words.amounts(*values)

"""Sentences and tables of an audit of real outcomes."""

from __future__ import annotations

from calibrant.inference import CALIBRATED, DETECTABLE, MISCALIBRATED
from calibrant.real import (
    Coverage,
    Mean,
    Quantile,
    RealGroups,
    RealSummary,
    loss_name,
)
from calibrant.report.conclusion import is_or_are
from calibrant.report.error_units import ErrorUnit
from calibrant.report.tables import PERFECT, ShownTable
from calibrant.words import (
    capital,
    comparable_texts,
    count_text,
    interval_texts,
    number_text,
    percent_text,
    points_text,
    rounded_down,
    rounded_up,
    samples_text,
    thousands_text,
)

PROMISED, OBSERVED = "promised", "observed"


def conclusion(summary: RealSummary) -> str:
    """Say in two plain sentences what was found and what to do about it."""
    verdict = summary.verdict
    if verdict.state == MISCALIBRATED:
        return f"Miscalibrated: {_wrong(summary)} {_cure(summary)}"
    told = _fine(summary) if verdict.state == CALIBRATED else _open(summary)
    if summary.groups is not None and summary.groups.failing:
        told += f" But {summary.groups.count_sentence}"
    return told


def certainty(summary: RealSummary) -> str:
    """Say how sure the conclusion is, and what is tolerated."""
    verdict, unit = summary.verdict, unit_of(summary)
    error = unit.bounds(verdict.interval, verdict.tolerance)
    known = f"the smooth error is {error} (tolerated: {unit.number(verdict.tolerance)})"
    if verdict.gap is not None:
        gap = unit.bounds(verdict.gap.interval, verdict.gap.tolerance)
        known += f" and the typical gap {gap} (tolerated: {unit.number(verdict.gap.tolerance)})"
    least = verdict.pvalue * (verdict.test.headline.null.size + 1) < 1.5
    return (
        f"How sure: {percent_text(verdict.interval.confidence)} confident that {known}. Right "
        f"forecasts would look at least this bad in {'at most ' if least else ''}"
        f"{samples_text(verdict.pvalue)} samples{_about_test(summary)}.{_origin(summary)}"
    )


def _about_test(summary: RealSummary) -> str:
    if isinstance(summary.forecasts.kind, Quantile | Coverage) and summary.source.clusters is None:
        return ""
    return " (approximately)"


def _origin(summary: RealSummary) -> str:
    """Say where the tolerance comes from, unless it was given."""
    if summary.tolerance_given:
        return ""
    forecasts = summary.forecasts
    if not forecasts.kind.in_outcome_units:
        return " Default tolerance: 2 points."
    return f" Default tolerance: 2 % of {forecasts.span_words} ({number_text(forecasts.span)})."


def unit_of(summary: RealSummary) -> ErrorUnit:
    """Choose what errors are counted in: units of the outcome, or points."""
    return ErrorUnit.of_outcomes(in_units=summary.forecasts.kind.in_outcome_units)


def _wrong(summary: RealSummary) -> str:
    region = summary.worst
    if region is None:
        return "forecasts are off."
    by = _amount(summary, abs(region.outcome - region.prediction))
    rows = f"{thousands_text(region.rows)} of {count_text(len(summary.forecasts), 'row')}"
    told = f"{region.where} {region.direction} by {by} ({region.promised_and_observed}, {rows})."
    verdict = summary.verdict
    if verdict.error_state == MISCALIBRATED or verdict.gap is None:
        return told
    size = _amount(summary, verdict.gap.interval.value)
    return f"forecasts are typically off by {size}, up and down. Worst: {told}"


def _amount(summary: RealSummary, size: float) -> str:
    """Write how far apart two numbers are: in points, or in the units of the outcome."""
    return number_text(size) if summary.forecasts.kind.in_outcome_units else points_text(size)


def _cure(summary: RealSummary) -> str:
    found = summary.repair
    if found is not None and found.leave_alone:
        return "No map lowers the loss on rows it had not seen: change the model."
    if found is not None and found.gain.low > 0:
        before, after = comparable_texts(found.before, found.after)
        return (
            f"Recalibrate: the {found.map.method} map lowers the {found.loss} from {before} to "
            f"{after} on rows it had not seen."
        )
    if isinstance(summary.forecasts.kind, Coverage):
        wider = summary.observed < summary.promised
        return f"{'Widen' if wider else 'Narrow'} them on rows that the model was not fitted to."
    return "Recalibrate them on rows that the model was not fitted to, or change the model."


def _fine(summary: RealSummary) -> str:
    verdict, unit = summary.verdict, unit_of(summary)
    but = "They are"
    if verdict.pvalue <= DETECTABLE:
        but = "They are not perfect, but"
    several = "intervals" if isinstance(summary.forecasts.kind, Coverage) else "forecasts"
    most, limit = unit.text(verdict.interval.high, rounded_up), unit.text(verdict.tolerance)
    return (
        f"Calibrated: use the {several} as they are. {but} off by at most {most}; {limit} "
        f"{is_or_are(limit)} tolerated."
    )


def _open(summary: RealSummary) -> str:
    verdict, unit = summary.verdict, unit_of(summary)
    interval, tolerance, what = verdict.interval, verdict.tolerance, "error"
    if verdict.error_state == CALIBRATED and verdict.gap is not None:
        interval, tolerance, what = verdict.gap.interval, verdict.gap.tolerance, "typical gap"
    limit = unit.text(tolerance)
    but = ""
    if verdict.pvalue <= DETECTABLE:
        but = "not perfect, but too few rows to say whether it matters; "
    return (
        f"Undecided: {but}the {what} may be anything up to "
        f"{unit.text(interval.high, rounded_up)}, and {limit} {is_or_are(limit)} tolerated. "
        f"{verdict.outlook}"
    )


def headline(summary: RealSummary) -> str:
    """Say what was read, and what the forecasts are forecasts of."""
    kind = summary.forecasts.kind
    what = {
        Mean: "forecasts of the mean",
        Quantile: f"forecasts of the {percent_text(getattr(kind, 'level', 0.5))} quantile",
        Coverage: f"intervals that promise {percent_text(getattr(kind, 'level', 0.5))}",
    }.get(type(kind), f"forecasts of the {kind.kind.replace('=', ' ')}")
    told = capital(f"{count_text(len(summary.forecasts), 'row')} of {what}: ")
    if isinstance(kind, Quantile | Coverage):
        where = "inside" if isinstance(kind, Coverage) else "at or below"
        return f"{told}{percent_text(summary.observed)} of outcomes {where}."
    forecast, observed = comparable_texts(summary.promised, summary.observed)
    word = "mean" if isinstance(kind, Mean) else "expectile"
    return f"{told}mean forecast {forecast}, observed {word} {observed}."


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
    what = "promised - observed share"
    if summary.forecasts.kind.in_outcome_units:
        what = "observed - forecast"
    rows.append((what, mean, f"{low} to {high}", ""))
    rows.append((loss_name(summary.forecasts.kind), number_text(summary.loss), "", ""))
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
    place = "width" if isinstance(summary.forecasts.kind, Coverage) else "forecasts"
    return ShownTable((place, "rows", PROMISED, OBSERVED, "from", "to"), tuple(rows))


def group_table(groups: RealGroups, summary: RealSummary) -> ShownTable:
    """Show every group, the strongest evidence first."""
    rows = []
    for group in groups.groups:
        error = comparable_texts(group.value, group.noise_floor)
        few = ", few rows" if group.small else ""
        rows.append(
            (
                group.label,
                thousands_text(group.rows),
                *_amounts(summary, group.promised, group.observed),
                error[0],
                f"{rounded_down(group.low)} to {rounded_up(group.high)}",
                error[1],
                f"{group.state}{few}",
            )
        )
    heads = ("group", "rows", PROMISED, OBSERVED, "error", "between", PERFECT, "verdict")
    return ShownTable(heads, tuple(rows))


def _amounts(summary: RealSummary, *values: float) -> tuple[str, ...]:
    if summary.forecasts.kind.in_outcome_units:
        return comparable_texts(values[0], *values[1:])
    return tuple(percent_text(value) for value in values)

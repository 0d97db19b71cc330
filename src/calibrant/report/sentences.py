"""The sentences of a report that need more than one section, or one of another package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from calibrant._base.words import (
    capital,
    comparable_texts,
    count_text,
    distinct_texts,
    number_text,
    percent_text,
    pvalue_text,
)
from calibrant.decisions import ScoreDecomposition
from calibrant.inference import DETECTABLE, CalibrationTest, Costs
from calibrant.report.sections import RELATIVE

if TYPE_CHECKING:
    from calibrant.groups import Segment
    from calibrant.report.sections import ClassSection
    from calibrant.report.summary import Summary

SEGMENTS = "Segments found on one half of the rows and judged on the other:"
# Perfect forecasts' payoff stays within so many standard deviations of the promise in 95 %.
Z_95 = 1.96


def where_sentence(summary: Summary) -> str:
    """Say where forecasts are off; what chance alone would show is not reported as a finding."""
    if summary.verdict.pvalue <= DETECTABLE:
        return f"Worst range: {summary.where}."
    return "No range of forecasts is off by more than chance."


def band_sentence(summary: Summary) -> str:
    """Say what the band of the diagram is, and what found a deviation that it does not show."""
    diagram, verdict = summary.diagram, summary.verdict
    if diagram.band is None:
        return ""
    sentence = (
        "If the forecasts were calibrated, the curve would lie inside the grey band in "
        f"{percent_text(diagram.confidence)} of samples. "
    )
    if not diagram.outside and verdict.pvalue <= DETECTABLE:
        sentence += (
            "Here it does; the test of the verdict, which also looks at slope and shape, finds a "
            f"deviation ({pvalue_text(verdict.pvalue, verdict.test.null.size)}). "
        )
    return sentence


def headline(summary: Summary) -> str:
    """Say how many forecasts there are, with their mean and the observed rate."""
    data, words = summary.data, summary.words
    if summary.classes is not None:
        confidence, accuracy = distinct_texts(data.forecast, data.observed)
        return (
            f"{count_text(data.rows, 'forecast')} of "
            f"{count_text(len(summary.classes.names), 'class')}: mean confidence in the most "
            f"likely class {confidence}, accuracy {accuracy}."
        )
    if summary.loss is not None:
        return f"{count_text(data.rows, 'row')} of {words.what}: {_observed_text(summary)}."
    rounded = summary.joint.resolution is not None
    return (
        f"{count_text(data.rows, 'forecast')} {'in' if rounded else 'with'} "
        f"{count_text(data.levels, 'cell' if rounded else 'different value')}: "
        f"{words.forecast_and_observed(data.forecast, data.observed)}."
    )


def _observed_text(summary: Summary) -> str:
    """Say what was observed; of shares what was promised is said before."""
    data, words = summary.data, summary.words
    if words.points:
        return f"{percent_text(data.observed)} of outcomes {words.observed_as}"
    return words.forecast_and_observed(data.forecast, data.observed)


def verdict_sentence(summary: Summary) -> str:
    """Say what was found, and what it is about."""
    about = "" if summary.classes is None else "Confidence in the most likely class. "
    return f"{about}{summary.verdict.sentence}"


def ratio_sentences(summary: Summary) -> Iterator[str]:
    """Say what was observed over what was expected, where it is judged or events are rare."""
    rare = None if summary.classes is not None else summary.verdict.ratio
    if rare is not None and summary.loss is not None:
        yield f"{capital(summary.verdict.ratio_sentence)}."
        return
    if rare is not None and (summary.ratios is None or rare.outcome == 0):
        yield rare.sentence
    if summary.ratios is not None:
        yield summary.ratios.overall.sentence


def cost_sentence(summary: Summary) -> str:
    """Say what trusting the forecasts costs, beside what perfect forecasts would seem to cost.

    Of kinds that decide nothing, what their loss is made of.
    """
    costs = summary.costs
    if costs is None:
        parts = None if summary.loss is None else summary.loss.decomposition
        return "" if parts is None else parts.sentence
    if costs.promised is None or costs.task_loss is None:
        return _worst_loss(costs)
    promise, unit = capital(costs.promised.sentence), "bring"
    if not costs.own:
        text, right = distinct_texts(costs.promised.promised, costs.promised.received)
        promise = (
            f"Acting on the most likely class promises to be right in {text} of the rows and is "
            f"right in {right}"
        )
        unit = "be right in"
    if costs.task_test is None:
        gain = "no" if costs.task_loss <= 0 else f"{float(costs.task_loss):.2g}"
        text = f"{promise}; recalibrating each class would {unit} {gain} more on these rows."
    else:
        text = f"{promise}. {_own_loss(float(costs.task_loss), costs.task_test)}"
    if costs.noise is None:
        return text
    return (
        f"{text} Perfect forecasts come within {Z_95 * costs.noise:.2g} of the promise in 95 % of "
        "samples like this."
    )


def is_chance(test: CalibrationTest) -> bool:
    """Whether perfect forecasts would often show as large a loss."""
    return test.pvalue > DETECTABLE


def _worst_loss(costs: Costs) -> str:
    loss, test = percent_text(float(costs.worst)), costs.worst_test
    chance = _by_chance(percent_text(test.noise_floor), percent_text(test.noise_quantile(0.95)))
    if is_chance(test):
        return (
            f"Acting on them shows no loss beyond chance: at most {loss} of the stakes per "
            f"decision; {chance}."
        )
    return (
        f"Acting on these instead of recalibrated forecasts costs at most {loss} of the stakes per "
        f"decision; {chance}."
    )


def _own_loss(loss: float, test: CalibrationTest) -> str:
    chance = _by_chance(f"{test.noise_floor:.3g}", f"{test.noise_quantile(0.95):.3g}")
    if is_chance(test):
        return (
            f"There is no loss beyond chance: recalibrating would seem to bring {loss:.3g} more; "
            f"{chance}."
        )
    return f"Recalibrating would bring {loss:.3g} more on these rows; {chance}."


def _by_chance(mean: str, most: str) -> str:
    return f"perfect forecasts would show {mean} on average and at most {most} in 95 % of samples"


def split_texts(parts: ScoreDecomposition) -> dict[str, str]:
    """Write the parts of the score, with digits enough for the smallest that matters."""
    names = ("score", "miscalibration", "discrimination", "uncertainty")
    least = max(parts.miscalibration, parts.score / 100)
    _, *texts = comparable_texts(least, *(getattr(parts, name) for name in names))
    return dict(zip(names, texts, strict=True))


def set_sentence(section: ClassSection) -> str:
    """Name the worst set of classes, beside what chance alone finds."""
    worst, test, floor = section.sets.projected, section.sets.projected_test, section.sets.floor
    value = f"{float(worst):.4f}"
    if floor is None:
        return f"Worst set of classes {value}: {worst.witness.sentence}. It has no noise floor."
    value, least = comparable_texts(float(worst), floor)
    chance = "" if test is None else f" ({test.chance})"
    if test is not None and is_chance(test):
        return (
            f"No set of classes is off by more than chance: the worst has {value}, its noise floor "
            f"is {least}{chance}."
        )
    return f"Worst set of classes {value}, noise floor {least}{chance}: {worst.witness.sentence}."


def row_sentence(section: ClassSection) -> str:
    """Say whether whole rows of probabilities could be right."""
    test = section.sets.canonical
    if test is None:
        return "Whole rows were not tested."
    found = "are not off by more than chance" if is_chance(test) else "are off"
    value, floor = comparable_texts(test.statistic, test.noise_floor)
    return f"Whole rows {found}: kernel error {value}, noise floor {floor} ({test.chance})."


def tolerance_text(summary: Summary) -> str:
    """Write the tolerance, and where it comes from if nobody gave it."""
    relative = summary.settings.get(RELATIVE)
    why = "" if relative is None else f" ({str(relative).removesuffix('%')} % of the rarer outcome)"
    if not summary.settings["tolerance given"]:
        why = f" ({summary.kind.default_reason(summary.evidence.rows).rstrip('.')})"
        if summary.kind.summed:
            why = " (the default: 0.02, or a tenth of the rarer outcome if that is less)"
    return f"{number_text(summary.verdict.tolerance)}{why}"


def at_once(confidence: float) -> str:
    """Say that intervals hold together."""
    return f"All intervals hold at once ({percent_text(confidence)} confidence)."


def segment_verdict(segment: Segment) -> str:
    """Say whether rows that did not choose a segment confirm it."""
    return "confirmed" if segment.confirmed else "may be chance"

"""Second step of an audit: the summary in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.catalogue import CATALOGUE
from calibrant.report.summary import Summary
from calibrant.words import chance_text, count_text, distinct_texts


def render_text(summary: Summary) -> str:
    """Write an audit as plain text."""
    return "\n".join(
        [
            *_headline(summary),
            "",
            *_smooth_error(summary),
            "",
            *_measure_table(summary),
            *_cautions(summary),
        ]
    )


def _headline(summary: Summary) -> Iterator[str]:
    said, happened = distinct_texts(summary.mean_prediction, summary.base_rate)
    yield (
        f"{count_text(summary.rows, 'forecast')} with "
        f"{count_text(summary.levels, 'different value')}: "
        f"on average they say {said}, and {happened} happened."
    )
    yield verdict_sentence(summary)


def verdict_sentence(summary: Summary) -> str:
    """Say what the test and the witness found."""
    test = summary.test
    witness = summary.measures["smooth_calibration_error"].witness.sentence
    if test.pvalue <= 0.05:
        return f"The forecasts are not calibrated: {witness}."
    return (
        "No miscalibration shows beyond what chance gives a perfect forecaster "
        f"(which does not prove there is none). The largest gap: {witness}."
    )


def _smooth_error(summary: Summary) -> Iterator[str]:
    test = summary.test
    value = float(summary.measures["smooth_calibration_error"])
    yield f"smooth calibration error        {value:.4f}"
    yield (
        f"a perfect forecaster would get  {test.noise_floor:.4f} on average, "
        f"at most {test.noise_quantile(0.95):.4f} in 95 % of {test.null.size} redraws"
    )
    yield f"chance of so large an error     {chance_text(test.pvalue)} for a perfect forecaster"


def _measure_table(summary: Summary) -> Iterator[str]:
    width = max(len(CATALOGUE[name].title) for name in summary.measures)
    yield f"{'measure':<{width}}   value   perfect   settings"
    for name, value in summary.measures.items():
        settings = ", ".join(f"{k} {v}" for k, v in value.settings.items() if k != "clipped")
        numbers = f"{value:.4f}  {summary.noise_floors[name]:.4f}"
        yield f"{CATALOGUE[name].title:<{width}}   {numbers}    {settings}".rstrip()


def _cautions(summary: Summary) -> Iterator[str]:
    notes = list(summary.cautions)
    if summary.clipped:
        outside = count_text(summary.clipped, "prediction")
        notes.append(f"{outside} outside [0, 1] by a rounding error, moved to its end")
    if summary.test.cells:
        notes.append(
            f"the redraws use predictions rounded to {summary.test.cells} cells, "
            "which errs on the safe side"
        )
    if not summary.test.exact:
        notes.append("rows of one level differ in weight: the chance above is approximate")
    if notes:
        yield ""
    for note in notes:
        yield f"note: {note}"

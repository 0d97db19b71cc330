"""Second step of an audit: the summary in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.catalogue import CATALOGUE
from calibrant.report.summary import HEADLINE, Summary
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
    yield summary.verdict.sentence
    yield f"Most clearly: {summary.where}."
    if summary.verdict.ratio is not None:
        yield summary.verdict.ratio.sentence


def _smooth_error(summary: Summary) -> Iterator[str]:
    verdict = summary.verdict
    low, high = verdict.interval.low, verdict.interval.high
    yield (
        f"{CATALOGUE[HEADLINE].title:<30}  {verdict.value:.4f}, between {low:.4f} and {high:.4f} "
        f"with {verdict.interval.confidence:.0%} confidence".replace("%", " %")
    )
    yield f"{'tolerance':<30}  {verdict.tolerance:.4g}"
    yield (
        f"{'a perfect forecaster would get':<30}  {verdict.noise_floor:.4f} on average, "
        f"at most {verdict.test.noise_quantile(0.95):.4f} in 95 % of {verdict.test.null.size} "
        "redraws"
    )
    yield (
        f"{'chance of so large an error':<30}  {chance_text(verdict.pvalue)} "
        "for a perfect forecaster"
    )


def _measure_table(summary: Summary) -> Iterator[str]:
    width = max(len(CATALOGUE[name].title) for name in summary.measures)
    yield f"{'measure':<{width}}   value   perfect   settings"
    for name, value in summary.measures.items():
        settings = ", ".join(f"{k} {v}" for k, v in value.settings.items() if k != "clipped")
        numbers = f"{value:.4f}  {summary.noise_floors[name]:.4f}"
        yield f"{CATALOGUE[name].title:<{width}}   {numbers}    {settings}".rstrip()


def _cautions(summary: Summary) -> Iterator[str]:
    notes = list(summary.cautions)
    test = summary.verdict.test
    if summary.clipped:
        outside = count_text(summary.clipped, "prediction")
        notes.append(f"{outside} outside [0, 1] by a rounding error, moved to its end")
    if test.cells:
        notes.append(
            f"the redraws use predictions rounded to {test.cells} cells, "
            "which errs on the safe side"
        )
    if not test.exact:
        why = "rows of one level differ in weight" if test.clusters is None else "rows in clusters"
        notes.append(f"{why}: the chance above is approximate")
    if notes:
        yield ""
    for note in notes:
        yield f"note: {note}"

"""Second step of an audit of classes: the summary as text, JSON and HTML.

`class_schema.json` beside this file describes the JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from calibrant.report.class_summary import ClassSummary
from calibrant.report.json import plain, verdict_dict
from calibrant.words import count_text

SCHEMA = 1
# A terminal shows so many classes; the others are counted.
MOST_CLASSES = 12
# A page shows so many; the others are folded away.
MOST_ON_A_PAGE = 25
# Verdicts must be read on a phone without scrolling.
NARROW = 5.0


def render_class_text(summary: ClassSummary) -> str:
    """Write an audit of classes as plain text."""
    sections = [_headline, _scores, _class_table, _notes]
    written = ["\n".join(section(summary)) for section in sections]
    return "\n\n".join(section for section in written if section)


def _headline(summary: ClassSummary) -> Iterator[str]:
    yield summary.headline
    yield f"Confidence in the most likely class. {summary.verdict.sentence}"
    yield f"Most clearly: {summary.where}."
    yield summary.class_sentence
    yield summary.subset_sentence
    yield summary.canonical_sentence


def _scores(summary: ClassSummary) -> Iterator[str]:
    worth = summary.worth
    verdict = summary.verdict
    yield (
        f"{'smooth error of confidence':<30}  {verdict.value:.4f}, between "
        f"{verdict.interval.low:.4f} and {verdict.interval.high:.4f}"
    )
    yield f"{'a perfect forecaster would get':<30}  {verdict.noise_floor:.4f} on average"
    yield f"{'worst class':<30}  {worth.worst_class_error:.4f}"
    yield f"{'worst set of classes':<30}  {float(summary.projected):.4f}"
    yield f"{'log score':<30}  {worth.log_loss:.4f}"
    yield f"{'Brier score':<30}  {worth.brier:.4f}"


def _class_table(summary: ClassSummary) -> Iterator[str]:
    shown = summary.by_class.groups[:MOST_CLASSES]
    digits = summary.digits
    width = max(len("class"), *(len(group.name) for group in shown))
    wide = digits + 2
    yield (
        f"{'class':<{width}}    events  {'said':>{wide - 1}}  {'happened':>8}  {'error':>{wide}}  "
        f"{'between':<{2 * wide + 5}}  verdict"
    )
    for group in shown:
        small = ", few rows" if group.small else ""
        yield (
            f"{group.name:<{width}}  {group.events:>8.0f}  "
            f"{group.mean_prediction:{wide - 1}.{digits - 1}f}  {group.base_rate:8.{digits - 1}f}  "
            f"{group.value:{wide}.{digits}f}  {group.low:.{digits}f} and {group.high:.{digits}f}  "
            f"{group.state}{small}"
        )
    more = len(summary.by_class) - MOST_CLASSES
    if more > 0:
        yield f"and {more} classes with less evidence"


def _notes(summary: ClassSummary) -> Iterator[str]:
    yield (
        f"The verdicts of the classes hold at once ({summary.by_class.confidence:.0%} "
        "confidence).".replace("%", " %")
    )
    if summary.sum_gap > 1e-9:
        yield f"Rows sum to one within {summary.sum_gap:.1e}; they were not rescaled."
    if summary.clipped:
        yield f"{count_text(summary.clipped, 'probability')} clipped to [0, 1]."
    if summary.dropped:
        yield f"{count_text(summary.dropped, 'row')} with a missing value left out."


def render_class_json(summary: ClassSummary) -> str:
    """Write an audit of classes as JSON; numbers that are not defined are null."""
    return json.dumps(class_dict(summary), indent=2, allow_nan=False)


def class_dict(summary: ClassSummary) -> dict[str, Any]:
    """Return an audit of classes as plain data."""
    from calibrant import __version__

    def tested(test: Any) -> dict[str, Any] | None:
        if test is None:
            return None
        return {
            "statistic": test.statistic,
            "noise_floor": test.noise_floor,
            "pvalue": test.pvalue,
            "draws": int(test.null.size),
        }

    worst = summary.projected
    return {
        "schema": SCHEMA,
        "kind": "classes",
        "calibrant": __version__,
        "title": summary.title,
        "data": {
            "rows": summary.rows,
            "classes": [str(name) for name in summary.classes],
            "mean_confidence": summary.mean_confidence,
            "accuracy": summary.worth.accuracy,
            "clipped": summary.clipped,
            "sum_gap": summary.sum_gap,
            "dropped": summary.dropped,
        },
        "verdict": plain(verdict_dict(summary.verdict)),
        "where": summary.where,
        "scores": {name: _finite(value) for name, value in asdict(summary.worth).items()},
        "classes": {
            "tolerance": summary.by_class.tolerance,
            "confidence": summary.by_class.confidence,
            "sentence": summary.class_sentence,
            "classes": [
                plain({key: value for key, value in asdict(group).items() if key != "by"})
                for group in summary.by_class
            ],
        },
        "worst_set": {
            "value": float(worst),
            "bounds": list(worst.bounds),
            "classes": [str(name) for name in getattr(worst.witness, "classes", ())],
            "searched": worst.settings["subsets"] == "searched",
            "noise_floor": summary.subset_floor,
            "sentence": summary.subset_sentence,
            "test": tested(summary.projected_test),
        },
        "canonical": tested(summary.canonical),
        "settings": summary.settings,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def render_class_html(summary: ClassSummary) -> str:
    """Write an audit of classes as one page without scripts or network."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    from calibrant import __version__
    from calibrant.plots import GroupsDisplay, NullDisplay, ReliabilityDisplay
    from calibrant.report.pictures import WIDTH

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=select_autoescape(["html", "jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    css, _, _ = environment.loader.get_source(environment, "report.css")  # type: ignore[union-attr]
    detected = summary.verdict.pvalue <= 0.05
    by_class = GroupsDisplay.of(summary.by_class)
    displays = {
        "scale": (NullDisplay.of(summary.verdict), 2.2),
        "reliability": (ReliabilityDisplay.of(summary.joint, detected=detected), 5.4),
        "classes": (by_class, 1.2 + 0.24 * min(len(summary.by_class), by_class.most)),
    }
    drawn = {}
    for name, (display, height) in displays.items():
        width = WIDTH if name == "reliability" else NARROW
        svg = display.to_svg(width=width, height=height, name=name, variables=True)
        drawn[name] = Markup(svg)  # noqa: S704
    page = environment.get_template("classes.html.jinja").render(
        s=summary,
        pictures=drawn,
        most=MOST_ON_A_PAGE,
        css=Markup(css),  # noqa: S704  # our own file
        version=__version__,
    )
    return str(page)

"""An audit as one HTML page: no network, readable without JavaScript, light and dark."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from calibrant.decisions import DecisionTask
from calibrant.report import sentences, tables
from calibrant.report.distances import MEANINGS, MOST_LEVELS, distance_sentence, is_rounded
from calibrant.report.pictures import pictures
from calibrant.report.summary import Summary
from calibrant.words import count_text, percent_text, thousands_text

# A page shows so many groups or classes, folds away so many, and counts the others.
SHOWN, MOST = 25, 500
# Words of a verdict that are coloured like a state.
COLOURS = {"confirmed": "miscalibrated", "may be chance": "undecided"}
# Rows of the table of net benefit.
BENEFITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)


def render_html(summary: Summary) -> str:
    """Write an audit as a page; whatever the user named is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    from calibrant import __version__

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=select_autoescape(["html", "jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
    )

    def raw(name: str) -> Markup:
        source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
        return Markup(source)  # noqa: S704  # our own file

    numbers = summary.classical
    drawn = {name: Markup(svg) for name, svg in pictures(summary).items()}  # noqa: S704
    page = environment.get_template("report.html.jinja").render(
        s=summary,
        say=sentences,
        tables=tables,
        shown=SHOWN,
        most=MOST,
        colours=COLOURS,
        pictures=drawn,
        estimates=[
            ("calibration slope", numbers.slope, 1),
            ("intercept, with the slope", numbers.intercept, 0),
            ("calibration in the large (slope held at 1)", numbers.in_the_large, 0),
        ],
        distance_sentence=distance_sentence(summary.distances, summary.verdict.noise_floor),
        meanings=MEANINGS,
        cells=MOST_LEVELS if is_rounded(summary.joint) else None,
        benefit=_benefit_rows(summary),
        start=_start(summary),
        curve=_script_data(summary),
        css=raw("report.css"),
        js=raw("report.js"),
        version=__version__,
        percent=percent_text,
        number=_number,
        thousands=thousands_text,
        count=count_text,
    )
    return str(page)


def _script_data(summary: Summary) -> Any:
    from markupsafe import Markup

    threshold, loss = summary.costs.at_thresholds()
    perfect = summary.costs.perfect
    columns = {"loss": loss, "perfect": perfect.mean.tolist(), "most": perfect.most.tolist()}
    data = {"threshold": threshold} | {
        name: [float(f"{value:.6g}") for value in column] for name, column in columns.items()
    }
    return Markup(json.dumps(data))  # noqa: S704  # numbers only


def _start(summary: Summary) -> dict[str, float]:
    """Where the slider starts: at the reader's own task, or at the costliest threshold."""
    task = summary.costs.task
    at = task.thresholds if isinstance(task, DecisionTask) else np.empty(0)
    if isinstance(task, DecisionTask) and at.size == 1 and 0 < at[0] < 1:
        gaps = np.abs(task.payoffs[0] - task.payoffs[1])
        return {"threshold": float(at[0]), "alarm": float(gaps[0]), "miss": float(gaps[1])}
    worst = round(min(0.995, max(0.005, summary.costs.curve.worst_threshold)) * 200) / 200
    return {"threshold": worst, "alarm": worst, "miss": round(1 - worst, 3)}


def _benefit_rows(summary: Summary) -> list[tuple[float, float, float, float]]:
    benefit = summary.costs.benefit
    rows = np.searchsorted(benefit.threshold, np.array(BENEFITS) - 1e-9)
    columns = (benefit.threshold, benefit.model, benefit.treat_all, benefit.treat_none)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "not defined" if math.isnan(value) else "infinite"
    return f"{value:.4g}"

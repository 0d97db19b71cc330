"""An audit as one HTML page: no network, readable without JavaScript, light and dark."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._base.words import (
    capital,
    count_text,
    number_text,
    percent_text,
    thousands_text,
    typeset,
)
from calibrant.decisions import DecisionTask
from calibrant.inference import DETECTABLE, Costs, ErrorUnit
from calibrant.report import sentences, tables
from calibrant.report.conclusion import certainty, conclusion
from calibrant.report.distances import MEANINGS, MOST_LEVELS, distance_sentence, is_rounded
from calibrant.report.drawing import SHAPES
from calibrant.report.findings import actions
from calibrant.report.json import plain
from calibrant.report.pictures import judged_rows, pictures
from calibrant.report.sentences import split_texts
from calibrant.report.summary import Summary

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# A page shows so many groups or classes, and counts the others.
MOST = 500
COMMAND = re.compile(r"calibrant [a-z]+ [^()]+")


def page_environment() -> Environment:
    """Prepare templates: what they are given is escaped, and must be there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=select_autoescape(["html", "jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_typeset,
    )
    environment.globals |= {"most": MOST, "count": count_text, "exact": number_text}
    return environment


def raw_file(environment: Environment, name: str) -> Markup:
    """Return a file beside the templates as it is."""
    from markupsafe import Markup

    source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
    return Markup(source)  # noqa: S704  # our own file


def with_commands(text: str) -> Markup:
    """Begin with a capital, end with a stop, and set commands as code, to be copied without it."""
    from markupsafe import Markup, escape

    escaped_text = str(escape(typeset(capital(text))))
    # Escaped above: nothing but the tags around a command is markup.
    return Markup(COMMAND.sub(r"<code>\g<0></code>", escaped_text) + ".")  # noqa: S704


def script_data(data: dict[str, Any]) -> Markup:
    """Write what a script reads."""
    from markupsafe import Markup

    from calibrant.report.drawing import HARMLESS  # brings all that draws along

    # Names are the words of others: none may end the script.
    return Markup(json.dumps(data, allow_nan=False).translate(HARMLESS))  # noqa: S704


def _typeset(value: object) -> object:
    """Keep numbers on one line; what is markup already stays as it is."""
    return typeset(value) if type(value) is str else value


# A reader is asked to do so many things.
ACTIONS = 3
# Ends of the threshold's slider, and chances that are neither rare nor nearly sure.
THRESHOLDS, COMMON = (0.005, 0.995), (0.1, 0.9)
# Rows of the table of net benefit.
BENEFITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)


def render_html(summary: Summary) -> str:
    """Write an audit as a page; whatever the user named is escaped."""
    from markupsafe import Markup

    from calibrant import __version__

    environment = page_environment()
    numbers, costs = summary.classical, summary.costs
    drawn = {name: Markup(svg) for name, svg in pictures(summary).items()}  # noqa: S704
    page = environment.get_template("report.html.jinja").render(
        s=summary,
        say=sentences,
        tables=tables,
        conclusion=conclusion(summary),
        certainty=certainty(summary),
        actions=actions(summary)[:ACTIONS],
        advised=with_commands,
        facts=partial(judged_rows, tolerance=summary.verdict.tolerance),
        pictures=drawn,
        estimates=[]
        if numbers is None
        else [
            ("calibration slope", numbers.slope, 1),
            ("intercept, with the slope", numbers.intercept, 0),
            ("calibration in the large (slope held at 1)", numbers.in_the_large, 0),
        ],
        detected=summary.verdict.test.headline.pvalue <= DETECTABLE,
        distance_sentence=None
        if costs is None
        else distance_sentence(summary.distances, summary.verdict.noise_floor),
        meanings=MEANINGS,
        cells=MOST_LEVELS if is_rounded(summary.joint) else None,
        benefit=[] if costs is None else _benefit_rows(costs),
        start=None if costs is None else _start(summary, costs),
        settings=_settings(summary),
        data=_script_data(summary),
        css=raw_file(environment, "report.css"),
        js=raw_file(environment, "report.js"),
        version=__version__,
        percent=percent_text,
        number=_number,
        unit=ErrorUnit.of(summary.kind),
        split=None if costs is None else split_texts(costs.decomposition),
        thousands=thousands_text,
    )
    return str(page)


def _script_data(summary: Summary) -> Markup:
    curve = {} if summary.costs is None else {"curve": _curve(summary.costs)}
    classes = None if summary.classes is None else summary.classes.by_class
    found = {"groups": summary.groups, "classes": classes}
    listed = {name: groups.table() for name, groups in found.items() if groups is not None}
    return script_data(curve | {"shapes": SHAPES, "tables": plain(listed)})


def _curve(costs: Costs) -> dict[str, list[float]]:
    threshold, loss = costs.at_thresholds()
    perfect = costs.perfect
    columns = {"loss": loss, "perfect": perfect.mean.tolist(), "most": perfect.most.tolist()}
    return {"threshold": threshold} | {
        name: [float(f"{value:.6g}") for value in column] for name, column in columns.items()
    }


def _start(summary: Summary, costs: Costs) -> dict[str, float]:
    """Where the box of costs starts: at the reader's own task, or where forecasts are common."""
    task = costs.task
    at = task.thresholds if isinstance(task, DecisionTask) else np.empty(0)
    if isinstance(task, DecisionTask) and at.size == 1 and 0 < at[0] < 1:
        in_vain, missed = np.abs(task.payoffs[0] - task.payoffs[1])
        return {"threshold": float(at[0]), "act": float(in_vain), "miss": float(in_vain + missed)}
    mean = summary.data.forecast
    threshold = 0.5
    if not COMMON[0] < mean < COMMON[1]:
        threshold = float(np.clip(round(mean, 3), *THRESHOLDS))
    return {"threshold": threshold, "act": 1.0, "miss": float(f"{1 / threshold:.4g}")}


def _benefit_rows(costs: Costs) -> list[tuple[float, float, float, float]]:
    benefit = costs.benefit
    rows = np.searchsorted(benefit.threshold, np.array(BENEFITS) - 1e-9)
    columns = (benefit.threshold, benefit.model, benefit.treat_all, benefit.treat_none)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def _settings(summary: Summary) -> dict[str, str]:
    """Write what the numbers depend on."""
    found = dict(summary.settings)
    explicit = found.pop("tolerance given")
    written = {
        name: _number(value) if isinstance(value, float) else str(value)
        for name, value in found.items()
    }
    return written | {"tolerance": f"{written['tolerance']}{'' if explicit else ', by default'}"}


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "not defined" if math.isnan(value) else "infinite"
    return f"{value:.4g}"

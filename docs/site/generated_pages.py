"""Pages that follow from the code: the API reference, the table of measures, the changelog."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.catalogue import DOMAINS, JOINT_MEASURES, Measure

ROOT = Path(__file__).parents[2]
ROOMS = {
    "calibrant": "Measures, inference, the audit",
    "calibrant.answers": "Answers of language models",
    "calibrant.datasets": "Forecasts that ship",
    "calibrant.decisions": "Decisions and scores",
    "calibrant.errors": "What is raised on purpose",
    "calibrant.families": "Families of tests",
    "calibrant.groups": "Groups",
    "calibrant.integrations": "Other tools",
    "calibrant.multiclass": "More than two classes",
    "calibrant.online": "Online forecasters",
    "calibrant.plots": "Pictures",
    "calibrant.repair": "Repair",
    "calibrant.pooling": "Pooling",
}
"""Public modules, each with a page of its own."""
GUIDES = {"rows": "distances.md", "classes": "multiclass.md", "groups": "groups.md"}
"""Pages that explain the measures of a domain; those of a Joint have one each."""
# The table says what a perfect forecaster scores on so many rows, averaged over draws.
ROWS, DRAWS = (1000, 10_000), 10


def public_names(module: str) -> list[str]:
    """Names that a module offers, without modules and what `calibrant` itself offers."""
    room = import_module(module)
    names = getattr(room, "__all__", None) or _own_names(room)
    elsewhere = set(cal.__all__) if module != "calibrant" else set()
    return [
        name
        for name in names
        if name not in elsewhere and not inspect.ismodule(getattr(room, name))
    ]


def _own_names(room: Any) -> list[str]:
    return [
        name
        for name, value in vars(room).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == room.__name__
    ]


def api_page(module: str, title: str) -> str:
    """One entry per public name of a module."""
    lines = [f"# {title}: `{module}`", ""]
    for name in public_names(module):
        value = getattr(import_module(module), name)
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
        options = "\n   :members:\n   :inherited-members: float" if kind == "class" else ""
        lines += [f"## {name}", "", "```{eval-rst}"]
        lines += [f".. auto{kind}:: {module}.{name}{options}", "```", ""]
    return "\n".join(lines)


def measure_table() -> str:
    """Render the catalogue: the survey's wishes as columns."""
    heads = (
        "measure", "continuous", "faithful", "interval", "a small value promises",
        "perfect forecaster", "cost", "many classes",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for measure in JOINT_MEASURES.values():
        cells = (
            f"[{measure.title}](measures/{measure.name}.md): {measure.asks}",
            *(_mark(flag) for flag in (measure.continuous, measure.faithful, measure.interval)),
            measure.decisions,
            chance_scores(measure),
            measure.cost,
            cal.CATALOGUE[measure.multiclass].title.removesuffix(" calibration error")
            if measure.multiclass
            else _mark(None),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def further_table() -> str:
    """List the measures that need more than a Joint."""
    lines = ["| measure | of | known flaw | defined in |", "|---|---|---|---|"]
    for measure in cal.CATALOGUE.values():
        if measure.name in JOINT_MEASURES:
            continue
        page = GUIDES.get(measure.domain, f"measures/{measure.name}.md")
        of = ", and ".join((DOMAINS[measure.domain], *(f"a {name}" for name in measure.requires)))
        what = f"[{measure.title}]({page}): {measure.asks}"
        lines.append(f"| {what} | {of} | {measure.flaw} | {measure.source} |")
    return "\n".join(lines)


def chance_scores(measure: Measure) -> str:
    """Say what a perfect forecaster scores on few and on many rows, on average."""
    means = []
    for rows in ROWS:
        rng, values = np.random.default_rng(rows), []
        for _ in range(DRAWS):
            prediction = rng.random(rows)
            values.append(float(measure.function(rng.random(rows) < prediction, prediction)))
        means.append(np.mean(values))
    return f"{means[0]:.4f}, then {means[1]:.4f}"


def glance(measure: Measure) -> str:
    """Show what the catalogue knows of a measure, and its picture."""
    answers = {
        "asks": measure.asks,
        "continuous": _yes(
            measure.continuous, "a small change of the predictions changes it little"
        ),
        "faithful": _yes(measure.faithful, "zero only for calibrated forecasts"),
        "confidence interval": _yes(measure.interval, "offered"),
        "a small value promises": measure.decisions,
        "cost": measure.cost,
        "many classes": _many_classes(measure),
        "known flaw": measure.flaw,
        "defined in": measure.source,
    }
    lines = ["| at a glance | |", "|---|---|"]
    lines += [f"| {what} | {answer} |" for what, answer in answers.items()]
    if measure.requires:
        return "\n".join([*lines, ""])
    caption = (
        "Left: what attains the value on the forecasts of late flights that ship with the "
        "package. Right: what three simulated forecasters score on more and more rows."
    )
    return "\n".join([*lines, "", f"![{caption}]({measure.name}.png)", "", f"*{caption}*", ""])


def _many_classes(measure: Measure) -> str:
    by_class = "class by class"
    return f"{by_class}; `{measure.multiclass}`" if measure.multiclass else by_class


def _mark(flag: object) -> str:
    return "\N{HEAVY CHECK MARK}" if flag else "\N{EN DASH}"


def _yes(flag: object, meaning: str) -> str:
    return f"{'yes' if flag else 'no'} ({meaning})"


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that is generated."""
    listed = "\n".join(f"{module}" for module in ROOMS)
    index = f"# API reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    yield "api/index.md", index
    for module, title in ROOMS.items():
        yield f"api/{module}.md", api_page(module, title)


def write_pages(app: Any) -> None:
    """Write what has changed, so that a second build is quick."""
    for name, text in pages():
        path = Path(app.srcdir) / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def without_blank_ends(text: str) -> str:
    """Drop the blank line that ends a block of code: doctest wants it, readers do not."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("```"):
            while inside and not lines[-1]:
                lines.pop()
            inside = not inside
        lines.append(line)
    return "\n".join(lines)


def fill_in(_app: Any, page: str, source: list[str]) -> None:
    """Put the table of measures where a page asks for it, and a glance on each measure's page."""
    source[0] = without_blank_ends(source[0])
    if "%MEASURES%" in source[0]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            source[0] = source[0].replace("%MEASURES%", measure_table())
    source[0] = source[0].replace("%FURTHER_MEASURES%", further_table())
    measure = cal.CATALOGUE.get(page.removeprefix("measures/"))
    if measure is not None:
        title, rest = source[0].split("\n", 1)
        source[0] = f"{title}\n\n{glance(measure)}\n{rest}"


def setup(app: Any) -> dict[str, bool]:
    """Generate pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Pages that follow from the code: the API reference, the table of measures, the changelog."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import calibrant as cal

ROOT = Path(__file__).parents[2]
ROOMS = {
    "calibrant": "Measures, inference, the audit",
    "calibrant.datasets": "Forecasts that ship",
    "calibrant.decisions": "Decisions and scores",
    "calibrant.errors": "What is raised on purpose",
    "calibrant.families": "Families of tests",
    "calibrant.groups": "Groups",
    "calibrant.integrations": "Other tools",
    "calibrant.online": "Online forecasters",
    "calibrant.plots": "Pictures",
    "calibrant.repair": "Repair",
    "calibrant.pooling": "Pooling",
}
"""Public modules, each with a page of its own."""


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
        "measure", "asks", "continuous", "faithful", "interval", "decision guarantee", "cost",
        "beyond binary",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for measure in cal.CATALOGUE.values():
        cells = (
            f"[{measure.title}](measures/{measure.name}.md)",
            measure.asks,
            *(_yes(flag) for flag in (measure.continuous, measure.faithful, measure.interval)),
            measure.decisions,
            measure.cost,
            _yes(measure.multiclass),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _yes(flag: object) -> str:
    return "yes" if flag else "no"


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


def fill_in(_app: Any, _name: str, source: list[str]) -> None:
    """Put the table of measures where a page asks for it."""
    source[0] = source[0].replace("%MEASURES%", measure_table())


def setup(app: Any) -> dict[str, bool]:
    """Generate pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The API reference: a page an object, and summary tables that lead to it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import calibrant as cal

DOCS = Path(__file__).parents[1]
PACKAGES = {
    "calibrant": "Measures, inference, the audit",
    "calibrant.llm": "Answers of language models",
    "calibrant.datasets": "Datasets",
    "calibrant.decisions": "Decisions and scores",
    "calibrant.distributions": "Predictive distributions",
    "calibrant.errors": "Exceptions",
    "calibrant.weight_functions": "Families of tests",
    "calibrant.groups": "Groups",
    "calibrant.integrations": "Integrations",
    "calibrant.models": "scikit-learn models",
    "calibrant.multiclass": "More than two classes",
    "calibrant.online": "Online forecasters",
    "calibrant.hallucination": "Models that write",
    "calibrant.plots": "Plots",
    "calibrant.binning": "Pooling",
    "calibrant.recalibration": "Recalibration",
    "calibrant.survival": "Risks by a horizon",
}
"""Public modules, each with a page of its own."""
SUBJECTS = {
    "report": "The audit",
    "measures": "Measures",
    "inference": "Tests, intervals and verdicts",
    "decisions": "Decisions and scores",
    "monitoring": "Monitoring",
    "joint": "Joint distributions",
}
"""Headings of the names of `calibrant` itself, by the folder that defines them."""
REST = "What measures return, and their catalogue"
MOST_PAGES = 5
"""Pages that an object names as explaining it."""


def public_names(module: str) -> list[str]:
    """Names that a module offers, without modules and what `calibrant` itself offers."""
    package = import_module(module)
    names = getattr(package, "__all__", None) or _own_names(package)
    elsewhere = set(cal.__all__) if module != "calibrant" else set()
    return [
        name
        for name in names
        if name not in elsewhere
        and not inspect.ismodule(getattr(package, name))
        and _home(getattr(package, name), name) in ("", module)
    ]


VALUES = {
    "CATALOGUE": "Every measure by its name: what it asks, its known flaw, its options.",
    "MULTICLASS_CALIBRATORS": "Every map for more than two classes, by its name.",
    "FLIGHTS_FILE": "Path of the Parquet file that `flights` reads.",
    "FORECASTERS": "Every forecaster that `calibrant online` knows, by its name.",
    "CALIBRATORS": "Every map for two outcomes, by its name.",
    "NATURES": "Everyone who can choose the outcomes in `calibrant online`, by name.",
    "TABLE_1": "The rates of the survey's Table 1, by measure.",
    "WORDS": 'Probabilities that words such as "very likely" stand for unless you say otherwise.',
}
"""What public values hold that are neither classes nor functions."""


def _home(value: object, name: str) -> str:
    """Name the public module that defines an object and offers it, if there is one."""
    defined = getattr(value, "__module__", None) or ""
    for package in PACKAGES:
        if package != "calibrant" and (defined == package or defined.startswith(f"{package}.")):
            return package if name in getattr(import_module(package), "__all__", [name]) else ""
    return ""


def _own_names(package: Any) -> list[str]:
    return [
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == package.__name__
    ]


def summary(name: str, value: object) -> str:
    """First sentence of what an object says about itself; values cannot."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return VALUES[name]
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def subject(value: object) -> str:
    """Heading under which `calibrant` lists an object."""
    package = getattr(value, "__module__", "").split(".")
    return SUBJECTS.get(package[1] if len(package) > 1 else "", REST)


def summary_table(module: str, names: list[str]) -> list[str]:
    """One line per object, with a link to its page."""
    package = import_module(module)
    lines = ["| name | what it is |", "|---|---|"]
    return [
        *lines,
        *(
            f"| [`{name}`]({module}.{name}.md) | {summary(name, getattr(package, name))} |"
            for name in names
        ),
        "",
    ]


def package_page(module: str, title: str) -> str:
    """Summary tables of a module, by subject, and the list of its pages."""
    names = public_names(module)
    said = (import_module(module).__doc__ or "").split("\n")[0]
    lines = [f"# {title}: `{module}`", "", said, ""]
    parts: dict[str, list[str]] = {heading: [] for heading in (*SUBJECTS.values(), REST)}
    if module == "calibrant":
        for name in names:
            parts[subject(getattr(cal, name))].append(name)
    else:
        parts = {"": names}
    for heading, held in parts.items():
        if held:
            lines += [*([f"## {heading}", ""] if heading else []), *summary_table(module, held)]
    listed = "\n".join(f"{name} <{module}.{name}>" for name in names)
    lines += ["```{toctree}", ":hidden:", "", listed, "```", ""]
    return "\n".join(lines)


def object_page(module: str, name: str) -> str:
    """Signature, docstring and source of one object, and the guides that use it."""
    value = getattr(import_module(module), name)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    options = (
        ["   :members:", f"   :inherited-members: {_foreign(value)}"] if kind == "class" else []
    )
    if kind == "data":  # its value would fill pages
        options = ["   :no-value:"]
    lines = [f"# {name}", "", *([VALUES[name], ""] if kind == "data" else [])]
    lines += ["```{eval-rst}", f".. auto{kind}:: {module}.{name}", *options, "```", ""]
    seen = [f"[{title}](../{page})" for page, title in guides_with(name)]
    lines += [f"Used in: {', '.join(seen)}.", ""] if seen else []
    lines += [f"All of [`{module}`]({module}.md)."]
    return "\n".join(lines)


def _foreign(value: type) -> str:
    """Ancestors from other packages, whose members are not ours to document."""
    ancestors = (kind for kind in value.__mro__ if not kind.__module__.startswith("calibrant"))
    return ", ".join(kind.__name__ for kind in ancestors)


def guides_with(name: str) -> list[tuple[str, str]]:
    """Pages written by hand whose text holds a name, and their titles; a page of its own first."""
    used = re.compile(rf"[.`]{name}\b")
    found = [(page, title) for page, title, text in guides() if used.search(text)]
    found.sort(key=lambda one: (Path(one[0]).stem != name, one[0].count("/")))
    return found[:MOST_PAGES]


@cache
def guides() -> list[tuple[str, str, str]]:
    """Path, title and text of every page that is written by hand."""
    pages = []
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        text = path.read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
        if title and not name.startswith(("api/", "commands/", "survey/")):
            pages.append((name, title[1], text))
    return pages


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page of the API."""
    lines = ["# API", "", "Every public name, each on a page of its own.", ""]
    for module, title in PACKAGES.items():
        names = public_names(module)
        lines += [f"## [{title}]({module}.md)", "", f"`{module}`", ""]
        lines += summary_table(module, names) if module != "calibrant" else [_subjects(names)]
        yield f"api/{module}.md", package_page(module, title)
        for name in names:
            yield f"api/{module}.{name}.md", object_page(module, name)
    listed = "\n".join(f"{title} <{module}>" for module, title in PACKAGES.items())
    lines += ["```{toctree}", ":hidden:", "", listed, "```", ""]
    yield "api/index.md", "\n".join(lines)


def _subjects(names: list[str]) -> str:
    parts: dict[str, list[str]] = {}
    for name in names:
        link = f"[`{name}`](calibrant.{name}.md)"
        parts.setdefault(subject(getattr(cal, name)), []).append(link)
    return "\n\n".join(
        f"**{heading}**: {', '.join(parts[heading])}."
        for heading in (*SUBJECTS.values(), REST)
        if heading in parts
    )

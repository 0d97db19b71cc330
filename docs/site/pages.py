"""Pages and parts of pages that follow from the code."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import api_pages
import command_pages
from comments import with_directives
from measure_tables import glance
from notebooks import notebook
from pictures import with_pictures

import calibrant as cal

TUTORIALS = "tutorials/"
FENCE = 3
BREAKABLE = re.compile(r"(?<=\d) (?=%|\d{3}(?!\d))")
"""Spaces within a number: before a per cent sign, or between groups of three digits."""


def write_pages(app: Any) -> None:
    """Write what has changed, so that a second build is quick, and remove what is gone."""
    source = Path(app.srcdir)
    texts = dict([*api_pages.pages(), *command_pages.pages()])
    for name, text in texts.items():
        path = source / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for folder in ("api", "commands"):
        for path in (source / folder).glob("*.md"):
            if path.relative_to(source).as_posix() not in texts:
                path.unlink()


def for_readers(text: str) -> str:
    """Drop what doctest wants and readers do not, and keep numbers on one line.

    Blank ends of code and words for blank lines go; the spaces in "95 %" and "166 668" become
    narrow ones that never break, but in code.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if len(mark) >= FENCE and (not fence or mark == fence):
            while fence and not lines[-1]:
                lines.pop()
            fence = "" if fence else mark
        if fence or line.startswith("    "):
            lines.append("" if line == "<BLANKLINE>" else line)
        else:
            lines.append(BREAKABLE.sub("\N{NARROW NO-BREAK SPACE}", line))
    return "\n".join(lines)


def fill_in(_app: Any, page: str, source: list[str]) -> None:
    """Draw the pictures of a page, and write its comments as the directives they stand for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        if page.startswith(TUTORIALS) and not page.endswith("index"):
            source[0] = with_download(page, source[0])
        source[0] = with_pictures(page, source[0])
    source[0] = with_directives(for_readers(source[0]))
    measure = cal.CATALOGUE.get(page.removeprefix("measures/"))
    if measure is not None:
        title, rest = source[0].split("\n", 1)
        source[0] = f"{title}\n\n{glance(measure)}\n{rest}"


def with_download(page: str, text: str) -> str:
    """Offer a tutorial as a notebook, below its title."""
    title, rest = text.split("\n", 1)
    name = page.rpartition("/")[2]
    link = f'<p class="download"><a href="{name}.ipynb" download>Download as a notebook</a></p>'
    return f"{title}\n\n```{{raw}} html\n{link}\n```\n{rest}"


def write_notebooks(app: Any, error: Exception | None) -> None:
    """Put the notebooks beside the pages."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.srcdir) / TUTORIALS
    for path in folder.glob("*.md"):
        if path.stem != "index":
            target = Path(app.outdir) / TUTORIALS / f"{path.stem}.ipynb"
            target.write_text(notebook(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Generate pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill_in)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

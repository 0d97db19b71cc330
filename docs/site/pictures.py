"""Pictures drawn by the code of a page while the site is built.

A page asks for one with a comment, which no other reader of Markdown shows:

    <!-- picture: display | What the picture shows. -->

Everything in the page that doctest would run is run up to there, and the Display or figure of that
name is put in place, as SVG in the colours of the page. Whether the code prints what the page says
is left to the tests; here a line that fails stops the build.
"""

from __future__ import annotations

import contextlib
import doctest
import hashlib
import io
import json
import re
import warnings
from html import escape
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant.plots import drawing

KEPT = Path(__file__).parents[2] / "build" / "pictures"
"""Pictures of pages that have not changed since."""
MARK = re.compile(
    r"^<!-- picture: (\w+)(?: (\d+\.?\d*) x (\d+\.?\d*))? \| (.*?) -->$",
    flags=re.MULTILINE | re.DOTALL,
)
EXPECTED = doctest.DocTestParser()


def with_pictures(page: str, source: str) -> str:
    """Replace every mark of a page by its picture."""
    if not MARK.search(source):
        return source
    path = KEPT / f"{page.replace('/', '-')}-{_digest(source)}.json"
    if path.exists():
        drawn = json.loads(path.read_text(encoding="utf-8"))
    else:
        drawn = draw(page, source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(drawn), encoding="utf-8")
    left = iter(drawn)
    return MARK.sub(lambda mark: _figure(next(left), " ".join(mark[4].split())), source)


def draw(page: str, source: str) -> list[str]:
    """Run the code of a page and draw what it asks for."""
    import matplotlib as mpl

    mpl.use("Agg")
    held: dict[str, Any] = {"__name__": "__main__"}
    drawn: list[str] = []
    done = 0
    for number, mark in enumerate(MARK.finditer(source)):
        with drawing(from_defaults=True):  # so that figures have the colours of Displays
            run(source[done : mark.start()], page, held)
        done = mark.end()
        words = " ".join(mark[4].replace("`", "").split())
        drawn.append(svg_of(held[mark[1]], words, f"{page.replace('/', '-')}-{number}", mark))
    return drawn


def svg_of(shown: Any, words: str, name: str, mark: re.Match[str]) -> str:
    """Write a Display, or a figure of matplotlib, as SVG."""
    if isinstance(shown, cal.plots.Display):
        width, height = (float(size) if size else 0.0 for size in (mark[2], mark[3]))
        size = {"width": width, "height": height} if width else {}
        return shown.to_svg(title=words, name=name, variables=True, **size)
    return cal.plots.figure_svg(shown, words, name=name, variables=True)


def run(text: str, page: str, held: dict[str, Any]) -> None:
    """Run the examples of a text; what they print is checked elsewhere."""
    for example in EXPECTED.get_examples(text):
        code = compile(example.source, f"{page}.md", "single")
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code, held)  # noqa: S102
        except Exception:
            if example.exc_msg is None:
                raise


def _figure(svg: str, words: str) -> str:
    inside = "\n".join(line for line in svg.split("\n") if line.strip())
    caption = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(words))
    return (
        "````{raw} html\n"
        f"<figure class='picture'>\n{inside}\n<figcaption>{caption}</figcaption>\n</figure>\n"
        "````"
    )


def _digest(source: str) -> str:
    held = hashlib.sha256(source.encode() + Path(__file__).read_bytes())
    package = Path(cal.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.glob("*.so")]):
        held.update(path.read_bytes())
    return held.hexdigest()[:16]

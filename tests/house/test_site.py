"""The documentation site: it builds without a warning, is complete, and works from disk."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import zlib
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES

ROOT = Path(__file__).parents[2]
LOOKED_AT = (
    "index",
    "five_minutes",
    "reading_the_report",
    "which_measure",
    "tutorials/scikit_learn",
    "plots",
    "groups",
    "measures/cutoff_calibration_error",
    "commands/audit",
    "api/calibrant.smooth_calibration_error",
)
CUT = """
    article => {
        document.querySelector("article").outerHTML = article
        return [...document.querySelectorAll("article pre")]
            .filter(block => block.scrollWidth > block.clientWidth + 1)
            .map(block => block.textContent.split("\\n").sort((a, b) => b.length - a.length)[0])
    }
"""
"""Longest lines of the blocks of code of an article that are wider than its column."""
RUN_OVER = """
    [...document.querySelectorAll("h1, h2, dt.sig")]
        .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)
"""
"""Headings and signatures that run over the edge of their column."""


class Links(HTMLParser):
    """Where a page leads, and what can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.add(given.get("id"))
        for name in ("href", "src"):
            if given.get(name):
                self.targets.add(given[name])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
         str(ROOT / "docs"), str(built)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return built


def test_every_public_name_has_an_entry(site):
    from api_pages import PACKAGES, public_names

    rooms = {name for name in cal.__all__ if inspect.ismodule(getattr(cal, name))}
    assert {f"calibrant.{name}" for name in rooms} | {"calibrant"} == set(PACKAGES)
    stored = (site / "objects.inv").read_bytes()
    start = stored.index(b"zlib.") + len(b"zlib.\n")
    entries = {
        line.split(" ", 1)[0] for line in zlib.decompress(stored[start:]).decode().split("\n")
    }
    wanted = {f"{module}.{name}" for module in PACKAGES for name in public_names(module)}
    short = {entry.rsplit(".", 1)[-1] for entry in entries}
    assert {name for name in wanted if name.rsplit(".", 1)[-1] not in short} == set()
    assert [name for name in wanted if not (site / "api" / f"{name}.html").exists()] == []


def test_every_measure_has_a_page_with_its_picture(site):
    for measure in JOINT_MEASURES.values():
        page = (site / "measures" / f"{measure.name}.html").read_text(encoding="utf-8")
        assert measure.asks in page
        assert f"_images/{measure.name}.png" in page


def test_links_lead_somewhere(site):
    pages = {
        path: Links(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }

    @cache  # pages of a folder share most of their links
    def leads(folder: Path, target: str) -> bool:
        parts = urlsplit(target)
        if parts.scheme or not parts.path:
            return True
        place = (folder / unquote(parts.path)).resolve()
        return place.exists() and (
            not parts.fragment
            or place not in pages
            or unquote(parts.fragment) in pages[place].anchors
        )

    broken = []
    for path, page in pages.items():
        for target in page.targets:
            inside = target.removeprefix("#")
            here = inside == target or not inside or unquote(inside) in page.anchors
            if not (here and leads(path.parent, target)):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert broken == []


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_work_from_disk(site, chromium, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for name in LOOKED_AT:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(RUN_OVER) == [], name
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.needs("chromium")
def test_no_code_is_wider_than_its_column(site, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 900}, java_script_enabled=False)
    page.goto((site / "groups.html").as_uri())  # its column is as narrow as any
    cut = {}
    for path in site.rglob("*.html"):
        if {"_modules", "_static"} & set(path.parts):
            continue
        # Other articles take its place: a browser takes its time over everything around them.
        article = re.search(r"<article.*</article>", path.read_text("utf-8"), flags=re.DOTALL)
        if article and (found := page.evaluate(CUT, article.group())):
            cut[path.relative_to(site).as_posix()] = found
    page.close()
    assert cut == {}


@pytest.mark.needs("chromium")
def test_copied_code_has_neither_prompts_nor_outputs(site, chromium):
    page = chromium.new_page()
    page.goto((site / "index.html").as_uri())
    copied = page.evaluate("[...document.querySelectorAll('div.highlight pre')].map(runnable)")
    assert "calibrant audit forecasts.csv --html report.html\n" in copied
    [session] = [text for text in copied if text.startswith("import calibrant as cal\n")]
    assert session.endswith("print(verdict.state)\n")
    assert page.locator("button.copy").count() == len(copied)
    page.goto((site / "commands" / "audit.html").as_uri())
    copied = page.evaluate("[...document.querySelectorAll('div.highlight pre')].map(runnable)")
    assert "calibrant audit forecasts.csv\n" in copied
    page.goto((site / "tutorials" / "language_model.html").as_uri())
    copied = page.evaluate("[...document.querySelectorAll('div.highlight pre')].map(runnable)")
    [continued] = [text for text in copied if "run.jsonl" in text]
    assert continued.count("--") == 5
    page.close()


def test_pictures_stand_where_pages_ask_for_them(site):
    asked = {
        path.relative_to(ROOT / "docs").with_suffix(""): text.count("<!-- picture: ")
        for path in (ROOT / "docs").rglob("*.md")
        if "<!-- picture: " in (text := path.read_text(encoding="utf-8"))
    }
    assert len(asked) > 6
    for page, count in asked.items():
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        assert html.count("<figure class='picture'>") == count, page
        assert "picture: " not in html


def test_every_display_is_in_the_gallery():
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    displays = [
        name for name in cal.plots.__all__ if name.removesuffix("Display") not in ("", name)
    ]
    assert len(displays) > 6
    for name in displays:
        assert f"`{name}`" in page.replace("\n", " ")


def test_names_in_guides_lead_to_the_api(site):
    guide = (site / "recalibration.html").read_text(encoding="utf-8")
    assert 'href="api/calibrant.recalibration.VennAbers.html' in guide
    entry = (site / "api" / "calibrant.verdict.html").read_text(encoding="utf-8")
    assert "_modules/calibrant/inference/" in entry
    assert "Used in: " in entry
    assert "inference.html" in entry


def test_every_option_stands_in_the_reference_of_its_command(site):
    from command_pages import commands

    known = commands()
    for name, command in known.items():
        page = (site / "commands" / f"{name}.html").read_text(encoding="utf-8")
        for option in command.params:
            if option.param_type_name == "option":
                assert all(spelling in page for spelling in option.opts), option.opts


def test_every_field_of_the_json_is_explained():
    from schema_table import MEANINGS, schema

    assert set(schema()["properties"]) == set(MEANINGS)


def test_tutorials_are_notebooks_too(site):
    for path in (ROOT / "docs" / "tutorials").glob("*.md"):
        if path.stem == "index":
            continue
        cells = json.loads((site / "tutorials" / f"{path.stem}.ipynb").read_text("utf-8"))["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        assert len(code) > 4
        for source in code:
            compile(source, path.name, "exec")
        page = (site / "tutorials" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert f'href="{path.stem}.ipynb"' in page


def test_formulas_are_mathml(site):
    page = (site / "measures" / "smooth_calibration_error.html").read_text(encoding="utf-8")
    assert "<math" in page


def test_options_keep_their_two_hyphens(site):
    page = (site / "commands" / "audit.html").read_text(encoding="utf-8")
    assert re.search(r"columns of <code[^>]*><span class=\"pre\">--by</span></code> as well", page)
    assert not re.search(r"\N{EN DASH}[a-z]", page)


def test_spelling():
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
         "docs", "--skip", "docs/api,docs/commands,*.png",
         "--ignore-words-list", "ans,fo,hart,ot,recal,te"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout == ""

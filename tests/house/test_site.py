"""The documentation site: it builds without a warning, is complete, and works from disk."""

from __future__ import annotations

import inspect
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
LOOKED_AT = (
    "index",
    "which_measure",
    "audit",
    "measures/cutoff_calibration_error",
    "api/calibrant",
)


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
    from api_pages import ROOMS, public_names

    rooms = {name for name in cal.__all__ if inspect.ismodule(getattr(cal, name))}
    assert {f"calibrant.{name}" for name in rooms} | {"calibrant"} == set(ROOMS)
    stored = (site / "objects.inv").read_bytes()
    start = stored.index(b"zlib.") + len(b"zlib.\n")
    entries = {
        line.split(" ", 1)[0] for line in zlib.decompress(stored[start:]).decode().split("\n")
    }
    wanted = {f"{module}.{name}" for module in ROOMS for name in public_names(module)}
    short = {entry.rsplit(".", 1)[-1] for entry in entries}
    assert {name for name in wanted if name.rsplit(".", 1)[-1] not in short} == set()


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
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            held = place.exists() and (
                not parts.fragment
                or place not in pages
                or unquote(parts.fragment) in pages[place].anchors
            )
            if not held:
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
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    page.close()


def test_spelling():
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
         "docs", "--skip", "docs/api,*.png", "--ignore-words-list", "ans,ot,te,fo,recal"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout == ""

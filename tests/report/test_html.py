"""The HTML report: parsed, escaped, small, and opened in a real browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant as cal
from calibrant.report.pictures import pictures

NASTY = "<script>alert('x')</script>\"'&${7*7}{{7*7}}"
VOID = {"meta", "input", "br", "img", "link", "hr"}


class Checker(HTMLParser):
    """Collects tags and complains about any that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in {"src", "href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def sample(n: int, shift: float = 0.08):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.9, n).round(3)
    return (rng.random(n) < np.clip(p - shift, 0, 1)).astype(int), p


@pytest.fixture(scope="module")
def audit() -> cal.Audit:
    y, p = sample(3000)
    names = np.where(np.arange(3000) % 3 == 0, NASTY, "plain")
    return cal.audit(y, p, by={"<img src=x onerror=alert(1)>": names}, title=NASTY, draws=199)


@pytest.fixture(scope="module")
def page(audit) -> str:
    return audit.to_html()


def test_the_page_parses_and_asks_for_nothing(page):
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert {"main", "svg", "table", "figure", "details"} <= set(checker.tags)
    assert all(link.startswith("#") for link in checker.links), checker.links
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert page.count("<script") == 2
    assert "onerror=alert(1)>" not in page


def test_the_page_says_what_the_audit_says(audit, page):
    for sentence in (audit.verdict.sentence, audit.groups.groups[0].state, audit.summary.where):
        assert sentence in page
    for finding in audit.findings:
        assert finding.code in page
    assert audit.summary.data.fingerprint in page
    assert page == audit.to_html()


def test_the_page_stays_small_with_many_groups():
    y, p = sample(20_000)
    audit = cal.audit(y, p, by={"g": (np.arange(20_000) % 200).astype(str)}, draws=99)
    assert len(audit.to_html().encode()) < 2**20
    assert len(audit.groups) == 200


@pytest.mark.parametrize(
    "data",
    [([1], [0.5]), ([0, 1], [0.2, 0.2]), ([0] * 40, [0.001] * 40), ([0, 1, 1], [0.0, 1.0, 1.0]),
     ([1, 0] * 30, list(np.linspace(0.99, 0.9999, 60)))],
    ids=["one row", "one value", "no event", "certain", "nearly sure"],
)  # fmt: skip
def test_small_and_odd_samples_have_a_page(data):
    page = cal.audit(*data, draws=49).to_html()
    Checker().feed(page)
    assert "NaN" not in page.split("<script")[0]


def test_a_notebook_shows_the_page(audit):
    shown = audit._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert "<script" not in shown


def test_pictures_are_named_for_those_who_cannot_see(audit):
    for svg in pictures(audit.summary).values():
        assert 'role="img"' in svg
        assert "<title>" in svg
        assert len(svg) < 80_000


@pytest.fixture
def file(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.mark.needs("chromium")
def test_a_browser_shows_it_without_errors_or_requests(chromium, file):
    tab = chromium.new_page()
    said, asked = [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("dialog", lambda dialog: said.append("dialog") or dialog.dismiss())
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file)
    assert said == []
    assert asked == [file]
    assert tab.title().startswith("<script>alert")
    tab.close()


@pytest.mark.needs("chromium")
def test_the_slider_shows_what_the_library_computes(chromium, file, audit):
    tab = chromium.new_page()
    tab.goto(file)
    for threshold in (0.2, 0.45, 0.7):
        tab.locator("#threshold").evaluate(
            "(slider, value) => { slider.value = value; "
            "slider.dispatchEvent(new Event('input')); }",
            threshold,
        )
        expected = float(audit.summary.costs.curve(threshold)) / 2
        assert float(tab.locator("#cost").inner_text()) == pytest.approx(expected, rel=0.01)
    tab.locator("#false-alarm").fill("50")
    tab.locator("#miss").fill("350")
    money = audit.summary.costs.curve.cost(false_positive=50, false_negative=350)
    assert float(tab.locator("#cost").inner_text()) == pytest.approx(money, rel=0.01)
    tab.close()


@pytest.mark.needs("chromium")
def test_dark_and_light_have_contrast(chromium, file):
    for scheme in ("light", "dark"):
        context = chromium.new_context(color_scheme=scheme)
        tab = context.new_page()
        tab.goto(file)
        colours = tab.evaluate(
            "() => [getComputedStyle(document.body).color, getComputedStyle(document.body)"
            ".backgroundColor, getComputedStyle(document.querySelector('figcaption')).color]"
        )
        ink, paper, quiet = (_luminance(colour) for colour in colours)
        assert (ink < paper) == (scheme == "light")
        assert _contrast(ink, paper) > 7
        assert _contrast(quiet, paper) > 4.5
        context.close()


@pytest.mark.needs("chromium")
def test_without_javascript_and_on_a_phone(chromium, file, audit):
    context = chromium.new_context(
        java_script_enabled=False, viewport={"width": 375, "height": 800}
    )
    tab = context.new_page()
    tab.goto(file)
    assert audit.verdict.sentence in tab.locator(".verdict").inner_text()
    assert not tab.locator("#threshold").is_visible()
    assert tab.locator("svg").first.is_visible()
    context.close()
    phone = chromium.new_context(viewport={"width": 375, "height": 800})
    tab = phone.new_page()
    tab.goto(file)
    width = tab.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 375
    phone.close()


@pytest.mark.needs("chromium")
def test_it_prints(chromium, file):
    tab = chromium.new_page()
    tab.goto(file)
    printed = tab.pdf()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000
    tab.close()


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def _contrast(first: float, second: float) -> float:
    low, high = sorted((first, second))
    return (high + 0.05) / (low + 0.05)


def test_the_curve_of_the_slider_is_data(page):
    data = json.loads(re.search(r'id="curve">(.*?)</script>', page).group(1))
    assert len(data["threshold"]) == len(data["loss"]) == 199

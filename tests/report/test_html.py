"""The HTML report: parsed, escaped, small, and opened in a real browser."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant._base.words import typeset
from calibrant.inference.verdicts import state_of
from calibrant.report.conclusion import conclusion
from calibrant.report.pictures import pictures
from pdf import pdf_text, squeezed

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
    assert {"main", "nav", "h1", "svg", "table", "figure", "details"} <= set(checker.tags)
    heads = re.findall(r"<th\b[^>]*>", page)
    assert heads
    assert all("scope=" in head for head in heads)
    assert page.count("<caption>") == page.count("<table")
    assert all(link.startswith("#") for link in checker.links), checker.links
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert page.count("<script") == 2
    assert "onerror=alert(1)>" not in page


def test_the_page_says_what_the_audit_says(audit, page):
    for sentence in (audit.verdict.sentence, audit.groups.groups[0].state, audit.summary.where):
        assert typeset(sentence) in page
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
    drawn = pictures(audit.summary)
    assert {"scale", "reliability", "witness", "costs", "groups"} == set(drawn)
    for name, svg in drawn.items():
        assert 'role="group" ' in svg
        assert f'id="picture-{name}"' in svg
        assert "<desc>" in svg
        assert len(svg) < 80_000
        assert "nan" not in re.sub(r"<(desc|title|text)[^>]*>[^<]*", "", svg)


def test_marks_tell_the_numbers_of_the_displays(audit):
    svg = pictures(audit.summary)["reliability"]
    before, after = re.search('class="before">(.*)(<g class="after".*)', svg, re.DOTALL).groups()
    assert after.startswith('<g class="after" display="none">')
    titles = re.findall(r"<title>([^<]*: forecast [^<]*)</title>", before)
    dots = audit.summary.diagram.dots
    assert len(titles) == dots["rows"].size
    for words, rows in zip(titles, dots["rows"], strict=True):
        assert words.startswith(f"{rows:.0f} forecasts between")
    group = audit.groups.groups[0]
    assert f"O/E {group.ratio.text}" in pictures(audit.summary)["groups"]


def test_a_reader_is_asked_to_do_three_things_at_most(audit, page):
    actions = re.search(r'<ol class="actions">(.*?)</ol>', page, re.DOTALL).group(1)
    assert 1 <= actions.count("<li>") <= 3
    for code in re.findall(r'href="#(CAL\d+)"', actions):
        assert f'id="{code}"' in page
    assert re.search(r"<code>calibrant recalibrate FILE [^<]*calibrator.json</code>\.", actions)
    few = cal.audit(*sample(60), draws=99)
    assert few.verdict.state == "undecided"
    assert "No miscalibration found: " in few.to_html()


def test_a_page_of_perfect_forecasts_calls_no_range_off():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    perfect = cal.audit(rng.random(2000) < p, p, draws=99)
    assert perfect.verdict.pvalue > 0.2
    shown = re.sub(r"(?s)<(style|script).*?</\1>", " ", perfect.to_html())
    assert not re.search(r"are too (high|low) \(mean forecast", shown)
    assert "Here it finds no more than chance." in shown


def test_clusters_leave_no_intervals_that_assume_independence():
    y, p = sample(600)
    diagram = cal.audit(y, p, clusters=np.arange(600) // 6, draws=99).summary.diagram
    assert np.isnan(diagram.dots["interval_low"]).all()
    assert "rows depend on each other" in diagram.notes[0]


@pytest.fixture(scope="module")
def file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(chromium, file):
    """One page for all tests that do not mind what was done to it before."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 800}, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    page.messages, page.requests = [], []
    page.on("console", lambda message: page.messages.append(message.text))
    page.on("pageerror", lambda error: page.messages.append(str(error)))
    page.on("dialog", lambda dialog: page.messages.append("dialog") or dialog.dismiss())
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(file)
    yield page
    context.close()


def slide(tab, name, value):
    tab.locator(name).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        value,
    )


@pytest.mark.needs("chromium")
def test_a_browser_shows_it_without_errors_or_requests(tab, file):
    assert tab.messages == []
    assert tab.requests == [file]
    assert tab.title().startswith("<script>alert")


@pytest.mark.needs("chromium")
def test_the_first_screen_holds_verdict_diagram_scale_and_what_to_do(tab):
    for part in ("h1", "#picture-reliability", "#picture-scale", ".actions", "#tolerance"):
        box = tab.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800, part
    diagram, scale = (tab.locator(f"#picture-{n}").bounding_box() for n in ("reliability", "scale"))
    assert diagram["x"] + diagram["width"] <= scale["x"]


@pytest.mark.needs("chromium")
def test_marks_answer_to_pointer_and_keyboard(tab):
    tip = tab.locator("#tip")
    assert not tip.is_visible()
    for picture, words in (("reliability", "observed"), ("groups", "O/E"), ("scale", "tolerated")):
        tab.locator(f"#picture-{picture} .mark .shape").first.hover(force=True)
        assert tip.is_visible()
        assert words in tip.inner_text()
    tab.mouse.move(2, 2)
    assert not tip.is_visible()
    marks = tab.locator("#picture-reliability .mark")
    marks.first.focus()
    first = tip.inner_text()
    tab.keyboard.press("ArrowRight")
    assert tip.inner_text() == marks.nth(1).get_attribute("aria-label") != first
    assert tab.locator("#picture-reliability .mark[tabindex='0']").count() == 1
    tab.keyboard.press("Escape")
    assert not tip.is_visible()


@pytest.mark.needs("chromium")
def test_tables_sort_filter_and_leave_as_csv(tab, audit):
    names = tab.locator("#table-groups tbody tr:visible th")
    head = tab.locator("#table-groups thead th", has_text="rows").locator("button")
    head.focus()
    tab.keyboard.press("Enter")
    assert names.first.inner_text().endswith(NASTY)
    tab.keyboard.press("Enter")
    assert names.first.inner_text().endswith("plain")
    tab.locator(".tools .filter").fill("PLAIN")
    assert names.count() == 1
    assert tab.locator(".tools .found").inner_text() == "1 of 2"
    tab.locator(".tools .which").select_option("calibrated")
    assert names.count() == 0
    tab.locator(".tools .filter").fill("")
    tab.locator(".tools .which").select_option("")
    with tab.expect_download() as caught:
        tab.locator(".tools .csv").click()
    text = caught.value.path().read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    assert [line["name"] for line in lines] == [group.name for group in audit.groups]
    assert [float(line["high"]) for line in lines] == [group.high for group in audit.groups]


@pytest.mark.needs("chromium")
def test_another_tolerance_recolours_verdict_and_groups(tab, audit):
    allowed = audit.verdict.tolerance
    for position, factor in ((0.0, 0.1), (0.5, 1.0), (1.0, 10.0)):
        slide(tab, "#tolerance", position)
        y, p = sample(3000)
        expected = cal.verdict(y, p, tolerance=allowed * factor, draws=199, rng=0).state
        assert f"the verdict is: {expected}." in tab.locator("#what-if").inner_text()
        assert expected in tab.locator(".verdict").get_attribute("class")
        shown = sorted(tab.locator("#table-groups .state").all_inner_texts())
        judged = [state_of(g.low, g.high, allowed * factor) for g in audit.groups]
        assert shown == sorted(judged)
        drawn = tab.locator("#picture-groups .mark").evaluate_all(
            "marks => marks.map((mark) => mark.dataset.state)"
        )
        assert drawn == judged
    tab.locator("#reset").click()
    assert audit.verdict.state in tab.locator(".verdict").get_attribute("class")


@pytest.mark.needs("chromium")
def test_the_proposed_map_is_shown_on_rows_it_had_not_seen(tab, audit):
    dots = tab.locator("#picture-reliability .shape:visible")
    before = [dots.nth(i).get_attribute("transform") for i in range(dots.count())]
    tab.locator("#after").check()
    after = [dots.nth(i).get_attribute("transform") for i in range(dots.count())]
    assert set(before[:-1]).isdisjoint(after[:-1])
    shown = tab.locator("#picture-reliability .after .mark").first.get_attribute("aria-label")
    recalibrated = audit.summary.diagram_after.dots
    assert shown.startswith(f"{recalibrated['rows'][0]:.0f} forecasts between")
    assert recalibrated["rows"].sum() == 3000 / 5  # one fold of five
    tab.locator("#after").uncheck()
    assert [dots.nth(i).get_attribute("transform") for i in range(dots.count())] == before


@pytest.mark.needs("chromium")
def test_sentences_are_copied_and_pictures_saved(tab, audit):
    tab.locator("#copy").click()
    from playwright.sync_api import expect

    expect(tab.locator("#copy")).to_have_text("Copied")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert conclusion(audit.summary) in copied
    assert "Copy" not in copied
    for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with tab.expect_download() as caught:
            tab.locator("figure.diagram button", has_text=kind).click()
        saved = caught.value.path().read_bytes()
        assert saved.startswith(begins)
        assert b"var(--" not in saved


@pytest.mark.needs("chromium")
def test_the_box_of_costs_shows_what_the_library_computes(tab, audit):
    tab.locator("#decisions").fill("1")
    tab.locator("#currency").fill("EUR")
    tab.locator("#act").fill("50")
    for miss in (400, 250, 100):
        tab.locator("#miss").fill(str(miss))
        money = audit.summary.costs.curve.cost(false_positive=50, false_negative=miss - 50)
        shown, currency = tab.locator("#cost").inner_text().split()
        assert float(shown) == pytest.approx(money, rel=0.01)
        assert currency == "EUR"
        assert float(tab.locator("#threshold-shown").inner_text()) == pytest.approx(50 / miss, 0.01)
    slide(tab, "#threshold", 0.5)
    assert float(tab.locator("#miss").input_value()) == 100


@pytest.mark.needs("chromium")
def test_dark_and_light_have_contrast(tab):
    for scheme in ("dark", "light"):
        tab.emulate_media(color_scheme=scheme)
        colours = tab.evaluate(
            "() => ['body', 'figcaption', '.state', 'a', '.title', '.box output'].map((one) => "
            "getComputedStyle(document.querySelector(one)).color).concat("
            "getComputedStyle(document.querySelector('#picture-reliability text')).fill)"
        )
        papers = tab.evaluate(
            "() => ['body', '.box'].map((one) => "
            "getComputedStyle(document.querySelector(one)).backgroundColor)"
        )
        for paper in map(_luminance, papers):
            assert (_luminance(colours[0]) < paper) == (scheme == "light")
            assert _contrast(_luminance(colours[0]), paper) > 7
            for colour in colours:
                assert _contrast(_luminance(colour), paper) > 4.5


@pytest.mark.needs("chromium")
def test_without_javascript_on_a_phone_and_on_paper(chromium, file, audit):
    context = chromium.new_context(
        java_script_enabled=False, viewport={"width": 390, "height": 844}
    )
    tab = context.new_page()
    tab.goto(file)
    assert typeset(conclusion(audit.summary)) in tab.locator(".verdict").inner_text()
    for control in ("#threshold", "#tolerance", ".tools", "#copy", "#tip"):
        assert not tab.locator(control).first.is_visible()
    assert tab.locator("#picture-reliability title").count() > 10
    printed = pdf_text(tab.pdf())
    context.close()
    # Folded tables are on paper as well, to the last column and row.
    folded = ["Hosmer and Lemeshow", "Net benefit by threshold", "lower distance", "miscalibrated"]
    folded += ["Brier skill score", "Each dot of the reliability diagram"]
    summary = audit.summary
    for words in (*folded, summary.data.fingerprint, summary.conventions[-1].program):
        assert squeezed(words) in printed
    for finding in audit.findings:
        assert squeezed(typeset(finding.text)) in printed


@pytest.mark.needs("chromium")
def test_a_phone_scrolls_in_one_direction(tab):
    tab.set_viewport_size({"width": 390, "height": 844})
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
    for picture in ("reliability", "scale", "groups", "costs"):
        box = tab.locator(f"#picture-{picture}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    tab.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.needs("chromium")
def test_print_with_javascript_opens_what_is_folded(tab):
    assert squeezed("Net benefit by threshold") in pdf_text(tab.pdf())
    assert tab.locator("details[open]").count() == 0


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def _contrast(first: float, second: float) -> float:
    low, high = sorted((first, second))
    return (high + 0.05) / (low + 0.05)


def test_what_the_script_works_with_is_data(page, audit):
    data = json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))
    assert len(data["curve"]["threshold"]) == len(data["curve"]["loss"]) == 199
    assert data["tables"]["groups"]["name"] == [group.name for group in audit.groups]


def test_the_caption_says_what_the_band_is_and_what_else_found_a_deviation():
    """A curve inside the band beside a small p-value needs the test that found it."""
    features, label = load_iris(return_X_y=True)
    folds = cross_val_predict(GaussianNB(), features, label, cv=5, method="predict_proba")
    sure = cal.audit(label, folds, draws=999)
    assert not sure.summary.diagram.outside
    assert sure.verdict.pvalue <= 0.05
    page = sure.to_html()
    assert typeset("the curve would lie inside the grey band in 95 % of samples. Here it") in page
    assert "which also looks at slope and shape, finds a deviation (p = " in page
    assert "where the truth lies" not in page
    right = cal.audit(*sample(600, shift=0), draws=199).to_html()
    assert "inside the grey band" in right
    assert "finds a deviation" not in right


def test_words_of_the_strip_do_not_collide():
    """Errors of rare events have long numbers."""
    rng = np.random.default_rng(0)
    p = np.exp(rng.normal(np.log(2e-3), 1, 40_000)).clip(0, 1)
    found = cal.audit((rng.random(40_000) < 1.3 * p).astype(int), p, draws=99)
    strip = pictures(found.summary)["scale"]
    lines = {}
    for attributes, words in re.findall(r"<text ([^>]*)>([^<]*)<", strip):
        x, y = re.match(r'x="([\d.]+)" y="([\d.]+)"', attributes).groups()
        width = 6.3 * len(words)
        start = float(x) - width if 'anchor="end"' in attributes else float(x)
        lines.setdefault(y, []).append((start, width, words))
    assert any(len(words) > 20 for line in lines.values() for _, _, words in line)
    for line in lines.values():
        for (start, width, words), (after, _, others) in pairwise(sorted(line)):
            assert start + width <= after, (words, others)


def test_labels_of_groups_are_whole():
    rng = np.random.default_rng(0)
    y, p = sample(1200)
    names = np.array(["African-American, older than 45 years", "Caucasian, younger than 25 years"])
    found = cal.audit(y, p, by={"race and age": names[rng.integers(0, 2, 1200)]}, draws=99)
    drawn = pictures(found.summary)["groups"]
    assert all(f">race and age {name}</text>" in drawn for name in names)

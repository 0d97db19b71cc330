"""Every work that the survey cites has code that is there, and a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import calibrant as cal

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "survey"
PAGES = [TOUR / "index.md", TOUR / "statements.md"]
CITED = {
    "ACRS25",
    "BGHN23a",
    "BGHN23b",
    "BN24",
    "CDV24",
    "DDF+25",
    "DKR+21",
    "DLLT23",
    "FGMS25",
    "FV98",
    "GH25",
    "GHR24",
    "GKR+22",
    "GKSZ22",
    "GR07",
    "HJTY24",
    "HKRR18",
    "HW24",
    "HWY25",
    "KF08",
    "KKG+22",
    "KLST23",
    "KSJ18",
    "KV24",
    "LHSW22",
    "McC56",
    "OKK25",
    "Pen25",
    "QV21",
    "QZ24",
    "RSB+25",
    "Sav71",
}


def table(columns: str) -> list[dict[str, str]]:
    """Lines of the one table of the tour with these columns."""
    names = columns.split(" | ")
    lines = "\n".join(page.read_text(encoding="utf-8") for page in PAGES).splitlines()
    start = lines.index(f"| {columns} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("| "):
            break
        rows.append(dict(zip(names, line.strip("| ").split(" | "), strict=True)))
    return rows


WORKS = table("work | what it is about | code | test | page")
STATEMENTS = table("statement | code | proved | measured")


def found(name: str) -> object:
    """What a name of calibrant stands for."""
    thing = cal
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def test_every_cited_work_has_one_line_in_the_index_of_the_tour():
    works = [row["work"] for row in WORKS]
    assert len(works) == len(CITED) == 32
    assert set(works) == CITED
    index = PAGES[0].read_text(encoding="utf-8")
    assert all(f"\n| {work} | " in index for work in CITED)


def test_every_name_is_there():
    told = " ".join(row["code"] for row in WORKS + STATEMENTS)
    names = set(re.findall(r"`([A-Za-z_.0-9]+)`", told))
    assert len(names) > 50
    for name in names:
        assert callable(found(name)), name


def test_every_work_names_code_a_test_and_a_page_that_are_there():
    for row in WORKS:
        assert re.search(r"`[\w.]+`", row["code"]), row
        files = re.findall(r"`(\w+/\w+\.py)`", row["test"])
        assert files, row
        assert all((ROOT / "tests" / file).exists() for file in files), row
        pages = re.findall(r"\]\(([\w./]+\.md)\)", row["page"])
        assert pages, row
        assert all((TOUR / page).exists() for page in pages), row


def test_every_statement_says_what_is_proved_and_what_is_measured():
    assert len(STATEMENTS) > 20
    for row in STATEMENTS:
        assert all(row.values()), row
        assert re.search(r"`[\w.]+`", row["code"]), row


def test_every_numbered_statement_of_the_tour_has_a_line():
    numbered = r"(?:Lemma|Theorem|Corollary|Definition) \d\.\d+"
    pages = "".join(page.read_text(encoding="utf-8") for page in TOUR.glob("section_*.md"))
    told = " ".join(row["statement"] for row in STATEMENTS)
    toured, listed = (set(re.findall(numbered, text)) for text in (pages, told))
    assert len(toured) > 30
    assert toured == listed

"""Every statement of the survey has code, a test, a place in the tour and a line in the table."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from statement_table import STATEMENTS, STATUSES, page_of, section_of

import calibrant as cal

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "survey"
# The numbered statements in the order of the paper, which numbers all kinds together.
NUMBERED = """
    Definition 1.1, Lemma 1.2
    Definition 2.1, Lemma 2.2, Lemma 2.3
    Definition 3.1, Definition 3.2, Lemma 3.3, Lemma 3.4
    Theorem 4.1, Definition 4.2, Theorem 4.3, Lemma 4.4, Definition 4.5, Theorem 4.6, Lemma 4.7,
    Definition 4.8, Theorem 4.9, Theorem 4.10
    Table 1
    Definition 6.1, Definition 6.2, Definition 6.3, Definition 6.4, Lemma 6.5, Theorem 6.6,
    Theorem 6.7, Corollary 6.8, Theorem 6.9, Definition 6.10, Lemma 6.11, Theorem 6.12, Lemma 6.13
"""
# Bounds of Table 1: measure and rate, above and below.
TABLE_1 = ["T^(2/3)", "T^(2/3 - a)", "T^0.528, T^0.54389", "T^(1/2)", "T^(1/2)", "T^(1/3)", "log T"]
LINES = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: f"{one.name}: {one.about}")


def numbered_in(text: str) -> list[str]:
    return re.findall(r"(?:Definition|Lemma|Theorem|Corollary|Table) \d(?:\.\d+)?", text)


def survey_tests() -> set[str]:
    files = (ROOT / "tests" / "survey").glob("test_*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {
        node.name.removeprefix("test_")
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


TESTS = survey_tests()


def test_no_numbered_statement_is_missing_and_their_order_is_that_of_the_survey():
    names = [one.name for one in STATEMENTS if numbered_in(one.name)]
    expected = numbered_in(NUMBERED)
    assert len(expected) == 33
    assert list(dict.fromkeys(names)) == expected
    assert len(names) == len(expected) - 1 + len(TABLE_1)
    for name in expected:
        section, _, number = name.split()[1].partition(".")
        before = f"{section}.{int(number or 1) - 1}"
        assert number in {"", "1"} or any(one.endswith(f" {before}") for one in expected), name


def test_the_tour_names_the_same_statements():
    pages = "".join(page.read_text(encoding="utf-8") for page in TOUR.glob("section_*.md"))
    assert set(numbered_in(pages)) - {"Table 1"} == set(numbered_in(NUMBERED)) - {"Table 1"}
    headings = set(numbered_in(" ".join(re.findall(r"^## .*", pages, re.MULTILINE))))
    assert headings == set(numbered_in(NUMBERED))


def test_every_bound_of_table_1_has_a_line():
    said = [one.about for one in STATEMENTS if one.name == "Table 1"]
    assert [rate in about for rate, about in zip(TABLE_1, said, strict=True)] == [True] * 7
    for upper, lower in (("ECE at most", "ECE at least"), ("ECE and decision", "decision loss at"),
                         ("distance at most", "distance at least")):  # fmt: skip
        assert any(upper in about for about in said), upper
        assert any(lower in about for about in said), lower


@LINES
def test_names_are_those_of_functions_and_classes(statement):
    assert statement.code
    for name in statement.code.split():
        thing = cal
        for part in name.split("."):
            thing = getattr(thing, part)
        assert callable(thing), name


@LINES
def test_the_tests_are_there(statement):
    assert statement.tests
    for start in statement.tests.split():
        assert any(name.startswith(start) for name in TESTS), start
    if number := re.fullmatch(r"([A-Z]\w+) (\d\.\d+)", statement.name):
        own = f"{number[1]}_{number[2].replace('.', '_')}".lower()
        assert own in statement.tests.split()
        assert any(name.startswith(f"{own}_") for name in TESTS)


@LINES
def test_the_status_is_one_of_five_and_says_why_where_it_is_limited(statement):
    status, _, why = statement.status.partition(": ")
    assert status in STATUSES
    assert why or status in {"exact", "certified"}
    assert statement.proved
    assert "|" not in "".join(statement)


@LINES
def test_the_tour_calls_the_code_of_a_statement(statement):
    section = section_of(statement)
    code = "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
    called = [
        name for name in statement.code.split()
        if re.search(rf"\b{name.rpartition('.')[2]}\b", code)
    ]  # fmt: skip
    assert called, page_of(statement)


def test_tests_of_the_survey_name_only_statements_that_are_there():
    numbered = re.compile(r"(definition|lemma|theorem|corollary)_(\d)_(\d+)_")
    found = {match.groups() for name in TESTS if (match := numbered.match(name))}
    known = {f"{kind} {section}.{number}".capitalize() for kind, section, number in found}
    assert known == set(numbered_in(NUMBERED)) - {"Table 1"}

"""Promises about chance are kept, and the page that says so has a line for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from promises import PROMISES, SUBJECTS, Observed, Promise, table
from promises.__main__ import lines

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_a_promise_is_broken_no_more_often_than_it_says(promise):
    found = promise.observe()
    assert found.kept, found


def test_the_table_has_a_line_for_each_promise():
    lines = table([Observed("a", "b", 0.05, 0.04, 100)]).splitlines()
    assert lines[0].startswith("| promise | scenario | may fail | failed |")
    assert lines[2] == "| a | b | 0.05 | 0.040 | 0.020 | 100 |"


def test_a_line_is_the_same_alone_or_among_others(monkeypatch):
    drawn = []
    one, other = (
        Promise("a coin falls", name, lambda rng: drawn.append(rng.random()) or drawn[-1] < 0.5, 20)
        for name in ("here", "there")
    )
    monkeypatch.setitem(SUBJECTS, "coins", [one, other])
    assert list(lines(["coins"]))[2] == other.observe().line
    assert drawn[20:40] == drawn[40:] != drawn[:20]


def test_the_page_shows_every_promise_once_and_kept():
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    told = [
        Observed(row[0], row[1], float(row[2]), float(row[3]), int(row[5]))
        for row in cells
        if len(row) == 6 and row[5].isdigit()
    ]
    assert [(row.promise, row.scenario, row.nominal, row.runs) for row in told] == [
        (one.promise, one.scenario, float(f"{one.nominal:g}"), one.runs) for one in PROMISES
    ]
    assert all(row.kept for row in told)

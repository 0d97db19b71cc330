"""Promises about few events, clusters, groups and comparisons are kept."""

from __future__ import annotations

import pytest

from promises import PROMISES, Observed, table


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_a_promise_is_broken_no_more_often_than_it_says(promise):
    found = promise.observe()
    assert found.kept, found


def test_the_table_has_a_line_for_each_promise():
    lines = table([Observed("a", "b", 0.05, 0.04, 100)]).splitlines()
    assert lines[0].startswith("| promise | scenario | may fail | failed |")
    assert lines[2] == "| a | b | 0.05 | 0.040 | 0.020 | 100 |"

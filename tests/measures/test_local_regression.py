"""Where loess cuts rows; its values are compared with those of R in tests/reference/."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import calibrant as cal
from calibrant.measures.local_regression import _Points


def looked_for(points, row, first, last):
    """Look at 0, 1, -1, 2, -2 ... rows away for one whose next prediction is another."""
    offset = 0
    while first <= row + offset < last:
        if points.at(row + offset) != points.at(row + offset + 1):
            return row + offset
        offset = -offset + 1 if offset <= 0 else -offset
    return None


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.data())
def test_the_cut_is_the_nearest_last_row_of_a_level(rows, data):
    level = np.arange(1, len(rows) + 1) / 10
    points = _Points.of(cal.Joint.from_counts(level, rows, np.zeros(len(rows))))
    first = data.draw(st.integers(0, points.count - 1))
    last = data.draw(st.integers(first, points.count - 1))
    row = (first + last) // 2
    assert points.end_near(row, first, last) == looked_for(points, row, first, last)

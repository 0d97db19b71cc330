"""Errors in points, or in the units of the outcome."""

from __future__ import annotations

import numpy as np

from calibrant.inference import ErrorUnit
from calibrant.kinds import BINARY, read_kind


def test_errors_of_probabilities_are_points():
    unit = ErrorUnit.of(BINARY)
    assert unit.text(0.02) == "2 points"
    assert unit.text(0.01) == "1 point"
    assert unit.text(0.00036) == "0.036 points"
    assert unit.between(0.0123, 0.0456) == "between 1.23 and 4.56 points"


def test_errors_of_means_have_the_units_of_the_outcome():
    unit = ErrorUnit.of(read_kind("mean"))
    assert unit.text(1.5) == "1.5"
    assert unit.number(np.pi) == "3.14"

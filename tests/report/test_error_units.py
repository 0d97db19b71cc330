"""Errors in points, or beside the rate of rare events."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from calibrant.kinds import BINARY
from calibrant.report.error_units import ErrorUnit


def unit_of(rate: float) -> ErrorUnit:
    return ErrorUnit.of(SimpleNamespace(kind=BINARY, data=SimpleNamespace(observed=rate)))


@pytest.mark.parametrize("rate", [0.3, 0.7, 0.02])
def test_common_events_are_told_in_points(rate):
    assert unit_of(rate).text(0.02) == "2 points"
    assert unit_of(rate).text(0.01) == "1 point"


@pytest.mark.parametrize("rate", [1e-4, 1 - 1e-4])
def test_rare_events_are_told_beside_their_rate(rate):
    assert unit_of(rate).rare
    assert unit_of(rate).text(1e-5) == "10 % of the rate of events"
    # Two of these stand on one line of the strip: the unit would make them touch.
    assert unit_of(rate).brief(1e-5) == "10 %"

"""The forecasts that ship."""

from __future__ import annotations

import pytest

import calibrant as cal


def test_flights_load():
    columns = cal.datasets.flights()
    assert set(columns) == {"prediction", "outcome", "carrier", "origin", "month", "day"}
    assert columns["prediction"].size == 166_668
    assert cal.smooth_calibration_error(columns["outcome"], columns["prediction"]) == pytest.approx(
        0.0258, abs=5e-5
    )
    assert sorted(set(columns["origin"].tolist())) == ["EWR", "JFK", "LGA"]

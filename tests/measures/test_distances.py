"""Distances as users meet them: options, messages, brackets in words."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError

CERTIFIED = (
    cal.lower_distance_to_calibration,
    cal.upper_distance_to_calibration,
    cal.interval_calibration_error,
    cal.distance_to_calibration,
    cal.distance_bracket,
)


@pytest.mark.parametrize("measure", CERTIFIED, ids=lambda measure: measure.__name__)
@pytest.mark.parametrize("tolerance", [0, -1, float("nan"), float("inf")])
def test_a_tolerance_is_positive(measure, tolerance):
    with pytest.raises(InvalidOptionError, match="tolerance must be positive"):
        measure([0, 1], [0.2, 0.7], tolerance=tolerance)


def test_a_joint_has_no_individuals():
    joint = cal.Joint.from_samples([0, 1], [0.2, 0.7])
    with pytest.raises(InvalidForecastsError, match="a Joint forgets who is who"):
        cal.distance_to_calibration(joint, None)
    with pytest.raises(InvalidForecastsError, match="a Joint forgets who is who"):
        cal.distance_bracket(joint, individuals=["a", "b"])


def test_an_individual_has_one_prediction():
    with pytest.raises(InvalidForecastsError, match="two predictions for ann"):
        cal.distance_to_calibration([0, 1], [0.2, 0.7], individuals=["ann", "ann"])
    with pytest.raises(InvalidForecastsError, match="individuals must have one entry per row"):
        cal.distance_to_calibration([0, 1], [0.2, 0.7], individuals=["ann"])


def test_bad_rows_are_refused_before_anything_is_moved():
    with pytest.raises(InvalidForecastsError, match=r"NaN|missing"):
        cal.distance_to_calibration([0, 1], [0.2, np.nan])
    value = cal.distance_to_calibration([0, 1], [0.2, 1 + 1e-12])
    assert value.settings["clipped"] == 1


def test_rows_without_weight_are_nobody():
    weighted = cal.distance_to_calibration([0, 1, 1], [0.2, 0.7, 0.1], sample_weight=[1, 1, 0])
    assert weighted == cal.distance_to_calibration([0, 1], [0.2, 0.7])
    assert weighted.settings["individuals"] == 2


def test_witness_of_the_true_distance_names_individuals():
    value = cal.distance_to_calibration(
        [0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6], individuals=["ann", "bob", "eve", "joe"]
    )
    new = dict(zip(value.witness.individual, value.witness.value, strict=True))
    assert set(new) == {"ann", "bob", "eve", "joe"}
    assert value == pytest.approx(np.abs(value.witness.value - value.witness.prediction).mean())
    assert value.witness([0.4, 0.6]) == pytest.approx(
        [(new["ann"] + new["bob"]) / 2, (new["eve"] + new["joe"]) / 2]
    )
    assert "individuals of 4 move" in str(value)


def test_distances_say_what_they_found():
    y, p = [0, 0, 1, 0, 1], [0.3, 0.3, 0.3, 0.8, 0.9]
    joint = cal.Joint.from_samples(y, p)
    lower = cal.lower_distance_to_calibration(joint)
    assert "lower distance to calibration" in str(lower)
    assert "forecasts" in lower.witness.sentence
    assert "3 levels in" in str(cal.upper_distance_to_calibration(joint))
    assert "interval" in cal.interval_calibration_error(joint).witness.sentence


def test_a_rounded_joint_widens_the_bounds_of_the_lower_distance():
    rng = np.random.default_rng(3)
    p = rng.random(5000)
    y = (rng.random(5000) < p).astype(int)
    cells = cal.Joint.from_samples(y, p, resolution=64)
    low, high = cal.lower_distance_to_calibration(cells).bounds
    exact = cal.lower_distance_to_calibration(y, p, tolerance=1e-5)
    assert low <= exact <= high
    assert high - low <= 2 * cells.rounding + 1e-3


def test_edges_give_the_error_of_your_bins_and_their_table():
    y, p = [0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]
    edges = np.linspace(0, 1, 6)
    value = cal.interval_calibration_error(y, p, edges=edges)
    binned = cal.binned_calibration_error(y, p, strategy=edges)
    assert value == pytest.approx(binned + 0.2)
    assert value.table["rows"].tolist() == binned.table["rows"].tolist()
    assert value.settings["width"] == pytest.approx(0.2)
    with pytest.raises(InvalidOptionError, match="edges must increase"):
        cal.interval_calibration_error(y, p, edges=[0, 0.5])


def test_a_bracket_holds_the_chain_and_prints_it():
    rng = np.random.default_rng(4)
    p = np.round(rng.random(400), 2)
    y = (rng.random(400) < p).astype(int)
    bracket = cal.distance_bracket(y, p, individuals=np.arange(400))
    assert bracket.low <= bracket.true <= bracket.high
    assert list(bracket.chain) == [
        "half the smooth error",
        "lower distance",
        "true distance",
        "upper distance",
        "pooling neighbours only",
        "interval error",
        "4 sqrt(lower distance)",
    ]
    values = list(bracket.chain.values())
    assert values == sorted(values)
    assert str(bracket).startswith("distance to calibration between ")
    assert str(bracket).count("\n") == 7
    for _, left, right in bracket.inequalities():
        assert left <= right + 1e-9


def test_a_broken_chain_would_be_an_error(monkeypatch):
    monkeypatch.setattr(
        "calibrant.measures.bracket.smooth_calibration_error",
        lambda joint: cal.Measurement(1.0, "smooth_calibration_error", {}, lambda: None),
    )
    with pytest.raises(cal.errors.CalibrantError, match="smooth error / 2 <= lower distance"):
        cal.distance_bracket([0, 1, 1], [0.3, 0.3, 0.9])


def test_bracket_of_the_shipped_forecasts():
    columns = cal.datasets.flights()
    bracket = cal.distance_bracket(columns["outcome"], columns["prediction"])
    assert 0.0250 < bracket.low < 0.0256 < bracket.high < 0.0305

"""What a perfect forecaster would get, where rows share their outcome."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import measured
from calibrant.inference.evidence import Evidence
from calibrant.inference.measured import clustered_noise_floors, on_exact_levels
from calibrant.inference.settings import Settings

MEASURES = (
    "binned_calibration_error",
    "exact_calibration_error",
    "cutoff_calibration_error",
    "kernel_smoothed_calibration_error",
)


def events(rng, count=100, days=20):
    """Events forecast by the same number every day: the rows of one say the same."""
    event = np.repeat(np.arange(count), days)
    p = rng.uniform(0.1, 0.9, count)
    return rng.random(count) < p, p, event


def test_rows_that_repeat_an_event_have_the_floor_of_the_events():
    y, p, event = events(np.random.default_rng(1))
    repeated = Evidence.read(y[event], p[event], clusters=event)
    alone = Evidence.read(y, p, clusters=np.arange(p.size))
    rows = clustered_noise_floors(repeated, MEASURES, 39, np.random.default_rng(2))
    single = clustered_noise_floors(alone, MEASURES, 39, np.random.default_rng(2))
    assert rows == pytest.approx(single, rel=1e-9)
    careless = cal.inference.noise_floors(repeated.full_joint, MEASURES, 39, 0)
    assert careless["binned_calibration_error"] < 0.4 * rows["binned_calibration_error"]


def test_clusters_of_one_row_have_the_floor_of_independent_rows():
    rng = np.random.default_rng(3)
    p = rng.random(3000)
    y = rng.random(3000) < p
    evidence = Evidence.read(y, p, clusters=np.arange(3000))
    found = clustered_noise_floors(evidence, MEASURES[:3], 199, rng)
    redrawn = cal.inference.noise_floors(evidence.full_joint, MEASURES[:3], 199, 0)
    assert found == pytest.approx(redrawn, rel=0.1)


def test_levels_stay_exact_beyond_the_cells_of_the_test():
    rng = np.random.default_rng(4)
    p = rng.random(6000)
    evidence = Evidence.read(rng.random(6000) < p, p, clusters=np.arange(6000) // 10)
    exact = on_exact_levels(evidence)
    assert len(evidence.joint) < len(exact.joint) == 6000
    assert exact.clusters.residual_mass.sum() == pytest.approx(
        evidence.clusters.residual_mass.sum(), abs=1e-3
    )


def test_every_measure_of_an_audit_heeds_clusters():
    y, p, event = events(np.random.default_rng(5))
    settings = Settings.read(draws=199, rng=0)
    repeated = measured.measure_all(Evidence.read(y[event], p[event], clusters=event), settings)
    alone = measured.measure_all(Evidence.read(y, p), Settings.read(draws=199, rng=0))
    for name, floor in alone.floors.items():
        assert repeated.floors[name] == pytest.approx(floor, rel=0.3), name

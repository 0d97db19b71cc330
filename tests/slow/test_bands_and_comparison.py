"""Coverage of bands, of paired differences with weights, and of slopes, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import classical_numbers, confidence_band, consistency_band
from calibrant.inference.bands import isotonic_curve
from promises.samples import true_error

pytestmark = pytest.mark.slow

NOMINAL, REPETITIONS = 0.9, 1500
SLACK = 4 * np.sqrt(NOMINAL * (1 - NOMINAL) / REPETITIONS)


def uniform(rng):
    return rng.random(300).round(2)


def rare(rng):
    return (0.05 * 10 ** rng.uniform(-3, 0, 500)).round(4)


@pytest.mark.parametrize("predictions", [uniform, rare], ids=["ties", "rare events"])
def test_the_curve_of_a_perfect_forecaster_stays_in_its_consistency_band(predictions):
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(REPETITIONS):
        p = predictions(rng)
        joint = cal.Joint.from_samples(rng.random(p.size) < p, p)
        band = consistency_band(joint, confidence=NOMINAL, draws=199, rng=rng)
        curve = isotonic_curve(joint)
        inside += ((band.low - 1e-12 <= curve) & (curve <= band.high + 1e-12)).all()
    assert inside / REPETITIONS >= NOMINAL - SLACK


@pytest.mark.parametrize("predictions", [uniform, rare], ids=["ties", "rare events"])
@pytest.mark.parametrize("power", [1.0, 0.7, 1.5])
def test_a_monotone_truth_stays_in_its_confidence_band(predictions, power):
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(REPETITIONS // 3):
        p = predictions(rng)
        band = confidence_band(rng.random(p.size) < p**power, p, confidence=NOMINAL, rng=rng)
        truth = band.prediction**power
        inside += ((band.low <= truth) & (truth <= band.high)).all()
    assert inside / (REPETITIONS // 3) >= NOMINAL - 2 * SLACK


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("power", [1.0, 1.3])
def test_a_paired_difference_is_covered_with_weights(power, clustered):
    """The first forecaster says p, the second p to some power, the truth is p."""
    rng = np.random.default_rng(3)
    grid = np.arange(1, 50) / 50
    truth = true_error(grid**power, grid)
    inside = 0
    for _ in range(REPETITIONS // 3):
        p = rng.choice(grid, 400)
        draws = rng.random(400)
        clusters = None
        if clustered:
            clusters = np.arange(400) // 4
            draws = np.where(rng.random(400) < 0.5, draws, rng.random(100)[clusters])
        found = cal.compare(
            draws < p,
            p,
            p**power,
            sample_weight=rng.lognormal(0, 0.7, 400),
            confidence=NOMINAL,
            clusters=clusters,
            draws=199,
            rng=rng,
        )
        inside += found.low <= truth <= found.high
    assert inside / (REPETITIONS // 3) >= NOMINAL - 2 * SLACK


@pytest.mark.parametrize("clustered", [False, True])
def test_slope_and_intercepts_are_covered(clustered):
    rng = np.random.default_rng(4)
    inside = np.zeros(3)
    many = 1.2 * rng.standard_normal(10**6)
    population = (1 / (1 + np.exp(-(0.2 + 0.8 * many)))).mean()
    for _ in range(REPETITIONS):
        logit = rng.normal(0, 1.2, 500)
        chance = 1 / (1 + np.exp(-(0.2 + 0.8 * logit)))
        draws = rng.random(500)
        clusters = None
        if clustered:
            clusters = np.arange(500) // 5
            draws = np.where(rng.random(500) < 0.5, draws, rng.random(100)[clusters])
        p = 1 / (1 + np.exp(-logit))
        numbers = classical_numbers(
            draws < chance, p, clusters=clusters, confidence=NOMINAL, draws=19, rng=rng
        )
        inside[0] += numbers.slope.low <= 0.8 <= numbers.slope.high
        inside[1] += numbers.intercept.low <= 0.2 <= numbers.intercept.high
        expected = population / (1 / (1 + np.exp(-many))).mean()
        inside[2] += numbers.ratio.low <= expected <= numbers.ratio.high
    # Normal limits: within two points of what they promise at 500 rows.
    assert (inside / REPETITIONS >= NOMINAL - SLACK - 0.02).all()


def test_size_of_spiegelhalters_test():
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(REPETITIONS):
        p = rng.random(200)
        numbers = classical_numbers(rng.random(200) < p, p, draws=19, rng=rng)
        rejected += numbers.spiegelhalter.pvalue <= 0.1
    assert abs(rejected / REPETITIONS - 0.1) <= SLACK + 0.01

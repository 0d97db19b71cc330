"""Where forecasts are off, on either side."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.measures.regions import Region, bernoulli_noise, opposite_region, strongest_region


def sample(seed, slope, size=3000):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, size)
    p = 1 / (1 + np.exp(-odds))
    y = rng.random(size) < 1 / (1 + np.exp(-slope * odds))
    return cal.Joint.from_samples(y.astype(int), p)


def high(joint):
    """The upper third, told to be too high."""
    cut = float(np.quantile(joint.prediction, 2 / 3))
    return Region(cut, 1.0, 0.9, 0.8, 1)


def other_of(joint, region):
    return opposite_region(joint, region, *bernoulli_noise(joint))


@pytest.mark.parametrize("seed", range(5))
def test_too_extreme_forecasts_are_off_on_both_sides(seed):
    joint = sample(seed, 0.4)
    region = strongest_region(joint, np.sign(0.5 - joint.prediction))
    other = other_of(joint, region)
    assert (region.outcome < region.prediction) != (other.outcome < other.prediction)
    assert other.high < region.low or other.low > region.high


def test_chance_shows_no_other_side():
    found = [other_of(joint, high(joint)) for joint in (sample(i, 1) for i in range(300))]
    assert found == [None] * 300


@pytest.mark.parametrize("weighted", [False, True])
def test_one_rare_event_is_no_other_side(weighted):
    """A single event at a forecast of 1 % is ten standard errors, and happens every day."""
    rng, found = np.random.default_rng(3), []
    for _ in range(100):
        p = rng.beta(0.3, 30, 1000)
        weight = rng.exponential(size=p.size) if weighted else None
        joint = cal.Joint.from_samples(rng.random(p.size) < p, p, sample_weight=weight)
        region = strongest_region(
            joint, cal.smooth_calibration_error(joint).witness(joint.prediction)
        )
        found.append(None if region is None else other_of(joint, region))
    assert found == [None] * 100


def test_a_shift_has_one_side():
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    joint = cal.Joint.from_samples((rng.random(p.size) < 0.8 * p).astype(int), p)
    region = strongest_region(joint, -np.ones(len(joint)))
    assert other_of(joint, region) is None


def test_all_of_the_range_leaves_no_other_side():
    joint = cal.Joint.from_samples([0, 1] * 50, [0.9] * 100)
    assert other_of(joint, strongest_region(joint, -np.ones(1))) is None


def test_few_rows_that_are_off_by_very_much_are_no_part_of_the_other_side():
    """The range to tell of is below them, and its own way: it must not swallow them."""
    rng = np.random.default_rng(0)
    p = np.where(rng.random(400_000) < 0.994, rng.uniform(0.0005, 0.0015, 400_000), 0.5)
    joint = cal.Joint.from_samples(rng.random(p.size) < np.where(p < 0.1, 1.6 * p, 0.05), p)
    region = strongest_region(joint, np.where(joint.prediction < 0.1, 0.0, -1.0))
    assert region.outcome < region.prediction
    other = other_of(joint, region)
    assert other.high < region.low
    assert other.outcome > other.prediction


def test_forecasts_that_are_written_alike_stay_together():
    """No range ends among forecasts next to 0 or 1, whose ends nobody could read."""
    rng = np.random.default_rng(0)
    p = np.concatenate([1 - 10.0 ** -rng.uniform(6, 15, 500), rng.uniform(0.5, 0.99, 100)])
    y = (rng.random(600) < np.where(p > 1 - 1e-11, 0.98, 0.7)).astype(int)
    joint = cal.Joint.from_samples(y, p)
    region = strongest_region(joint, cal.smooth_calibration_error(joint).witness(joint.prediction))
    assert region.high in {joint.prediction[-1], joint.prediction[joint.prediction < 0.99].max()}
    assert "e-" not in region.sentence

"""Size of the Monte-Carlo test, by simulation: a calibrated sample is rarely rejected.

Each case draws samples from the null and counts p-values at or below 5 % and 20 %. A share above
its level by more than four standard errors fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.weight_functions import LearnedFamily

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning"),
]

REPETITIONS = 4000
DRAWS = 99


def uniform(rng):
    return rng.random(120), None


def ties(rng):
    return rng.integers(0, 11, 200) / 10, None


def rare(rng):
    return 10 ** rng.uniform(-6, -1, 400), None


def certain(rng):
    return rng.choice([0.0, 0.2, 0.9, 1.0], 60), None


def equal_weights(rng):
    return rng.integers(0, 11, 150) / 10, np.full(150, 4.0)


def unequal_weights_without_ties(rng):
    return rng.random(120), rng.lognormal(0, 1, 120)


def unequal_weights_with_ties(rng):
    return rng.integers(0, 6, 300) / 5, rng.lognormal(0, 1, 300)


def rare_with_weights(rng):
    return 10 ** rng.uniform(-6, -1, 400), rng.lognormal(0, 1, 400)


def many_levels(rng):
    return rng.random(6000), None


CASES = [
    uniform,
    ties,
    rare,
    certain,
    equal_weights,
    unequal_weights_without_ties,
    unequal_weights_with_ties,
    rare_with_weights,
]


def share_rejected(case, measure, repetitions, level, draws=DRAWS):
    rng = np.random.default_rng(11)
    rejected = 0
    for _ in range(repetitions):
        p, w = case(rng)
        y = rng.random(p.size) < p
        test = cal.calibration_test(y, p, sample_weight=w, measure=measure, draws=draws, rng=rng)
        rejected += test.pvalue <= level
    return rejected / repetitions


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_size_of_the_smooth_test(case, level):
    share = share_rejected(case, "smooth_calibration_error", REPETITIONS, level)
    assert share <= level + 4 * np.sqrt(level * (1 - level) / REPETITIONS)


@pytest.mark.parametrize("name", [n for n in JOINT_MEASURES if n != "smooth_calibration_error"])
def test_size_for_other_measures(name):
    # One value of the smoothed error takes milliseconds: fewer samples, fewer draws.
    repetitions, draws = (300, 19) if "smoothed" in name else (1500, DRAWS)
    share = share_rejected(ties, name, repetitions, 0.05, draws)
    assert share <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / repetitions)


def test_size_is_not_lost_on_rounded_predictions():
    share = share_rejected(many_levels, "smooth_calibration_error", 400, 0.05)
    assert share <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_size_of_the_combined_test(case):
    share = share_rejected(case, "combined", 1500, 0.05)
    assert share <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("rare", [False, True])
def test_size_with_clusters(rare, level):
    """Sixty clusters of eight rows that share a normal number; the test is approximate here."""
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(REPETITIONS):
        p = 10 ** rng.uniform(-2.5, -1, (60, 8)) if rare else rng.integers(1, 10, (60, 8)) / 10
        shared = 0.8 * rng.standard_normal((60, 1)) + 0.6 * rng.standard_normal((60, 8))
        y = ndtr(shared) < p
        clusters = np.repeat(np.arange(60), 8)
        test = cal.calibration_test(y.ravel(), p.ravel(), clusters=clusters, draws=DRAWS, rng=rng)
        rejected += test.pvalue <= level
    assert rejected / REPETITIONS <= level + 4 * np.sqrt(level * (1 - level) / REPETITIONS)


def test_size_is_not_merely_zero():
    """The test is exact, not only conservative: it rejects about as often as it may."""
    assert share_rejected(uniform, "smooth_calibration_error", REPETITIONS, 0.05) >= 0.035


def test_size_of_a_learned_test():
    """The p-value of what an estimator learned is honest: it saw the other half only."""
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(REPETITIONS):
        p = rng.integers(0, 11, 80) / 10
        y = rng.random(80) < p
        family = LearnedFamily(DecisionTreeRegressor(max_depth=3), draws=99, rng=rng)
        rejected += family.best_test(cal.Joint.from_samples(y, p))[1].pvalue <= 0.05
    assert rejected / REPETITIONS <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / REPETITIONS)

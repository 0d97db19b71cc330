"""Families of tests: each against the measure or the definition it stands for."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import calibrant as cal
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.weight_functions import (
    Bounded,
    BoundedVariation,
    Dictionary,
    Family,
    Intervals,
    KernelBall,
    LearnedFamily,
    Lipschitz,
    Polynomials,
    Thresholds,
)
from oracles import definitions as by_definition
from oracles.strategies import MAKERS, joint_of, joints, laws, universal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

SAME = {
    "bounded": (Bounded(), cal.exact_calibration_error, {}),
    "lipschitz": (Lipschitz(3.0), cal.smooth_calibration_error, {"lipschitz": 3.0}),
    "thresholds": (Thresholds(), cal.cutoff_calibration_error, {"sets": "thresholds"}),
    "intervals": (Intervals(), cal.cutoff_calibration_error, {"sets": "intervals"}),
    "polynomials": (
        Polynomials(2, "l2"),
        cal.low_degree_calibration_error,
        {"degree": 2, "norm": "l2"},
    ),
    "kernel ball": (
        KernelBall("gaussian", 0.3),
        cal.kernel_calibration_error,
        {"kernel": "gaussian", "bandwidth": 0.3},
    ),
}


@pytest.mark.parametrize(("family", "measure", "options"), SAME.values(), ids=SAME)
@universal
@given(law=joints())
def test_a_family_is_its_measure(family, measure, options, law):
    joint = joint_of(law)
    value = cal.weighted_calibration_error(joint, family=family)
    assert value == float(measure(joint, **options))
    assert value.witness.advantage(joint) == pytest.approx(float(value), abs=1e-9)
    assert type(family).__name__ in value.settings["family"]


@universal
@given(joints())
def test_the_default_family_is_that_of_the_smooth_error(law):
    joint = joint_of(law)
    assert cal.weighted_calibration_error(joint) == float(cal.smooth_calibration_error(joint))


def best_with_turns(law) -> list[float]:
    """The best test with values -1 and 1 by the number of its turns, every pattern tried."""
    best = [0.0] * len(law.prediction)
    for pattern in itertools.product((-1.0, 1.0), repeat=len(law.prediction)):
        turns = np.count_nonzero(np.diff(pattern))
        gain = by_definition.advantage(np.array(pattern), *law)
        best[turns] = max(best[turns], gain)
    return list(itertools.accumulate(best, max))


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_bounded_variation_mixes_the_best_patterns_of_turns(maker, turns):
    """For a price per turn some pattern of signs is best, so mixtures of two patterns are best
    for a given variation: the least concave curve above the values by number of turns."""
    for law in laws(maker, 6, most=8):
        by_turns = best_with_turns(law)
        size = len(by_turns)
        expected = by_turns[min(turns, size - 1)]
        for low in range(min(turns, size)):
            for high in range(turns + 1, size):
                share = (turns - low) / (high - low)
                expected = max(expected, (1 - share) * by_turns[low] + share * by_turns[high])
        joint = joint_of(law)
        value = cal.weighted_calibration_error(joint, family=BoundedVariation(2.0 * turns))
        assert value == pytest.approx(expected, abs=1e-7)
        at_levels = value.witness(joint.prediction)
        assert np.abs(np.diff(at_levels)).sum() <= 2 * turns + 1e-7


@universal
@given(joints(max_levels=8))
def test_variation_without_limit_gives_the_expected_error(law):
    joint = joint_of(law)
    value = cal.weighted_calibration_error(joint, family=BoundedVariation(2.0 * len(joint)))
    assert value == pytest.approx(float(cal.exact_calibration_error(joint)), abs=1e-7)


def test_bounded_variation_refuses_what_it_cannot_do():
    p = np.linspace(0, 1, 5000)
    with pytest.raises(InvalidOptionError, match="4096 levels"):
        cal.weighted_calibration_error(p > 0.5, p, family=BoundedVariation())
    with pytest.raises(InvalidOptionError, match="negative"):
        cal.weighted_calibration_error([0, 1], [0.1, 0.9], family=BoundedVariation(-1))


def test_a_dictionary_tries_each_test_with_either_sign():
    joint = cal.Joint.from_counts([0.2, 0.7], [50, 50], [20, 25])
    tests = [np.ones_like, lambda p: p, lambda p: p > 0.5]
    value = cal.weighted_calibration_error(joint, family=Dictionary(tests))
    assert value == pytest.approx(0.1)
    assert value.witness([0.2, 0.7]).tolist() == [0.0, -1.0]
    assert "too high" in value.witness.sentence
    with pytest.raises(InvalidOptionError, match="at least one"):
        cal.weighted_calibration_error(joint, family=Dictionary([]))


@dataclass(frozen=True)
class Waves:
    """A family of one's own: cosines of the prediction."""

    frequencies: int = 4

    def best_test(self, joint):
        waves = [
            lambda p, k=k: np.cos(k * math.pi * np.asarray(p)) for k in range(self.frequencies)
        ]
        return Dictionary(waves).best_test(joint)


def test_a_family_of_ones_own_is_a_few_lines():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = rng.random(4000) < np.clip(p + 0.1 * np.cos(3 * math.pi * p), 0, 1)
    family: Family = Waves()
    value = cal.weighted_calibration_error(y, p, family=family)
    assert value == pytest.approx(0.05, abs=0.01)
    assert value.witness([0.0, 1.0]).tolist() == pytest.approx([1.0, -1.0])


def biased(n, shift, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return rng.random(n) < np.clip(p + np.where(p > 0.5, shift, -shift), 0, 1), p


@pytest.mark.parametrize(
    "estimator", [DecisionTreeRegressor(max_depth=2), LogisticRegression()], ids=["tree", "logit"]
)
def test_an_estimator_finds_bias_and_judges_it_on_other_rows(estimator):
    y, p = biased(4000, 0.15)
    value = cal.weighted_calibration_error(y, p, family=LearnedFamily(estimator))
    assert value.witness.pvalue == 0.001
    assert 0.03 < value <= cal.exact_calibration_error(y, p)
    assert np.abs(value.witness(np.linspace(0, 1, 99))).max() <= 1
    again = cal.weighted_calibration_error(y, p, family=LearnedFamily(estimator))
    assert float(again) == float(value)


def test_an_estimator_that_overfits_gains_nothing_from_it():
    """A deep tree remembers its half; on the other half a calibrated sample gives it nothing."""
    values = [
        float(
            cal.weighted_calibration_error(
                *biased(300, 0.0, seed), family=LearnedFamily(DecisionTreeRegressor(), draws=9)
            )
        )
        for seed in range(60)
    ]
    assert np.mean(values) == pytest.approx(0, abs=4 * np.std(values) / math.sqrt(60))


def test_learning_needs_rows_without_weights():
    family = LearnedFamily(DecisionTreeRegressor())
    with pytest.raises(InferenceRefusedError, match="four rows"):
        cal.weighted_calibration_error([0, 1], [0.2, 0.4], family=family)
    with pytest.raises(InferenceRefusedError, match="weighted"):
        cal.weighted_calibration_error(
            [0, 1] * 5, [0.2, 0.4] * 5, sample_weight=np.arange(1, 11), family=family
        )
    with pytest.raises(InferenceRefusedError, match="mean outcomes"):
        cal.weighted_calibration_error([0.2, 0.3] * 3, [0.2, 0.4] * 3, family=family)

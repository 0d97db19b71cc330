"""A calibrator remembers which rows taught it: in any order, and no others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.errors import InvalidStateError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration import PlattScaling, TemperatureScaling, load, recalibrate
from calibrant.recalibration.base import Fingerprint

RNG = np.random.default_rng(11)


def rows(n=500, decimals=None):
    chance = RNG.random(n)
    p = chance**2
    return (RNG.random(n) < chance).astype(int), p if decimals is None else p.round(decimals)


def joint(y, p, weight=None):
    return Joint.from_samples(y, p, sample_weight=weight)


def test_rows_in_another_order_are_the_same_rows():
    y, p = rows()
    known = Fingerprint.of(joint(y, p))
    order = RNG.permutation(p.size)
    assert known.matches(joint(y[order], p[order]))
    assert known.has_predictions(p[order])
    assert Fingerprint.of(joint(y[order], p[order])) == known


@pytest.mark.parametrize("decimals", [None, 3, 2, 1])
def test_other_rows_raise_no_alarm(decimals):
    y, p = rows(400, decimals)
    known = Fingerprint.of(joint(y, p))
    for _ in range(300):
        others = rows(400, decimals)
        assert known is None or not known.matches(joint(*others))


def test_the_same_forecasts_with_other_outcomes_are_other_rows():
    y, p = rows()
    other = 1 - y
    known = Fingerprint.of(joint(y, p))
    assert known.has_predictions(p)
    assert not known.matches(joint(other, p))


def test_forecasts_that_chance_repeats_have_no_fingerprint():
    # 100 rows of two levels, 50 each: others have the same counts in 8 of 100 samples.
    y, p = np.arange(100) % 2, np.repeat([0.2, 0.7], 50)
    assert Fingerprint.of(joint(y, p)) is None
    assert "training_fingerprint" not in PlattScaling().fit(p, y).to_dict()


@pytest.mark.parametrize(("levels", "each"), [(3, 40), (8, 30), (10, 60)])
def test_the_chance_of_equal_counts_is_that_of_the_multinomial(levels, each):
    n = levels * each
    exact = math.exp(math.lgamma(n + 1) - levels * math.lgamma(each + 1) - n * math.log(levels))
    p = np.repeat((np.arange(levels) + 0.5) / levels, each)
    known = Fingerprint.of(joint(np.arange(n) % 2, p))
    assert (known is None) == (exact > 1e-9)


def test_weights_leave_outcomes_out():
    y, p = rows()
    weight = RNG.uniform(0.5, 2, p.size)
    known = Fingerprint.of(joint(y, p, weight))
    assert known.outcomes is None
    assert known.matches(joint(y, p, weight))
    assert known.matches(joint(y, p))
    assert "predictions are" in known.warning


def test_classes_have_one_too():
    table = RNG.dirichlet(np.ones(4), 300)
    label = RNG.integers(0, 4, 300)
    order = RNG.permutation(300)
    fitted = TemperatureScaling().fit(table, label)
    known = fitted.training_fingerprint_
    assert known.matches(ClassForecasts(table[order], label[order], (0, 1, 2, 3)))
    assert known.has_predictions(table[order])
    assert not known.matches(ClassForecasts(table, np.roll(label, 1), (0, 1, 2, 3)))
    assert not known.has_predictions(RNG.dirichlet(np.ones(4), 300))


def test_it_survives_storing_scaling_and_choosing():
    y, p = rows()
    for fitted in (PlattScaling().fit(p, y), recalibrate(y, p, rng=0).calibrator):
        again = load(fitted.with_scale("percent").to_json())
        assert again.training_fingerprint_ == fitted.training_fingerprint_
        assert again.training_fingerprint_.matches(joint(y, p))


def test_a_map_of_before_has_none():
    y, p = rows()
    stored = PlattScaling().fit(p, y).to_dict()
    del stored["training_fingerprint"]
    assert load(stored).training_fingerprint_ is None


def test_a_stored_fingerprint_is_checked():
    y, p = rows()
    stored = PlattScaling().fit(p, y).to_dict()
    for wrong in ({"rows": -1}, {"predictions": 3}, {"outcomes": 1.5}):
        with pytest.raises(InvalidStateError):
            load(stored | {"training_fingerprint": stored["training_fingerprint"] | wrong})


def test_few_predictions_in_single_precision_are_the_same_rows():
    y, p = rows()
    small = p.astype(np.float32)
    fitted = PlattScaling().fit(small, y)
    assert fitted.training_fingerprint_.matches(joint(y, small.astype(np.float64)))

"""The conclusion of the survey: many classes and models that write."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import calibrant as cal
from calibrant import multiclass
from calibrant.hallucination import generative_miscalibration, hallucination_bound, monofact_rate
from oracles.class_definitions import random_forecasts
from oracles.universes import universe

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")


def test_conclusion_confidence_calibration_asks_too_little_of_many_classes():
    """The top class is as likely as stated on average, and no single forecast is right."""
    stated = np.repeat([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3]], 10, axis=0)
    labels = np.array([0] * 8 + [1] + [2] + [0] * 3 + [1] * 4 + [2] * 3)
    forecasts = multiclass.ClassForecasts.read(labels, stated)
    assert cal.smooth_calibration_error(forecasts.top_label()) == pytest.approx(0, abs=1e-12)
    assert multiclass.projected_smooth_calibration_error(forecasts) > 0.15
    assert multiclass.canonical_calibration_error(forecasts) > 0.1


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_conclusion_projected_smooth_error_asks_about_every_set_of_classes(classes):
    """GHR24: the largest smooth error of "is the outcome in this set?", one question at a time.

    A set and its complement have the same error; two classes give the error of section 3.
    """
    for seed in range(5):
        label, table = random_forecasts(np.random.default_rng(seed), 60, classes)
        forecasts = multiclass.ClassForecasts.read(label, table)
        by_set = {}
        for size in range(1, classes):
            for chosen in itertools.combinations(range(classes), size):
                happened = np.isin(np.asarray(label), chosen).astype(float)
                probability = table[:, list(chosen)].sum(axis=1).clip(0, 1)
                by_set[chosen] = float(cal.smooth_calibration_error(happened, probability))
        error = multiclass.projected_smooth_calibration_error(forecasts)
        assert error == pytest.approx(max(by_set.values()), abs=1e-9)
        for chosen, found in by_set.items():
            rest = tuple(one for one in range(classes) if one not in chosen)
            assert found == pytest.approx(by_set[rest], abs=1e-9)
        if classes == 2:
            assert error == pytest.approx(by_set[1,], abs=1e-12)


def test_conclusion_class_wise_errors_need_not_see_what_sets_see():
    """Each class by itself happens as often as stated; the first two together do not."""
    stated = np.repeat(
        [[0.3, 0.3, 0.2, 0.2], [0.3, 0.1, 0.4, 0.2], [0.1, 0.3, 0.2, 0.4]], 10, axis=0
    )
    labels = np.repeat([*range(4)] * 3, [4, 4, 1, 1, 2, 1, 4, 3, 1, 2, 3, 4])
    forecasts = multiclass.ClassForecasts.read(labels, stated)
    for one in range(4):
        alone = cal.exact_calibration_error(forecasts.subset([one]))
        assert alone == pytest.approx(0, abs=1e-12)
    error = multiclass.projected_smooth_calibration_error(forecasts)
    together = cal.smooth_calibration_error(forecasts.subset([0, 1]))
    assert error >= together - 1e-12
    assert together > 0.01


@pytest.mark.parametrize("shape", ["zipf", "even"])
def test_conclusion_calibrated_models_hallucinate_at_about_the_rate_of_facts_seen_once(shape):
    """KV24: false statements are at least the rate of facts seen once, less what is listed.

    Good and Turing: that rate estimates the mass of what no document states.
    """
    for seed in range(5):
        world = universe(np.random.default_rng(seed), 4000, 6000, 299, shape)
        once = monofact_rate(counts=world.seen)
        assert once.value == pytest.approx((world.seen == 1).sum() / world.seen.sum())
        assert once.low <= world.unseen_mass <= once.high
        model = world.calibrated()
        off = generative_miscalibration(model, world.truth)
        bound = hallucination_bound(
            once,
            off,
            true_statements=6000,
            unseen_statements=int((world.seen == 0).sum()),
        )
        false = world.falsehoods(model)
        assert bound.value <= false
        assert false >= once.value - off - 0.05
        # What a model that only repeats avoids, it pays in calibration.
        memory = world.memorised()
        assert world.falsehoods(memory) == 0
        assert generative_miscalibration(memory, world.truth) >= world.unseen_mass - 1e-9

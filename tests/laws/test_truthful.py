"""Truthful: no forecast has a smaller expected value than the chances of the outcomes.

For few rows the expectation is a sum over all outcomes, each with its chance: no simulation. Where
the catalogue calls a measure truthful no forecast beats the chances; where it does not, one does.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

TRUTHFUL = [measure for measure in JOINT_MEASURES.values() if measure.truthful is not None]
OTHERS = [measure for measure in JOINT_MEASURES.values() if measure.truthful is None]


@cache
def outcomes(size):
    return list(itertools.product((0, 1), repeat=size))


def expected(function, chance, forecast):
    """Mean value over all outcomes, each weighed by its chance."""
    chances = [np.prod(np.where(y, chance, 1 - chance)) for y in outcomes(chance.size)]
    values = [float(function(y, forecast)) for y in outcomes(chance.size)]
    return float(np.dot(chances, values))


def tries(rng, chance):
    """Forecasts of somebody who knows the chances: nearly them, fewer, flatter, or anything."""
    yield np.clip(chance + 0.02 * rng.standard_normal(chance.size), 0, 1)
    yield np.full(chance.size, chance.mean())
    yield np.full(chance.size, chance.round(1)[0])
    yield 0.5 + 0.5 * (chance - 0.5)
    upper = chance >= np.median(chance)
    yield np.where(upper, chance[upper].mean(), chance)
    yield chance.round(1)
    yield rng.random(chance.size)


@pytest.mark.parametrize("measure", TRUTHFUL, ids=lambda measure: measure.name)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_no_forecast_beats_the_chances(measure, size):
    rng = np.random.default_rng(size)
    flags = dict.fromkeys(measure.truthful, True)
    for _ in range(3 if size == 8 else 12):
        chance = rng.random(size)
        told = expected(lambda y, p: measure.function(y, p, **flags), chance, chance)
        for forecast in tries(rng, chance):
            other = expected(lambda y, p: measure.function(y, p, **flags), chance, forecast)
            assert other >= told - 1e-12


@pytest.mark.parametrize("measure", OTHERS, ids=lambda measure: measure.name)
def test_what_is_not_called_truthful_rewards_another_forecast(measure):
    rng = np.random.default_rng(5)
    for size in (2, 3, 4, 5):
        for _ in range(6):
            chance = rng.random(size)
            told = expected(measure.function, chance, chance)
            others = [expected(measure.function, chance, p) for p in tries(rng, chance)]
            if min(others) < told - 1e-6:
                return
    pytest.fail("no forecast was found that beats the chances")


@pytest.mark.parametrize("options", [{"order": 1}, {"unbiased": True}], ids=["order 1", "unbiased"])
def test_other_forms_of_the_two_bin_error_are_not_truthful(options):
    def measured(y, p):
        return cal.averaged_two_bin_error(y, p, **options)

    rng = np.random.default_rng(2)
    found = []
    for _ in range(20):
        chance = rng.random(4)
        told = expected(measured, chance, chance)
        found += [expected(measured, chance, p) - told for p in tries(rng, chance)]
    assert min(found) < -1e-6


def test_the_root_and_a_kernel_with_an_uneven_diagonal_are_not_truthful():
    """The argument needs a square, and K(p, p) to be the same for every p."""
    rng = np.random.default_rng(4)
    for options in ({}, {"kernel": "polynomial", "squared": True}):

        def measured(y, p, options=options):
            return cal.kernel_calibration_error(y, p, **options)

        found = []
        for _ in range(20):
            chance = rng.random(3)
            told = expected(measured, chance, chance)
            found += [expected(measured, chance, p) - told for p in tries(rng, chance)]
        assert min(found) < -1e-6

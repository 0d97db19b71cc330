"""Truthful: no forecast has a smaller expected value than the chances of the outcomes.

For few rows the expectation is a sum over all outcomes, each with its chance: no simulation. Where
the catalogue calls a measure truthful no forecast beats the chances; where it does not, one does.
"""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import CATALOGUE, JOINT_MEASURES

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

TRUTHFUL = [measure for measure in JOINT_MEASURES.values() if measure.truthful is not None]
OTHERS = [measure for measure in JOINT_MEASURES.values() if measure.truthful is None]
OF_CLASSES = [
    measure
    for measure in CATALOGUE.values()
    if measure.domain == "classes"
    and not measure.requires
    # One value for each class: that of its measure.
    and measure.name != "multiclass.class_wise"
]
TRUTHFUL_OF_CLASSES = [measure for measure in OF_CLASSES if measure.truthful is not None]
OTHERS_OF_CLASSES = [measure for measure in OF_CLASSES if measure.truthful is None]


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


# Classes


def expected_of_classes(function, chance, forecast):
    """Mean value over all labels of the rows, each weighed by its chance."""
    size, classes = chance.shape
    total = 0.0
    for labels in itertools.product(range(classes), repeat=size):
        value = function(list(labels), forecast, classes=list(range(classes)))
        total += np.prod(chance[np.arange(size), labels]) * float(value)
    return total


def tries_of_classes(rng, chance):
    """Forecasts of rows of chances: nearly them, fewer, flatter, or anything."""
    classes = chance.shape[1]
    near = np.clip(chance + 0.02 * rng.standard_normal(chance.shape), 0, 1)
    yield near / near.sum(axis=1, keepdims=True)
    yield np.tile(chance.mean(axis=0), (len(chance), 1))
    yield np.tile(chance[0], (len(chance), 1))
    yield 0.5 / classes + 0.5 * chance
    yield np.eye(classes)[chance.argmax(axis=1)]
    yield rng.dirichlet(np.ones(classes), size=len(chance))


@pytest.mark.parametrize("measure", TRUTHFUL_OF_CLASSES, ids=lambda measure: measure.name)
@pytest.mark.parametrize(("size", "classes"), [(1, 3), (2, 4), (3, 3), (5, 3)])
def test_no_forecast_of_classes_beats_the_chances(measure, size, classes):
    rng = np.random.default_rng(10 * size + classes)
    function = partial(measure.function, **dict.fromkeys(measure.truthful, True))
    for _ in range(2 if size == 5 else 6):
        chance = rng.dirichlet(np.ones(classes), size=size)
        honest = expected_of_classes(function, chance, chance)
        for forecast in tries_of_classes(rng, chance):
            assert expected_of_classes(function, chance, forecast) >= honest - 1e-12


@pytest.mark.parametrize("method", ["pairs", "features"])
@pytest.mark.parametrize("bandwidth", [0.1, 1.0])
def test_the_expected_square_of_classes_is_a_floor_and_a_norm(method, bandwidth):
    """The mean of (1 - |t|^2) / (2 n), and the squared error of mean outcomes t."""
    rng = np.random.default_rng(3)
    options = {"squared": True, "bandwidth": bandwidth, "method": method, "features": 8}
    function = partial(cal.multiclass.canonical_calibration_error, **options)
    for _ in range(5):
        chance = rng.dirichlet(np.ones(3), size=4)
        floor = float((1 - (chance**2).sum(axis=1)).sum()) / (2 * 4**2)
        assert expected_of_classes(function, chance, chance) == pytest.approx(floor, abs=1e-12)
        forecast = rng.dirichlet(np.ones(3), size=4)
        found = expected_of_classes(function, chance, forecast)
        if method == "pairs":
            away = (chance - forecast) / 4
            apart = np.abs(forecast[:, None] - forecast).sum(axis=2) / 2
            norm = float(np.sum(away @ away.T * np.exp(-apart / bandwidth))) / 2
            assert found == pytest.approx(floor + norm, abs=1e-12)
        assert found > floor


@pytest.mark.parametrize("measure", OTHERS_OF_CLASSES, ids=lambda measure: measure.name)
def test_what_is_not_called_truthful_rewards_another_forecast_of_classes(measure):
    assert rewards_another_forecast(measure.function)


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "multinomial", "squared": True}, {"unbiased": True}],
    ids=["root", "multinomial", "unbiased"],
)
def test_other_forms_of_the_canonical_error_are_not_truthful(options):
    assert rewards_another_forecast(partial(cal.multiclass.canonical_calibration_error, **options))


def rewards_another_forecast(function):
    rng = np.random.default_rng(5)
    for size in (2, 3):
        for _ in range(6):
            chance = rng.dirichlet(np.ones(3), size=size)
            honest = expected_of_classes(function, chance, chance)
            for forecast in tries_of_classes(rng, chance):
                if expected_of_classes(function, chance, forecast) < honest - 1e-6:
                    return True
    return False

"""The ECE under its usual name: in bins of equal width, or of exact prediction values."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import CATALOGUE, OTHER_NAMES, find_measure
from calibrant.inference.statistic import Statistic
from oracles import definitions as by_definition

RNG = np.random.default_rng(40)
P = RNG.integers(0, 101, 400) / 100
Y = (RNG.random(400) < P**1.3) * 1
W = RNG.integers(1, 4, 400)


def by_the_book(y, p, w, bins):
    """Sum over bins of share times |mean prediction - frequency|, row by row, in fractions."""
    sums = [[Fraction(0)] * 3 for _ in range(bins)]
    for outcome, prediction, weight in zip(y, p, w, strict=True):
        exact = Fraction(str(prediction))
        cell = sums[min(math.floor(exact * bins), bins - 1)]
        for place, part in enumerate((1, exact, int(outcome))):
            cell[place] += int(weight) * part
    total = sum(weight for weight, _, _ in sums)
    held = [cell for cell in sums if cell[0]]
    return float(
        sum(
            weight / total * abs(forecasts / weight - ones / weight)
            for weight, forecasts, ones in held
        )
    )


@pytest.mark.parametrize("bins", [1, 10, 15, 37])
def test_in_bins_it_is_the_definition_row_by_row(bins):
    found = cal.expected_calibration_error(Y, P, sample_weight=W, bins=bins)
    assert found == pytest.approx(by_the_book(Y, P, W, bins), abs=1e-14)
    assert found.settings["bins"] == bins


def test_by_default_it_has_fifteen_bins_of_equal_width():
    found = cal.expected_calibration_error(Y, P)
    assert found == pytest.approx(by_the_book(Y, P, np.ones(400), 15), abs=1e-14)
    assert found == cal.binned_calibration_error(Y, P, n_bins=15)
    assert found.name == "binned_calibration_error"


@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_without_bins_it_is_definition_2_1(order):
    joint = cal.Joint.from_samples(Y, P)
    expected = by_definition.exact_calibration_error(
        joint.prediction, joint.mass, joint.outcome, order
    )
    found = cal.expected_calibration_error(Y, P, bins=None, order=order)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found.name == "exact_calibration_error"
    assert found == cal.expected_calibration_error(joint, bins=None, order=order)


def test_order_and_labels_are_passed_on_in_bins():
    labels = np.where(Y == 1, "yes", "no")
    found = cal.expected_calibration_error(labels, P, pos_label="yes", bins=7, order=2)
    assert found == cal.binned_calibration_error(Y, P, n_bins=7, order=2)


def test_flights_have_the_value_that_other_libraries_give():
    columns = cal.datasets.flights()
    found = cal.ece(columns["outcome"], columns["prediction"].round(2), bins=10)
    assert round(float(found), 4) == 0.0296  # netcal and torchmetrics


def test_ece_is_the_same_function():
    assert cal.ece is cal.expected_calibration_error


@pytest.mark.parametrize(
    "measure",
    [
        partial(cal.expected_calibration_error, bins=None),
        cal.exact_calibration_error,
        partial(cal.ece, bins=None),
    ],
)
def test_predictions_that_occur_once_are_warned_of_where_the_function_is_called(measure):
    with pytest.warns(cal.errors.CalibrantWarning, match="occur once") as caught:
        measure([0, 1, 1], [0.1, 0.2, 0.3])
    assert [one.filename for one in caught] == [__file__]


def test_bins_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cal.expected_calibration_error([0, 1, 1], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("bins", [0, -1, 2.5, 2**20 + 1, "15", math.nan])
def test_an_impossible_number_of_bins_is_rejected_under_its_name(bins):
    with pytest.raises(cal.errors.InvalidOptionError, match=r"^bins must be"):
        cal.expected_calibration_error(Y, P, bins=bins)


def test_other_names_of_a_measure_are_public_functions_with_its_default():
    assert OTHER_NAMES
    for other, name in OTHER_NAMES.items():
        assert other in cal.__all__
        assert other not in CATALOGUE
        assert find_measure(other) is CATALOGUE[name]
        function = getattr(cal, other)
        assert function(Y, P) == CATALOGUE[name].function(Y, P)
        assert Statistic.of(other).entry is Statistic.of(function).entry is CATALOGUE[name]


@pytest.mark.parametrize(
    ("measure", "name", "options"),
    [
        (cal.ece, "binned_calibration_error", {"n_bins": 15, "order": 1}),
        (partial(cal.ece, bins=9), "binned_calibration_error", {"n_bins": 9, "order": 1}),
        (partial(cal.ece, bins=None), "exact_calibration_error", {"order": 1}),
        (partial(cal.ece, bins=None, order=2), "exact_calibration_error", {"order": 2}),
    ],
)
def test_inference_takes_it_as_the_measure_that_it_is(measure, name, options):
    statistic = Statistic.of(measure)
    assert (statistic.name, dict(statistic.options)) == (name, options)
    assert statistic.entry is CATALOGUE[name]
    assert statistic.batch() is not None
    joint = cal.Joint.from_samples(Y, P)
    assert statistic.value(joint) == float(measure(joint))


def test_a_test_by_name_is_the_test_of_the_function():
    by_name = cal.calibration_test(Y, P, measure="expected_calibration_error", rng=0)
    by_function = cal.calibration_test(Y, P, measure=cal.expected_calibration_error, rng=0)
    binned = cal.calibration_test(Y, P, measure="binned_calibration_error", rng=0)
    assert by_name.pvalue == by_function.pvalue == binned.pvalue
    assert by_name.noise_floor == by_function.noise_floor == binned.noise_floor


def test_of_other_kinds_it_is_the_binned_error():
    outcomes, means = 3 * P + RNG.normal(size=400), 3 * P
    found = cal.calibration_error(outcomes, means, measure="expected_calibration_error")
    assert found == cal.calibration_error(outcomes, means, measure="binned_calibration_error")


def test_exact_values_are_at_least_the_error_in_bins():
    for bins in (1, 4, 15, 60):
        assert cal.ece(Y, P, bins=bins) <= cal.ece(Y, P, bins=None) + 1e-12

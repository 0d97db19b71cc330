"""What holds for every view of class forecasts."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import multiclass
from calibrant.multiclass import ClassForecasts
from oracles.class_definitions import random_forecasts

MEASURES = ["smooth_calibration_error", "binned_calibration_error", "cutoff_calibration_error"]


@pytest.mark.parametrize("ties", [False, True])
def test_two_classes_are_the_binary_case_exactly(ties):
    label, table = random_forecasts(np.random.default_rng(2), 60, 2, ties=ties)
    binary = cal.Joint.from_samples(label, table[:, 1])
    forecasts = ClassForecasts.read(label, table)
    assert forecasts.one_class(1) == binary
    assert forecasts.subset([1]) == binary
    assert forecasts.pairwise(0, 1) == binary
    assert forecasts.one_class(0) == cal.Joint.from_samples(1 - label, table[:, 0])
    confidence = np.maximum(table[:, 0], table[:, 1])
    correct = table.argmax(axis=1) == label
    assert forecasts.top_label() == cal.Joint.from_samples(correct, confidence)
    assert forecasts.top_k(1) == forecasts.top_label()
    for name in MEASURES:
        measure = cal.CATALOGUE[name].function
        values = multiclass.class_wise(forecasts, measure=name).values
        assert values[1] == measure(binary)


def test_order_of_classes_and_rows_does_not_matter():
    rng = np.random.default_rng(3)
    label, table = random_forecasts(rng, 80, 5)
    order, rows = rng.permutation(5), rng.permutation(80)
    moved = np.argsort(order)[label]
    plain = ClassForecasts.read(label, table)
    other = ClassForecasts.read(moved[rows], table[rows][:, order])
    assert plain.top_label() == other.top_label()
    assert plain.top_k(3) == other.top_k(3)
    values, others = multiclass.class_wise(plain), multiclass.class_wise(other)
    np.testing.assert_allclose(others.values, values.values[order], rtol=0, atol=1e-15)
    assert values.worst == others.worst
    members = [0, 3, 4]
    assert plain.subset(members) == other.subset([int(np.argsort(order)[m]) for m in members])


def test_a_subset_and_its_complement_are_equally_off():
    label, table = random_forecasts(np.random.default_rng(4), 100, 4)
    forecasts = ClassForecasts.read(label, table)
    first = cal.smooth_calibration_error(forecasts.subset([0, 2]))
    second = cal.smooth_calibration_error(forecasts.subset([1, 3]))
    assert first == pytest.approx(second, abs=1e-12)

"""Redrawn labels of many classes, and what is found on all of them at once, one by one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.data import canonical_order
from calibrant.measures.subsets import best_found
from calibrant.multiclass import (
    ClassForecasts,
    calibration_test,
    projected_smooth_calibration_error,
    redraws,
    verdicts,
)
from calibrant.multiclass.monte_carlo import worst_in_cells
from oracles.class_definitions import random_forecasts


def forecasts(rows, classes, *, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    label, table = random_forecasts(rng, rows, classes)
    weight = rng.exponential(size=rows) if weighted else None
    return ClassForecasts.read(label, table, sample_weight=weight)


def test_labels_are_where_cumulative_probabilities_pass_a_uniform_number(monkeypatch):
    table = np.array([[0.25, 0, 0.75], [0, 1, 0], [0, 0.5, 0.5]])
    drawn_from = ClassForecasts.read([0, 1, 2], table)
    uniform = np.empty((40, 3))
    uniform[:, canonical_order(table)] = np.random.default_rng(3).random((40, 3))
    expected = [
        [next(k for k in range(3) if sum(row[: k + 1]) > u) for row, u in zip(table, us)]  # noqa: B905
        for us in uniform
    ]
    drawn = list(redraws.redraws(drawn_from, 40, np.random.default_rng(3)))
    assert np.array_equal(drawn, expected)
    monkeypatch.setattr(redraws, "NUMBERS_AT_ONCE", 7)
    monkeypatch.setattr(redraws, "FEW_CLASSES", 2)
    again = list(redraws.redraws(drawn_from, 40, np.random.default_rng(3)))
    assert np.array_equal(again, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_searches_side_by_side_find_what_each_finds_alone(weighted):
    drawn_from = forecasts(60, 9, weighted=weighted)
    labels = list(redraws.redraws(drawn_from, 20, np.random.default_rng(1)))
    for label, (members, value) in zip(labels, best_found(drawn_from, labels), strict=True):
        ((alone, same),) = best_found(drawn_from, [label])
        assert np.array_equal(members, alone)
        assert value == same
        joint = drawn_from.relabelled(label).subset(members.tolist())
        assert value == cal.smooth_calibration_error(joint)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_subsets_of_many_redraws_are_those_of_each(weighted):
    drawn_from = forecasts(200, 4, weighted=weighted)
    labels = [drawn_from.label, *redraws.redraws(drawn_from, 5, np.random.default_rng(2))]
    found = worst_in_cells(drawn_from, labels, 2**5)
    for label, value in zip(labels, found, strict=True):
        relabelled_forecasts = drawn_from.relabelled(label)
        expected = projected_smooth_calibration_error(relabelled_forecasts, resolution=2**5)
        assert value == pytest.approx(float(expected), abs=1e-12)
    measure = partial(projected_smooth_calibration_error, resolution=2**5)
    test = calibration_test(drawn_from, measure=measure, draws=5, rng=2)
    assert test.statistic == pytest.approx(found[0], abs=1e-15)
    assert test.null == pytest.approx(np.sort(found[1:]), abs=1e-15)
    assert test.cells == 2**5


@pytest.mark.parametrize("options", [{"search": "some"}, {"seek": "all"}], ids=str)
def test_options_of_a_measure_are_checked_by_its_test(options):
    measure = partial(projected_smooth_calibration_error, **options)
    with pytest.raises((cal.errors.InvalidOptionError, TypeError)):
        calibration_test(forecasts(20, 14), measure=measure, draws=2)


@pytest.mark.parametrize("weighted", [False, True])
def test_pvalues_of_classes_count_redraws_whose_worst_class_surprises_as_much(weighted):
    drawn_from = forecasts(70, 5, weighted=weighted, seed=4)
    labels = [drawn_from.label, *redraws.redraws(drawn_from, 30, np.random.default_rng(5))]
    values = np.array([[surprise_at(drawn_from, label, k) for k in range(5)] for label in labels])
    largest = values[1:].max(axis=1)
    expected = [(1 + (largest >= value * (1 - 1e-9)).sum()) / 31 for value in values[0]]
    found = verdicts.class_pvalues(drawn_from, 30, np.random.default_rng(5))
    assert found.tolist() == pytest.approx(expected)


def surprise_at(drawn_from, label, index):
    """Bennett's exponent of the smooth error in cells."""
    p, mass = drawn_from.probability[:, index], drawn_from.mass
    joint = cal.Joint.from_samples(label == index, p, sample_weight=drawn_from.weight)
    error = float(cal.smooth_calibration_error(joint.rounded(verdicts.CELLS)))
    unit = (mass**2).sum()
    count, variance = error / unit, (mass**2 * p * (1 - p)).sum() / unit**2
    ratio = count / variance
    return variance * ((1 + ratio) * np.log(1 + ratio) - ratio)


def test_a_class_that_cannot_happen_and_does_is_certainly_off():
    rng = np.random.default_rng(6)
    table = np.column_stack([rng.dirichlet(np.ones(3), 300), np.zeros(300)])
    blank = ClassForecasts.read(np.zeros(300, int), table)
    label = next(redraws.redraws(blank, 1, rng))
    label[:3] = 3
    found = verdicts.class_pvalues(blank.relabelled(label), 99, rng)
    assert found[3] == 1 / 100
    assert found[:3].min() > 0.05

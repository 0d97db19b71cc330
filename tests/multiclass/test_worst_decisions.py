"""Suprema over tasks with many classes, against brute force over what tasks can do."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

import calibrant as cal
from calibrant import multiclass
from oracles.class_definitions import random_forecasts, residuals


def levels(label, table):
    """Distinct rows of probabilities, and the mass of each class at each."""
    stated, place = np.unique(table, axis=0, return_inverse=True)
    sums = np.zeros_like(stated)
    np.add.at(sums, (place.ravel(), label), 1 / label.size)
    return stated, sums


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        return function(*arguments, **options)


def separable(stated, side):
    """Whether a hyperplane parts two sets of levels."""
    sign = np.where(side, 1.0, -1.0)[:, np.newaxis]
    found = linprog(
        np.zeros(stated.shape[1]),
        A_ub=-sign * stated,
        b_ub=-np.ones(len(stated)),
        bounds=(None, None),
        method="highs",
    )
    return found.status == 0


@pytest.mark.parametrize("seed", range(4))
def test_two_actions_are_the_best_of_all_partings(seed):
    rng = np.random.default_rng(seed)
    label, table = random_forecasts(rng, 60, 3, ties=True)
    keep = np.unique(table, axis=0)[rng.permutation(len(np.unique(table, axis=0)))[:7]]
    chosen = np.array([any((row == one).all() for one in keep) for row in table])
    label, table = label[chosen], table[chosen]
    stated, sums = levels(label, table)
    bias = sums - sums.sum(axis=1, keepdims=True) * stated
    best = 0.0
    for side in itertools.product([False, True], repeat=len(stated)):
        if separable(stated, np.array(side)):
            parts = bias[np.array(side)].sum(axis=0), bias[~np.array(side)].sum(axis=0)
            best = max(best, sum(np.linalg.norm(part) for part in parts))
    found = multiclass.worst_decision_calibration_error(label, table)
    assert found == pytest.approx(best, abs=1e-9)
    assert found.bounds == (found, found)
    again = multiclass.decision_calibration_error(label, table, task=found.witness.task)
    assert again == pytest.approx(found, abs=1e-12)
    assert found.witness.advantage(multiclass.ClassForecasts.read(label, table)) == pytest.approx(
        found, abs=1e-12
    )


@pytest.mark.parametrize("actions", [2, 3, 4])
def test_two_classes_are_cut_into_intervals(actions):
    rng = np.random.default_rng(actions)
    for _ in range(8):
        label, table = random_forecasts(rng, 40, 2, ties=True)
        stated, place = np.unique(table[:, 1], return_inverse=True)
        off = residuals(label, table)[:, 1] / label.size
        bias = np.bincount(place, off)
        best = max(
            np.abs(np.add.reduceat(bias, [0, *cuts])).sum()
            for size in range(actions)
            for cuts in itertools.combinations(range(1, stated.size), size)
        )
        found = multiclass.worst_decision_calibration_error(label, table, actions=actions)
        assert found == pytest.approx(np.sqrt(2) * best, abs=1e-12)


def test_many_classes_are_bracketed():
    label, table = random_forecasts(np.random.default_rng(0), 200, 5)
    found = multiclass.worst_decision_calibration_error(label, table, actions=3)
    low, high = found.bounds
    assert low == found < high <= np.sqrt(2)
    guess = multiclass.MulticlassDecisionTask([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]])
    assert found >= multiclass.decision_calibration_error(label, table, task=guess) - 1e-12


def menu_programme(stated, sums):
    """The whole linear programme, with every preference."""
    count, classes = stated.shape
    rows = []
    for level in range(count):
        for action in range(2 * count):
            row = np.zeros((2 * count, classes))
            row[action] += stated[level]
            row[level] -= stated[level]
            rows.append(row.ravel())
    cost = np.concatenate([sums.ravel(), -sums.ravel()])
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(0, 1))
    return -found.fun


@pytest.mark.parametrize("seed", range(5))
def test_loss_over_menus_is_the_whole_programme(seed):
    label, table = random_forecasts(np.random.default_rng(seed), 12, 3, ties=True)
    found = quietly(multiclass.calibration_decision_loss, label, table)
    assert found == pytest.approx(menu_programme(*levels(label, table)), abs=1e-7)
    assert found.settings["exact"]
    lost = quietly(
        multiclass.fixed_decision_loss,
        label,
        table,
        task=found.witness.task,
        recalibration="canonical",
    )
    assert lost == pytest.approx(found, abs=1e-6)
    some = multiclass.MulticlassDecisionTask(np.random.default_rng(seed).random((4, 3)))
    below = quietly(
        multiclass.fixed_decision_loss, label, table, task=some, recalibration="canonical"
    )
    assert below <= found + 1e-6


def test_loss_over_menus_of_two_classes_is_the_binary_one():
    rng = np.random.default_rng(7)
    for size in (10, 50):
        label, table = random_forecasts(rng, size, 2, ties=True)
        found = quietly(multiclass.calibration_decision_loss, label, table)
        assert found == pytest.approx(
            float(quietly(cal.calibration_decision_loss, label, table[:, 1])), abs=1e-6
        )


def test_many_levels_are_bracketed():
    label, table = random_forecasts(np.random.default_rng(1), 300, 4)
    with pytest.warns(cal.errors.CalibrantWarning, match="occur once"):
        found = multiclass.calibration_decision_loss(label, table)
    low, high = found.bounds
    assert 0 < low == found < high <= 1
    assert not found.settings["exact"]


def test_parts_of_a_score_add_up():
    rng = np.random.default_rng(3)
    label, table = random_forecasts(rng, 200, 3, ties=True)
    for score in ("brier", "log"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            parts = multiclass.score_decomposition(
                label,
                table.clip(1e-3) / table.clip(1e-3).sum(1, keepdims=True),
                score=score,
                recalibration="canonical",
            )
        total = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert parts.score == pytest.approx(total, abs=1e-12)
        assert parts.miscalibration >= 0
        assert parts.discrimination >= 0
    assert multiclass.score_decomposition(label, table).score == pytest.approx(
        float((residuals(label, table) ** 2).sum(axis=1).mean())
    )
    label, table = random_forecasts(rng, 200, 2)
    both = multiclass.score_decomposition(label, table), cal.score_decomposition(label, table[:, 1])
    assert both[0].miscalibration == pytest.approx(2 * both[1].miscalibration, abs=1e-12)
    assert both[0].uncertainty == pytest.approx(2 * both[1].uncertainty, abs=1e-12)
    with pytest.warns(cal.errors.CalibrantWarning, match="probability 0"):
        endless = multiclass.score_decomposition([0, 1], [[0.0, 1.0], [0.2, 0.8]], score="log")
    assert endless.score == np.inf

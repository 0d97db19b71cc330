"""Suprema over tasks with many classes, against brute force over what tasks can do."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import multiclass
from calibrant.multiclass.menus import _lost, _quadratic
from calibrant.multiclass.worst_decisions import _by_sweeps, _error, _relaxed, _searched
from oracles.class_definitions import random_forecasts, residuals
from oracles.menus_and_partings import (
    draw_levels,
    menu_program,
    worst_grouping,
    worst_line,
    worst_parting,
)


def levels(label, table):
    """Distinct rows of probabilities, and the mass of each class at each."""
    stated, index = np.unique(table, axis=0, return_inverse=True)
    sums = np.zeros_like(stated)
    np.add.at(sums, (index.ravel(), label), 1 / label.size)
    return stated, sums


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        return function(*arguments, **options)


def parting_is_the_worst(kind, seed):
    """Compare two actions for three classes, or for two levels of more, with all hyperplanes."""
    rng = np.random.default_rng(seed)
    classes = 3 if seed % 3 else int(rng.integers(3, 7))
    count = int(rng.integers(1, 7)) if classes == 3 else 2
    stated = draw_levels(rng, kind, count, classes)
    level = np.concatenate([np.arange(len(stated)), rng.integers(len(stated), size=8)])
    label, table = rng.integers(classes, size=level.size), stated[level]
    bias = np.zeros_like(stated)
    np.add.at(bias, level, residuals(label, table) / label.size)
    found = multiclass.worst_decision_calibration_error(label, table, rng=seed)
    assert found == pytest.approx(worst_parting(stated, bias), abs=1e-9)
    assert found.bounds == (found, found)
    assert found.settings["exact"]
    again = multiclass.decision_calibration_error(label, table, task=found.witness.task)
    assert again == pytest.approx(found, abs=1e-12)
    assert found.witness.advantage(multiclass.ClassForecasts.read(label, table)) == pytest.approx(
        found, abs=1e-9
    )


KINDS = ["random", "close", "line", "grid"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_two_actions_are_the_best_of_all_partings(kind, seed):
    parting_is_the_worst(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_two_actions_are_the_best_of_all_partings_in_many_cases(kind):
    for seed in range(100, 600):
        parting_is_the_worst(kind, seed)


@pytest.mark.parametrize("count", [20, 60, 160])
def test_two_actions_for_many_levels_of_three_classes(count):
    rng = np.random.default_rng(count)
    stated = rng.dirichlet(np.ones(3), size=count)
    label = rng.integers(3, size=count)
    bias = residuals(label, stated) / count
    found = multiclass.worst_decision_calibration_error(label, stated)
    assert found == pytest.approx(worst_line(stated, bias), abs=1e-10)
    assert found.settings["exact"]
    again = multiclass.decision_calibration_error(label, stated, task=found.witness.task)
    assert again == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("digits", [1, 2])
def test_two_actions_for_levels_on_a_grid_of_decimals(digits):
    """Many levels lie on common lines: what is certified is what a task can do."""
    rng = np.random.default_rng(digits)
    scale = 10**digits
    for _ in range(5):
        stated = rng.multinomial(scale, np.full(3, 1 / 3), size=300) / scale
        label = rng.integers(3, size=300)
        found = multiclass.worst_decision_calibration_error(label, stated)
        assert found.settings["exact"]
        again = multiclass.decision_calibration_error(label, stated, task=found.witness.task)
        assert again == pytest.approx(found, abs=1e-12)
        for _ in range(200):
            task = multiclass.MulticlassDecisionTask(rng.normal(size=(2, 3)))
            other = multiclass.decision_calibration_error(label, stated, task=task)
            assert other <= found + 1e-12


@pytest.mark.parametrize("count", [20, 100, 400])
def test_the_search_comes_close_to_the_worst_parting(count):
    rng = np.random.default_rng(count)
    for scale in (1.0, 1e-5):
        stated = 1 / 3 + scale * (rng.dirichlet(np.ones(3), size=count) - 1 / 3)
        label = rng.integers(3, size=count)
        bias = residuals(label, stated) / count
        _, most = _by_sweeps(stated, bias)
        found = _error(stated, bias, _searched(stated, bias, 2, rng))
        assert 0.95 * most <= found <= most + 1e-12


@pytest.mark.parametrize("actions", [2, 3])
def test_upper_bound_holds_every_way_to_group_biases(actions):
    """It allows groups that no task leads to, and is never far above the best of them."""
    rng = np.random.default_rng(actions)
    for case in range(60):
        classes, count = int(rng.integers(2, 6)), int(rng.integers(actions, 8))
        bias = rng.normal(size=(count, classes)) * rng.exponential(size=(count, 1))
        if case % 5 == 0:
            bias[0] = 0
        if case % 7 == 0:
            bias[:, -1] = bias[:, 0]  # of lower rank
        best, bound = worst_grouping(bias, actions), _relaxed(bias, actions)
        assert best <= bound
        if actions == 2:  # the program is at most pi / 2 above the best square (Nesterov 1998)
            assert bound <= 1.01 * np.sqrt(1 + np.pi / 2) * best
    assert _relaxed(np.zeros((4, 3)), 2) == 0


def test_upper_bound_of_many_classes_is_far_below_an_action_for_each_row():
    label, table = random_forecasts(np.random.default_rng(2), 400, 50)
    found = multiclass.worst_decision_calibration_error(label, table, classes=list(range(50)))
    low, high = found.bounds
    each = float(np.linalg.norm(residuals(label, table), axis=1).sum()) / 400
    assert low == found < high < each / 3


def test_two_levels_far_less_than_a_random_task_can_part():
    table = np.array([[0.2501, 0.2501, 0.2499, 0.2499], [0.2502, 0.2499, 0.25, 0.2499]])
    for seed in range(3):
        found = multiclass.worst_decision_calibration_error(
            [0, 1, 2, 3], table[[0, 0, 1, 1]], rng=seed
        )
        assert found == pytest.approx(0.49995, abs=1e-6)


def test_levels_that_floats_cannot_part_are_bracketed():
    near = np.array([[0.25, 0.25, 0.25, 0.25], [0.25 + 1e-15, 0.25 - 1e-15, 0.25, 0.25]])
    found = multiclass.worst_decision_calibration_error([0, 1, 2, 3], near[[0, 0, 1, 1]])
    low, high = found.bounds
    assert low == found < high == pytest.approx(0.5)
    assert not found.settings["exact"]


def test_as_many_actions_as_levels_take_each_for_itself():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-3, 1e-6):
        stated = np.full(5, 0.2) + scale * (rng.dirichlet(np.ones(5), 4) - 0.2)
        label = rng.integers(5, size=40)
        level = rng.integers(4, size=40)
        bias = np.zeros_like(stated)
        np.add.at(bias, level, residuals(label, stated[level]) / label.size)
        found = multiclass.worst_decision_calibration_error(label, stated[level], actions=4)
        assert found == pytest.approx(float(np.linalg.norm(bias, axis=1).sum()))
        assert found.settings["exact"]


@pytest.mark.parametrize("actions", [2, 3, 4])
def test_two_classes_are_cut_into_intervals(actions):
    rng = np.random.default_rng(actions)
    for _ in range(8):
        label, table = random_forecasts(rng, 40, 2, ties=True)
        stated, index = np.unique(table[:, 1], return_inverse=True)
        off = residuals(label, table)[:, 1] / label.size
        bias = np.bincount(index, off)
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


def named_losses(label, table):
    """Losses of guessing, of the quadratic score and of the worst task about each class."""
    stated, sums = levels(label, table)
    mass = sums.sum(axis=1, keepdims=True)
    classes = list(range(table.shape[1]))
    yield float((mass * (sums / mass - stated) ** 2).sum()) / 2
    guess = multiclass.MulticlassDecisionTask.guess(classes)
    for ties in ("worst", "first"):
        yield quietly(
            multiclass.fixed_decision_loss,
            label,
            table,
            task=guess,
            ties=ties,
            recalibration="canonical",
            classes=classes,
        )
    for index in classes:
        yield quietly(cal.calibration_decision_loss, label == index, table[:, index])


def loss_is_that_of_the_program(kind, seed):
    """Compare the loss with the whole program, with tasks and with what its witness loses."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(3, 6))
    stated = draw_levels(rng, kind, int(rng.integers(1, 6)), classes)
    level = np.concatenate([np.arange(len(stated)), rng.integers(len(stated), size=8)])
    label, table = rng.integers(classes, size=level.size), stated[level]
    sums = np.zeros_like(stated)
    np.add.at(sums, (level, label), 1 / label.size)
    found = quietly(
        multiclass.calibration_decision_loss, label, table, classes=list(range(classes))
    )
    true = menu_program(stated, sums)
    low, high = found.bounds
    assert low - 1e-7 <= true <= high + 1e-7
    # Payoffs in floats cannot follow preferences of levels that are very close.
    assert found == pytest.approx(true, abs=1e-6 if kind in {"random", "grid"} else 1e-3)
    if found.settings["exact"]:
        assert found == pytest.approx(true, abs=2e-6)
    lost = quietly(
        multiclass.fixed_decision_loss,
        label,
        table,
        task=found.witness.task,
        recalibration="canonical",
    )
    assert lost >= low - 1e-9
    assert lost <= true + 1e-6
    assert all(one <= found + 1e-9 for one in named_losses(label, table))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_loss_over_menus_is_the_whole_program(kind, seed):
    loss_is_that_of_the_program(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_loss_over_menus_is_the_whole_program_in_many_cases(kind):
    for seed in range(100, 600):
        loss_is_that_of_the_program(kind, seed)


@pytest.mark.parametrize(("size", "classes"), [(300, 200), (400, 10), (200, 5), (1500, 3)])
def test_loss_over_menus_is_never_below_tasks_that_have_a_name(size, classes):
    for ties in (False, True):
        label, table = random_forecasts(np.random.default_rng(size), size, classes, ties=ties)
        found = quietly(
            multiclass.calibration_decision_loss, label, table, classes=list(range(classes))
        )
        assert all(one <= found + 1e-12 for one in named_losses(label, table))


def test_menu_of_the_quadratic_score_loses_half_of_the_squared_distance():
    stated, sums = levels(*random_forecasts(np.random.default_rng(0), 200, 4, ties=True))
    menu, loss = _quadratic(stated, sums)
    assert _lost(menu, stated, sums) == pytest.approx(loss, abs=1e-12)
    assert menu.min() >= 0
    assert menu.max() <= 1


def test_loss_over_menus_of_two_classes_is_the_binary_one():
    rng = np.random.default_rng(7)
    for size, ties in ((10, True), (50, True), (200, False), (1000, False)):
        label, table = random_forecasts(rng, size, 2, ties=ties)
        found = quietly(multiclass.calibration_decision_loss, label, table)
        binary = quietly(cal.calibration_decision_loss, label, table[:, 1])
        assert found == pytest.approx(float(binary), abs=1e-12)
        assert found.bounds == (found, found)
        assert found.settings["exact"]
        lost = quietly(
            multiclass.fixed_decision_loss,
            label,
            table,
            task=found.witness.task,
            recalibration="canonical",
        )
        assert lost == pytest.approx(float(found), abs=1e-9)


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

"""Projected smooth error against every subset, one by one."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.measures import subsets as searching
from calibrant.multiclass import ClassForecasts, projected_smooth_calibration_error
from oracles.class_definitions import (
    draw_labels,
    projected_smooth_error,
    random_forecasts,
)


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
@pytest.mark.parametrize("ties", [False, True])
def test_exact_value_is_that_of_the_worst_subset(classes, ties):
    for seed in range(6):
        label, table = random_forecasts(np.random.default_rng(seed), 50, classes, ties=ties)
        error = projected_smooth_calibration_error(label, table)
        assert error == pytest.approx(projected_smooth_error(label, table), abs=1e-10)
        joint = ClassForecasts.read(label, table).subset(error.witness.classes)
        assert error == cal.smooth_calibration_error(joint)
        assert error.witness.advantage(joint) == pytest.approx(float(error), abs=1e-12)


def test_bounds_from_cells_do_not_change_the_answer(monkeypatch):
    label, table = random_forecasts(np.random.default_rng(7), 400, 5)
    exact = projected_smooth_error(label, table)
    monkeypatch.setattr(searching, "CELLS", 2**5)
    for threads in (1, 2, 3):
        error = projected_smooth_calibration_error(label, table, threads=threads)
        assert error == pytest.approx(exact, abs=1e-10)
        assert error.bounds == (error, error)


def test_rounded_value_keeps_its_promise():
    label, table = random_forecasts(np.random.default_rng(8), 300, 4)
    exact = projected_smooth_error(label, table)
    for resolution in (2**4, 2**7, 2**10):
        rounded = projected_smooth_calibration_error(label, table, resolution=resolution)
        low, high = rounded.bounds
        assert low <= exact <= high
        assert high - low <= 1 / resolution
        assert rounded.settings["cells"] == resolution


def test_two_classes_give_the_binary_smooth_error():
    label, table = random_forecasts(np.random.default_rng(9), 70, 2)
    error = projected_smooth_calibration_error(label, table)
    assert error == cal.smooth_calibration_error(label, table[:, 1])
    assert error.witness.classes == (1,)


def test_a_search_finds_no_more_than_there_is_and_most_of_it():
    shares = []
    for seed in range(20):
        label, table = random_forecasts(np.random.default_rng(seed), 60, 7)
        all_of_them = projected_smooth_calibration_error(label, table)
        found = projected_smooth_calibration_error(label, table, search="greedy", floor_draws=0)
        assert found <= all_of_them + 1e-12
        assert found.bounds == (found, 1.0)
        assert "noise_floor" not in found.settings
        shares.append(found / all_of_them)
    assert np.median(shares) > 0.95
    assert min(shares) > 0.7


def test_a_search_names_a_planted_subset_and_its_noise_floor():
    rng = np.random.default_rng(10)
    table = rng.dirichlet(np.ones(30), size=2000)
    planted = np.arange(0, 30, 3)
    lifted = table.copy()
    lifted[:, planted] *= 2
    label = draw_labels(rng, lifted / lifted.sum(axis=1, keepdims=True))
    error = projected_smooth_calibration_error(label, table)
    assert set(error.witness.classes) == set(planted.tolist())
    assert 0 < error.settings["noise_floor"] < error / 2
    calibrated = projected_smooth_calibration_error(draw_labels(rng, table), table)
    assert calibrated < 2 * calibrated.settings["noise_floor"]


def test_order_of_classes_does_not_matter():
    rng = np.random.default_rng(11)
    label, table = random_forecasts(rng, 80, 5)
    order = rng.permutation(5)
    error = projected_smooth_calibration_error(label, table)
    other = projected_smooth_calibration_error(np.argsort(order)[label], table[:, order])
    assert other == pytest.approx(float(error), abs=1e-12)
    assert {int(order[index]) for index in other.witness.classes} in (
        set(error.witness.classes),
        set(range(5)) - set(error.witness.classes),
    )


def test_every_class_is_off_by_at_most_the_value():
    label, table = random_forecasts(np.random.default_rng(12), 90, 5)
    error = projected_smooth_calibration_error(label, table)
    assert cal.multiclass.class_wise(label, table).worst <= error + 1e-12


@pytest.mark.parametrize(
    "options", [{"search": "some"}, {"threads": 0}, {"resolution": 100}], ids=str
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(cal.errors.InvalidOptionError):
        projected_smooth_calibration_error([0, 1], [[0.5, 0.5], [0.5, 0.5]], **options)


def test_too_many_classes_for_all_subsets_are_refused():
    with pytest.raises(cal.errors.InvalidOptionError, match="greedy"):
        projected_smooth_calibration_error([0], np.full((1, 25), 1 / 25), search="all")

"""Decisions and polynomial tests on forecasts of classes, against loops over the definition."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidOptionError
from calibrant.multiclass import (
    ClassForecasts,
    MulticlassDecisionTask,
    canonical_calibration_error,
    decision_calibration_error,
    fixed_decision_loss,
    low_degree_calibration_error,
    promised_and_received,
)
from oracles.class_definitions import kernel_square, random_forecasts, residuals


def random_task(rng, classes, actions=4):
    return MulticlassDecisionTask(rng.normal(size=(actions, classes)))


def responses(task, table):
    """The first best action of each row, one by one."""
    return np.array([int(np.argmax([row @ u for u in task.payoffs])) for row in table])


@pytest.mark.parametrize("ties", [False, True])
def test_decision_calibration_is_the_bias_by_action(ties):
    rng = np.random.default_rng(0)
    for _ in range(5):
        label, table = random_forecasts(rng, 40, 4, ties=ties)
        task, weight = random_task(rng, 4), rng.integers(1, 4, 40)
        action, off = responses(task, table), residuals(label, table)
        expected = sum(
            np.linalg.norm((weight[:, None] * off)[action == a].sum(axis=0)) / weight.sum()
            for a in range(4)
        )
        error = decision_calibration_error(label, table, task=task, sample_weight=weight)
        assert error == pytest.approx(expected, abs=1e-12)
        forecasts = ClassForecasts.read(label, table, sample_weight=weight)
        assert error.witness.advantage(forecasts) == pytest.approx(float(error), abs=1e-12)
        assert "is best" in error.witness.sentence


def test_decision_calibration_bounds_broken_promises():
    """|promised - received| is at most the error times the longest row of payoffs."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        label, table = random_forecasts(rng, 30, 3)
        task = random_task(rng, 3)
        kept = promised_and_received(label, table, task=task, ties="first")
        longest = np.linalg.norm(task.payoffs, axis=1).max()
        error = decision_calibration_error(label, table, task=task)
        assert abs(kept.shortfall) <= error * longest + 1e-12


def test_decision_calibration_of_two_classes_is_the_bias_beside_a_threshold():
    label, table = random_forecasts(np.random.default_rng(2), 60, 2)
    task = MulticlassDecisionTask([[0.0, 0.0], [-0.3, 0.7]])
    act = table[:, 1] > 0.3
    bias = [abs((label - table[:, 1])[part].sum()) / 60 for part in (act, ~act)]
    error = decision_calibration_error(label, table, task=task)
    assert error == pytest.approx(np.sqrt(2) * sum(bias), abs=1e-12)


@pytest.mark.parametrize("ties", ["worst", "best", "first", "last"])
@pytest.mark.parametrize("tied", [False, True])
def test_two_classes_give_the_binary_loss(ties, tied):
    rng = np.random.default_rng(3)
    for _ in range(8):
        label, table = random_forecasts(rng, 50, 2, ties=tied)
        payoffs = np.round(rng.normal(size=(3, 2)) * 8) / 8
        if len({tuple(row) for row in payoffs}) < 3:
            continue
        binary, many = cal.DecisionTask(payoffs), MulticlassDecisionTask(payoffs)
        for recalibration, pooling in (("canonical", "levels"), ("class_wise", "isotonic")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
                expected = cal.fixed_decision_loss(
                    label, table[:, 1], task=binary, ties=ties, pooling=pooling
                )
            found = fixed_decision_loss(
                label, table, task=many, ties=ties, recalibration=recalibration
            )
            assert found == pytest.approx(float(expected), abs=1e-12)
        kept = promised_and_received(label, table, task=many, ties=ties)
        both = cal.promised_and_received(label, table[:, 1], task=binary, ties=ties)
        assert kept.promised == pytest.approx(both.promised, abs=1e-12)
        assert kept.received == pytest.approx(both.received, abs=1e-12)


def test_canonical_loss_is_the_best_map_from_rows_to_actions():
    rng = np.random.default_rng(4)
    table = np.repeat([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], 6, axis=0)
    label = rng.integers(0, 3, 12)
    task = random_task(rng, 3, 3)
    received = task.payoffs[responses(task, table), label].mean()
    best = max(
        (task.payoffs[a, label[:6]].sum() + task.payoffs[b, label[6:]].sum()) / 12
        for a, b in itertools.product(range(3), repeat=2)
    )
    loss = fixed_decision_loss(label, table, task=task, recalibration="canonical")
    assert loss == pytest.approx(best - received, abs=1e-12)
    assert loss.settings["normalised"] == pytest.approx(float(loss) / task.range)


def test_recalibrating_calibrated_rows_brings_nothing():
    table = np.array([[0.5, 0.25, 0.25]] * 4 + [[0.0, 0.5, 0.5]] * 2)
    label = np.array([0, 0, 1, 2, 1, 2])
    task = random_task(np.random.default_rng(5), 3)
    for recalibration in ("class_wise", "top_label", "canonical"):
        loss = fixed_decision_loss(label, table, task=task, recalibration=recalibration)
        assert loss == pytest.approx(0, abs=1e-12)


def test_top_label_recalibration_moves_confidence_alone():
    """Two thirds of the guesses are right where .9 was claimed: better to abstain."""
    table, label = np.array([[0.9, 0.06, 0.04]] * 6), np.array([0, 0, 0, 0, 1, 2])
    task = MulticlassDecisionTask({"guess 0": {0: 1, 1: -3, 2: -3}, "abstain": {0: 0, 1: 0, 2: 0}})
    loss = fixed_decision_loss(label, table, task=task, recalibration="top_label")
    assert loss == pytest.approx(1 / 3, abs=1e-12)


def test_payoffs_follow_the_names_of_the_classes():
    label, table = random_forecasts(np.random.default_rng(6), 30, 3)
    names = ["a", "b", "c"]
    plain = MulticlassDecisionTask([[1, 0, 0], [0, 2, 0], [0, 0, 3]])
    named = MulticlassDecisionTask(
        {
            "x": {"c": 0, "a": 1, "b": 0},
            "y": {"c": 0, "a": 0, "b": 2},
            "z": {"c": 3, "a": 0, "b": 0},
        }
    )
    assert decision_calibration_error(
        label, table, classes=names, task=named
    ) == decision_calibration_error(label, table, classes=names, task=plain)
    with pytest.raises(InvalidOptionError, match="just the classes"):
        decision_calibration_error(label, table, task=named)
    with pytest.raises(InvalidOptionError, match="one payoff per class"):
        decision_calibration_error(label, table, task=MulticlassDecisionTask(np.eye(4)))


@pytest.mark.parametrize(
    ("payoffs", "options"),
    [
        ({"a": {"x": 1, "y": 2}, "b": {"x": 1}}, {}),
        ({"a": [1, 2], "b": [2, 1]}, {}),
        ({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}, {"actions": ["a", "b"]}),
        ([[1, 2, 3]], {}),
        ([[1, 2], [3, "much"]], {}),
        ([[1, 2], [3, 4]], {"actions": ["a"]}),
        ([[1, 2], [3, 4]], {"actions": ["a", "a"]}),
        ([[1, 2], [3, 4]], {"classes": ["a"]}),
        ([1, 2], {}),
    ],
    ids=str,
)
def test_payoffs_that_mean_nothing_are_refused(payoffs, options):
    with pytest.raises(InvalidOptionError):
        MulticlassDecisionTask(payoffs, **options)


def test_options_that_mean_nothing_are_refused():
    label, table = random_forecasts(np.random.default_rng(7), 10, 3)
    task = MulticlassDecisionTask.guess([0, 1, 2])
    with pytest.raises(InvalidOptionError, match="recalibration"):
        fixed_decision_loss(label, table, task=task, recalibration="platt")
    with pytest.raises(InvalidOptionError, match="ties"):
        fixed_decision_loss(label, table, task=task, ties="random")
    with pytest.raises(InvalidOptionError, match="one probability per class"):
        task.best_response([0.5, 0.5])
    for options in (
        {"degree": -1},
        {"norm": "sup"},
        {"degree": 33},
        {"degree": 1025, "norm": "l2"},
    ):
        with pytest.raises(InvalidOptionError):
            low_degree_calibration_error(label, table, **options)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_polynomial_errors_are_sums_over_monomials_and_pairs(degree):
    rng = np.random.default_rng(8)
    label, table = random_forecasts(rng, 20, 3)
    off = residuals(label, table)
    powers = [a for a in itertools.product(range(degree + 1), repeat=3) if sum(a) <= degree]
    biases = [np.mean(np.prod(table**a, axis=1)[:, None] * off, axis=0) for a in powers]
    plain = low_degree_calibration_error(label, table, degree=degree)
    assert plain == pytest.approx(np.abs(biases).max(), abs=1e-12)
    forecasts = ClassForecasts.read(label, table)
    assert plain.witness.advantage(forecasts) == pytest.approx(float(plain), abs=1e-12)

    def multinomial(p, q):
        return sum(float(p @ q) ** j for j in range(degree + 1))

    square = 2 * kernel_square(label, table, multinomial)
    for rows in (slice(None), slice(0, 4)):  # by monomials, and by pairs where those are fewer
        square = 2 * kernel_square(label[rows], table[rows], multinomial)
        error = low_degree_calibration_error(label[rows], table[rows], degree=degree, norm="l2")
        assert error**2 == pytest.approx(square, abs=1e-12)
    canonical = canonical_calibration_error(label, table, kernel="multinomial", degree=degree)
    whole = low_degree_calibration_error(label, table, degree=degree, norm="l2")
    assert whole == pytest.approx(np.sqrt(2) * canonical, abs=1e-12)


@pytest.mark.parametrize("degree", [2, 5, 1024])
def test_polynomials_of_a_thousand_classes_by_pairs(degree):
    """Powers of inner products add up to (1 - x^(d + 1)) / (1 - x)."""
    rng = np.random.default_rng(degree)
    table = rng.dirichlet(np.full(1000, 0.01), size=30)
    label = (table.cumsum(axis=1) < rng.random((30, 1))).sum(axis=1).clip(0, 999)

    def multinomial(p, q):
        return (1 - float(p @ q) ** (degree + 1)) / (1 - float(p @ q))

    options = {"degree": degree, "classes": list(range(1000))}
    error = low_degree_calibration_error(label, table, norm="l2", **options)
    square = 2 * kernel_square(label, table, multinomial)
    assert error**2 == pytest.approx(square, abs=1e-12)
    assert "class" in error.witness.sentence
    if degree <= 32:
        with pytest.raises(InvalidOptionError, match="norm='l2'"):
            low_degree_calibration_error(label, table, **options)


def test_polynomials_of_two_classes_see_at_least_what_binary_ones_see():
    label, table = random_forecasts(np.random.default_rng(9), 40, 2)
    for degree in (0, 1, 3):
        many = low_degree_calibration_error(label, table, degree=degree)
        two = cal.low_degree_calibration_error(label, table[:, 1], degree=degree, norm="l1")
        assert many >= two - 1e-12
    assert low_degree_calibration_error(label, table, degree=0) == pytest.approx(
        abs(np.mean(label - table[:, 1])), abs=1e-12
    )

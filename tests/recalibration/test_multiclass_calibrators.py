"""Calibrators of class probabilities: what they minimise, what they keep, how they are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.multiclass import ClassForecasts
from calibrant.recalibration import (
    MULTICLASS_CALIBRATORS,
    Calibrator,
    DirichletCalibration,
    Identity,
    OneVsRestIsotonicCalibration,
    TemperatureScaling,
    VectorScaling,
    recalibrate,
)
from calibrant.recalibration.class_forms import onto_simplex
from oracles.class_definitions import draw_labels, random_forecasts


def log_loss(label, table):
    return -np.mean(np.log(table[np.arange(label.size), label]))


def powered(table, power):
    return table**power / (table**power).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", MULTICLASS_CALIBRATORS.values())
def test_maps_give_distributions_for_any_rows(kind):
    rng = np.random.default_rng(0)
    label, table = random_forecasts(rng, 120, 4)
    fitted = kind().fit(table, label, rng.random(120))
    edge = np.array([[1, 0, 0, 0], [0, 0, 0.5, 0.5], [0.25] * 4, [1e-300, 0, 0, 1]])
    for rows in (table, edge):
        recalibrated = fitted.transform(rows)
        assert recalibrated.shape == rows.shape
        np.testing.assert_allclose(recalibrated.sum(axis=1), 1, atol=1e-12)
        assert recalibrated.min() >= 0
    assert fitted.sentence
    assert isinstance(type(fitted)(**fitted.get_params()), Calibrator)
    with pytest.raises(InvalidForecastsError, match="fitted to"):
        fitted.transform(np.full((2, 3), 1 / 3))
    with pytest.raises(InvalidOptionError, match="fitted first"):
        kind().transform(table)


@pytest.mark.parametrize("power", [0.3, 1.0, 2.5])
def test_temperature_minimises_the_log_loss(power):
    rng = np.random.default_rng(1)
    true = rng.dirichlet(np.ones(4), 800)
    label, table = draw_labels(rng, true), powered(true, power)
    fitted = TemperatureScaling().fit(table, label)
    slopes = np.exp(np.linspace(-2, 2, 401)) / fitted.temperature_
    losses = [log_loss(label, powered(table, slope)) for slope in slopes]
    assert log_loss(label, fitted.transform(table)) <= min(losses) + 1e-12
    assert fitted.temperature_ == pytest.approx(power, rel=0.15)
    np.testing.assert_array_equal(fitted.transform(table).argmax(axis=1), table.argmax(axis=1))


def test_temperature_stays_finite_where_every_guess_is_right():
    fitted = TemperatureScaling().fit([[0.6, 0.3, 0.1]] * 5, [0] * 5)
    assert fitted.temperature_ == pytest.approx(0.01)
    assert TemperatureScaling().fit([[0.6, 0.3, 0.1]] * 5, [2] * 5).temperature_ == pytest.approx(
        100
    )
    assert TemperatureScaling().fit([[1 / 3] * 3] * 5, [2] * 5).temperature_ == 1


def test_vector_scaling_and_dirichlet_minimise_what_they_say():
    rng = np.random.default_rng(2)
    label, table = random_forecasts(rng, 150, 3)
    score, penalty = np.log(table), 0.05

    def softmax(z):
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)

    def by_factors(x):
        change = penalty * (np.mean((x[:3] - 1) ** 2) + np.mean(x[3:] ** 2))
        return log_loss(label, softmax(score * x[:3] + x[3:])) + change

    def by_matrix(x):
        matrix = x[:9].reshape(3, 3)
        change = penalty * (np.mean((matrix - np.eye(3)) ** 2) + np.mean(x[9:] ** 2))
        return log_loss(label, softmax(score @ matrix + x[9:])) + change

    vector = VectorScaling(penalty).fit(table, label)
    found = minimize(by_factors, np.append(np.ones(3), np.zeros(3)), tol=1e-12)
    np.testing.assert_allclose(np.append(vector.factor_, vector.shift_), found.x, atol=1e-4)
    matrix = DirichletCalibration(penalty).fit(table, label)
    found = minimize(by_matrix, np.append(np.eye(3).ravel(), np.zeros(3)), tol=1e-12)
    fitted = np.append(matrix.weight_.ravel(), matrix.shift_)
    np.testing.assert_allclose(fitted, found.x, atol=1e-4)


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    label, table = random_forecasts(rng, 60, 3)
    weight = rng.integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    for kind in (TemperatureScaling, VectorScaling, DirichletCalibration):
        weighted = kind().fit(table, label, weight).transform(table)
        repeated = kind().fit(table[rows], label[rows]).transform(table)
        np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_isotonic_of_two_classes_is_isotonic():
    label, table = random_forecasts(np.random.default_rng(4), 200, 2)
    recalibrated = OneVsRestIsotonicCalibration().fit(table, label).transform(table)
    pools = cal.binning.isotonic(cal.Joint.from_samples(label, table[:, 1]))
    expected = pools.joint.outcome[pools.pool_of(table[:, 1])]
    inside = (expected > 0.01) & (expected < 0.99)
    np.testing.assert_allclose(recalibrated[inside, 1], expected[inside], atol=1e-12)
    assert recalibrated.min() > 0


def test_nearest_point_of_the_simplex():
    """Against a quadratic programme: the first-order conditions of the projection."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(200, 5))
    nearest = onto_simplex(table)
    np.testing.assert_allclose(nearest.sum(axis=1), 1, atol=1e-12)
    assert nearest.min() >= 0
    gap = table - nearest  # one multiplier on the support, at most that elsewhere
    multiplier = np.where(nearest > 0, gap, -np.inf).max(axis=1, keepdims=True)
    assert np.all(
        np.where(nearest > 0, np.abs(gap - multiplier) < 1e-12, gap <= multiplier + 1e-12)
    )
    np.testing.assert_allclose(onto_simplex(nearest), nearest, atol=1e-12)


def test_choice_repairs_what_is_off_and_leaves_the_rest_alone():
    rng = np.random.default_rng(6)
    left = 0
    methods = ["temperature", "vector", "one_vs_rest_isotonic"]
    for seed in range(8):
        true = rng.dirichlet(np.ones(3), 400)
        label = draw_labels(rng, true)
        left += recalibrate(label, true, methods=methods, rng=seed).unchanged
        sharp = powered(true, 3)
        choice = recalibrate(label, sharp, methods=methods, rng=seed)
        assert not choice.unchanged
        assert choice.after.log_loss < choice.before.log_loss
        assert choice.after.brier < choice.before.brier
        assert choice.gain.value == pytest.approx(choice.before.log_loss - choice.after.log_loss)
        assert sum(choice.table["chosen"]) == 1
    assert left >= 6


def test_choice_of_a_single_class_shift():
    rng = np.random.default_rng(7)
    true = rng.dirichlet(np.ones(4), 1500)
    label = draw_labels(rng, true)
    shifted = true * [5, 1, 1, 1]
    shifted /= shifted.sum(axis=1, keepdims=True)
    choice = recalibrate(label, shifted, rng=0, score="brier")
    assert choice.calibrator.method == "multiclass_prior"
    assert choice.calibrator.shift_.argmin() == 0
    assert "Brier" in str(choice)


def test_clusters_stay_together():
    rng = np.random.default_rng(8)
    table = np.repeat(rng.dirichlet(np.ones(3), 40), 10, axis=0)
    label = np.repeat(rng.integers(0, 3, 40), 10)  # ten copies of each label
    cluster = np.repeat([f"patient {i}" for i in range(40)], 10)
    careful = recalibrate(
        label, table, clusters=cluster, methods=[OneVsRestIsotonicCalibration()], rng=0
    )
    naive = recalibrate(label, table, methods=["one_vs_rest_isotonic"], rng=0)
    assert naive.table["score"][1] < careful.table["score"][1]
    widths = [c.table["gain_high"][1] - c.table["gain_low"][1] for c in (careful, naive)]
    assert widths[0] > 1.5 * widths[1]


def test_choice_refuses_what_means_nothing():
    label, table = random_forecasts(np.random.default_rng(9), 20, 3)
    for options in ({"methods": ["platt"]}, {"score": "auc"}, {"folds": 1}):
        with pytest.raises(InvalidOptionError):
            recalibrate(label, table, **options)
    with pytest.raises(InvalidForecastsError):
        recalibrate(label, table, clusters=[1, 2])
    with pytest.raises(InvalidOptionError, match="penalty"):
        VectorScaling(penalty=0).fit(table, label)
    with pytest.raises(InvalidOptionError, match="at most 50"):
        DirichletCalibration().fit(np.full((1, 51), 1 / 51), [0])
    forecasts = ClassForecasts.read(label, table)
    np.testing.assert_array_equal(Identity().fit(forecasts).transform(forecasts), table)
    assert TemperatureScaling().fit_transform(table, label).shape == table.shape
    with pytest.raises(InvalidOptionError, match="has the parameters penalty"):
        DirichletCalibration().set_params(shape=1)
    assert (
        repr(DirichletCalibration().set_params(penalty=0.5)) == "DirichletCalibration(penalty=0.5)"
    )

"""Canonical kernel error against sums over all pairs of rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.multiclass import (
    ClassForecasts,
    calibration_test,
    canonical_calibration_error,
    monte_carlo as testing,
    projected_smooth_calibration_error,
    rkhs as pairing,
)
from oracles.class_definitions import (
    draw_labels,
    kernel_square,
    kernel_square_without_own_pairs,
    random_forecasts,
)


def laplace(p, q, bandwidth=1.0):
    return np.exp(-0.5 * np.abs(p - q).sum() / bandwidth)


def multinomial(p, q, degree=3):
    return sum(float(p @ q) ** j for j in range(degree + 1))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ({}, laplace),
        ({"bandwidth": 0.2}, partial(laplace, bandwidth=0.2)),
        ({"kernel": "multinomial"}, multinomial),
        ({"kernel": "multinomial", "degree": 1}, partial(multinomial, degree=1)),
    ],
    ids=["laplace", "narrow", "cubic", "linear"],
)
def test_value_is_the_sum_over_pairs(options, kernel, ties, monkeypatch):
    monkeypatch.setattr(pairing, "NUMBERS_AT_ONCE", 200)  # several blocks
    rng = np.random.default_rng(0)
    label, table = random_forecasts(rng, 30, 4, ties=ties)
    weight = rng.integers(1, 4, 30).astype(float)
    square = kernel_square(label, table, kernel, weight)
    error = canonical_calibration_error(label, table, sample_weight=weight, **options)
    assert error**2 == pytest.approx(square, abs=1e-12)
    unbiased = canonical_calibration_error(label, table, unbiased=True, **options)
    expected = kernel_square_without_own_pairs(label, table, kernel)
    assert unbiased == pytest.approx(expected, abs=1e-12)


def test_the_square_is_the_square():
    label, table = random_forecasts(np.random.default_rng(8), 40, 3)
    forecasts = ClassForecasts.read(label, table)
    for options in ({}, {"kernel": "multinomial"}, {"method": "features", "features": 64}):
        root = canonical_calibration_error(forecasts, **options)
        square = canonical_calibration_error(forecasts, squared=True, **options)
        assert square == pytest.approx(root**2, abs=1e-15)
        assert square.bounds == pytest.approx([end**2 for end in root.bounds], abs=1e-15)
        assert square.settings["squared"]
        if "method" not in options:
            assert square.witness.advantage(forecasts) == pytest.approx(float(square), abs=1e-12)
    two = cal.kernel_calibration_error(label == 0, table[:, 0], squared=True)
    pair = np.column_stack([1 - table[:, 0], table[:, 0]])
    many = canonical_calibration_error((label == 0).astype(int), pair, squared=True)
    assert many == pytest.approx(float(two), abs=1e-12)


def test_two_classes_give_the_binary_kernel_error():
    label, table = random_forecasts(np.random.default_rng(1), 50, 2)
    for bandwidth in (0.4, 1.0):
        for unbiased in (False, True):
            many = canonical_calibration_error(label, table, bandwidth=bandwidth, unbiased=unbiased)
            two = cal.kernel_calibration_error(
                label, table[:, 1], bandwidth=bandwidth, unbiased=unbiased
            )
            assert many == pytest.approx(float(two), abs=1e-12)


def test_the_witness_attains_the_value():
    label, table = random_forecasts(np.random.default_rng(2), 40, 3)
    for kernel in ("laplace", "multinomial"):
        error = canonical_calibration_error(label, table, kernel=kernel)
        forecasts = ClassForecasts.read(label, table)
        assert error.witness.advantage(forecasts) == pytest.approx(float(error), abs=1e-12)
        assert error.witness(table).shape == table.shape
        assert "class" in error.witness.sentence


def test_the_estimate_without_own_pairs_is_unbiased():
    """Its mean over redrawn labels is zero; the plug-in's is the mean own pair over the rows."""
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.ones(4), size=25)
    unbiased, plug_in = [], []
    for _ in range(1500):
        label = (table.cumsum(axis=1) < rng.random((25, 1))).sum(axis=1)
        unbiased.append(canonical_calibration_error(label, table, unbiased=True))
        plug_in.append(canonical_calibration_error(label, table) ** 2)
    error = np.std(unbiased) / np.sqrt(len(unbiased))
    assert abs(np.mean(unbiased)) < 4 * error
    expected = (1 - (table**2).sum(axis=1)).mean() / 2 / 25
    assert np.mean(plug_in) == pytest.approx(expected, rel=0.1)


def test_features_come_close_and_say_how_close():
    label, table = random_forecasts(np.random.default_rng(4), 200, 5)
    exact = canonical_calibration_error(label, table, bandwidth=0.5)
    far = []
    for seed in range(30):
        error = canonical_calibration_error(
            label, table, bandwidth=0.5, method="features", features=512, rng=seed
        )
        low, high = error.bounds
        assert low <= exact <= high
        far.append((error**2 - exact**2) / error.settings["feature_error"])
    # Standard errors that are honest have standardised errors of about one.
    assert 0.6 < np.sqrt(np.mean(np.square(far))) < 1.5
    assert abs(np.mean(far)) < 0.8


def test_order_of_classes_and_rows_does_not_matter():
    rng = np.random.default_rng(5)
    label, table = random_forecasts(rng, 60, 5)
    order, rows = rng.permutation(5), rng.permutation(60)
    for kernel in ("laplace", "multinomial"):
        error = canonical_calibration_error(label, table, kernel=kernel)
        other = canonical_calibration_error(
            np.argsort(order)[label][rows], table[rows][:, order], kernel=kernel
        )
        assert other == pytest.approx(float(error), abs=1e-12)


def test_scores_of_the_test_are_those_of_the_measure(monkeypatch):
    label, table = random_forecasts(np.random.default_rng(6), 80, 3)
    exact = canonical_calibration_error(label, table)
    assert calibration_test(label, table, draws=9, rng=0).statistic == pytest.approx(exact)
    monkeypatch.setattr(testing, "MOST_PAIRED", 10)
    monkeypatch.setattr(testing, "MOST_FEATURES", 2**14)
    monkeypatch.setattr(testing, "FEATURE_NUMBERS", 2**30)
    rough = calibration_test(label, table, draws=9, rng=0)
    assert rough.statistic == pytest.approx(exact, rel=0.05)
    for options in ({"kernel": "multinomial"}, {"unbiased": True}):
        measure = partial(canonical_calibration_error, **options)
        assert calibration_test(label, table, measure=measure, draws=2).statistic == measure(
            label, table
        )


@pytest.mark.parametrize(
    "measure",
    [
        canonical_calibration_error,
        projected_smooth_calibration_error,
        partial(projected_smooth_calibration_error, search="greedy"),
        lambda forecasts: cal.smooth_calibration_error(forecasts.top_label()),
    ],
    ids=["canonical", "projected", "searched", "top label"],
)
def test_noise_is_not_an_error_and_an_error_is_not_noise(measure):
    rng = np.random.default_rng(7)
    table = rng.dirichlet(np.ones(4), size=300)
    fair = [
        calibration_test(draw_labels(rng, table), table, measure=measure, draws=19, rng=seed)
        for seed in range(15)
    ]
    assert 0.2 < np.median([test.pvalue for test in fair]) < 0.8
    half = np.where(rng.random(300) < 0.5, 0, draw_labels(rng, table))
    off = calibration_test(half, table, measure=measure, draws=39, rng=0)
    assert off.pvalue == 1 / 40
    assert off.excess > off.noise_floor


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "gaussian"},
        {"bandwidth": 0},
        {"kernel": "multinomial", "degree": -1},
        {"method": "guess"},
        {"method": "features", "features": 1},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(cal.errors.InvalidOptionError):
        canonical_calibration_error([0, 1], [[0.5, 0.5], [0.5, 0.5]], **options)


def test_one_row_has_no_pairs():
    with pytest.raises(cal.errors.InferenceRefusedError, match="two rows"):
        canonical_calibration_error([0], [[0.5, 0.5]], unbiased=True)

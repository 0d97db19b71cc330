"""What a perfect model scores: numbers and formulas published about the noise of binned errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from oracles import definitions as by_definition


@pytest.mark.parametrize(
    ("rows", "floor"), [(60, 0.127), (200, 0.071), (1000, 0.032), (10_000, 0.010)]
)
def test_noise_floor_of_binned_error(rows, floor):
    """Mean error of a perfect model with uniform predictions in ten bins.

    The floors are themselves means over 400 simulations, given to three digits.
    """
    rng = np.random.default_rng(rows)
    errors = []
    for _ in range(400):
        p = rng.random(rows)
        errors.append(cal.binned_calibration_error(rng.random(rows) < p, p, n_bins=10))
    standard_error = np.std(errors) / math.sqrt(len(errors))
    assert np.mean(errors) == pytest.approx(floor, abs=3 * standard_error + 0.0006)


def test_plug_in_bias_of_expected_error():
    """Calibrated levels with n_i rows: E ECE ~ sum of m_i sqrt(2 v_i (1 - v_i) / (pi n_i)).

    The mean absolute deviation of a binomial frequency, by the central limit theorem.
    """
    prediction = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    count = np.array([400, 900, 1600, 900, 400])
    joint = cal.Joint.from_counts(prediction, count, np.round(prediction * count).astype(int))
    assert cal.exact_calibration_error(joint) == pytest.approx(0.0, abs=1e-12)
    deviation = np.sqrt(2 * prediction * (1 - prediction) / (math.pi * count))
    bias = math.fsum(count / count.sum() * deviation)
    rng = np.random.default_rng(1)
    errors = [cal.exact_calibration_error(joint.simulated(rng)) for _ in range(1000)]
    standard_error = np.std(errors) / math.sqrt(len(errors))
    assert np.mean(errors) == pytest.approx(bias, abs=4 * standard_error + 0.005 * bias)


def test_edges_of_linspace_are_not_the_tenths():
    """``np.linspace(0, 1, 11)`` puts .3, .6 and .7 one bin lower than the doubles j/10 do."""
    moved = []
    for tenth in range(11):
        # A companion in the middle of the lower bin cancels the residual if they share it.
        p = np.array([tenth / 10, max(tenth - 0.5, 0.5) / 10])
        y = p[::-1].copy()
        by_tenths = cal.binned_calibration_error(y, p, n_bins=10)
        by_linspace = cal.binned_calibration_error(y, p, strategy=np.linspace(0, 1, 11))
        for edges, measured in (
            (by_definition.uniform_edges(10), by_tenths),
            (np.linspace(0, 1, 11), by_linspace),
        ):
            expected = by_definition.binned_calibration_error(y, p, edges)
            assert measured == pytest.approx(expected, abs=1e-12)
        if by_tenths > by_linspace + 1e-6:
            moved.append(tenth)
    assert moved == [3, 6, 7]

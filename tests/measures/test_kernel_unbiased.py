"""The unbiased square of the kernel calibration error against its average over pairs of rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.kernel_cases import close, every_bandwidth, every_case, few_cases
from oracles.strategies import rows, universal

# Laws of single rows are wanted here; that some errors say little of them is what warnings say.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")


@few_cases
@universal
@given(sample=rows(max_size=20))
def test_unbiased_square_averages_over_pairs_of_different_rows(options, kernel, sample):
    y, p = sample
    # One more row: there must be two.
    y, p = np.append(y, 1), np.append(p, 0.5)
    measured = cal.kernel_calibration_error(y, p, unbiased=True, **options)
    assert measured == close(by_definition.unbiased_square(y, p, kernel))
    joint = cal.Joint.from_samples(y, p)
    assert cal.kernel_calibration_error(joint, unbiased=True, **options) == close(measured)


@every_case
def test_unbiased_square_from_counts(options, kernel):
    v, count, positives = [0.2, 0.5, 0.7], [4, 1, 3], [1, 1, 3]
    y, p = [1, 0, 0, 0, 1, 1, 1, 1], np.repeat(v, count)
    joint = cal.Joint.from_counts(v, count, positives)
    measured = cal.kernel_calibration_error(joint, unbiased=True, **options)
    assert measured == close(by_definition.unbiased_square(y, p, kernel))


@every_bandwidth
def test_unbiased_square_may_be_negative(bandwidth):
    """Two rows of one level on either side: their one product is negative."""
    options = {"bandwidth": bandwidth, "unbiased": True}
    assert cal.kernel_calibration_error([0, 1], [0.5, 0.5], **options) == close(-0.25)
    two = cal.kernel_calibration_error([0, 1], [0.4, 0.6], **options)
    assert two == close(-0.16 * math.exp(-0.2 / bandwidth))


@few_cases
@pytest.mark.parametrize("weight", [0.1, 1 / 3, 1.0, 7.0, 1e-6])
def test_unbiased_square_of_equal_weights_is_the_unweighted_one(options, kernel, weight):
    rng = np.random.default_rng(83)
    p = rng.integers(0, 11, 60) / 10
    y = (rng.random(60) < p).astype(int)
    plain = cal.kernel_calibration_error(y, p, unbiased=True, **options)
    w = np.full(60, weight)
    weighted = cal.kernel_calibration_error(y, p, sample_weight=w, unbiased=True, **options)
    assert weighted == close(plain)
    # Rows without weight are no rows.
    y, p, w = np.append(y, 1), np.append(p, 0.3), np.append(w, 0.0)
    more = cal.kernel_calibration_error(y, p, sample_weight=w, unbiased=True, **options)
    assert more == close(plain)


@few_cases
def test_unbiased_square_of_single_weighted_rows(options, kernel):
    rng = np.random.default_rng(84)
    for _ in range(10):
        p, w = rng.random(25), rng.uniform(0.1, 5, 25)
        y = (rng.random(25) < p**2).astype(int)
        measured = cal.kernel_calibration_error(y, p, sample_weight=w, unbiased=True, **options)
        oracle = by_definition.unbiased_square(y, p, kernel, w)
        assert measured == close(oracle)
        assert oracle != close(by_definition.unbiased_square(y, p, kernel))


def test_unbiased_square_of_weights_that_differ_between_levels_only():
    """Nothing within a level is unknown, so nothing is refused."""
    y, p = np.array([0, 1, 1, 1, 0]), np.array([0.3, 0.3, 0.6, 0.6, 0.9])
    w = np.array([2.0, 2.0, 0.7, 0.7, 5.0])
    measured = cal.kernel_calibration_error(y, p, sample_weight=w, unbiased=True)
    oracle = by_definition.unbiased_square(y, p, by_definition.laplace_kernel(1.0), w)
    assert measured == close(oracle)


@few_cases
@pytest.mark.parametrize("calibrated", [True, False])
def test_unbiased_square_is_unbiased_given_the_predictions(options, kernel, calibrated):
    """Over all 2^7 outcomes, each with its chance: no simulation, no error.

    The mean is that of (q_i - p_i)(q_j - p_j) K(p_i, p_j), q the chances: zero when q = p.
    """
    rng = np.random.default_rng(85)
    p = np.append(rng.random(5), [0.5, 0.5])
    q = p if calibrated else rng.random(7)
    terms = []
    for y in itertools.product((0, 1), repeat=7):
        chance = math.prod(np.where(y, q, 1 - q))
        terms.append(chance * cal.kernel_calibration_error(y, p, unbiased=True, **options))
    exact = by_definition.unbiased_square(q, p, kernel)
    assert math.fsum(terms) == close(exact)
    assert calibrated == (abs(exact) < 1e-6)


@few_cases
@pytest.mark.parametrize("biased", [False, True])
def test_unbiased_square_is_unbiased_over_samples_of_a_law(options, kernel, biased):
    """Predictions drawn as well: the mean is the square of the population, and zero if calibrated.

    The plug-in square, by contrast, is too large by E (y - p)^2 K(p, p) / n, and is seen to be.
    """
    rng = np.random.default_rng(86)
    v = np.linspace(0.05, 0.95, 10)
    r = np.clip(v + 0.1 * (v > 0.4), 0, 1) if biased else v
    square = by_definition.kernel_form(v, np.full(10, 0.1), r, kernel)
    unbiased, plug_in = [], []
    for _ in range(400):
        level = rng.integers(0, 10, 40)
        joint = cal.Joint.from_samples((rng.random(40) < r[level]).astype(int), v[level])
        unbiased.append(cal.kernel_calibration_error(joint, unbiased=True, **options))
        plug_in.append(cal.kernel_calibration_error(joint, **options) ** 2)
    error = np.std(unbiased) / math.sqrt(400)
    assert np.mean(unbiased) == pytest.approx(square, abs=4 * error)
    assert np.mean(plug_in) > square + 4 * error
    assert (square > 1e-3) == biased


@few_cases
def test_unbiased_square_is_refused_where_rows_are_unknown(options, kernel):
    """Mean outcomes hide the rows; unequal weights within a level hide which row had which."""
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.kernel_calibration_error([0.4, 1.0], [0.3, 0.6], unbiased=True, **options)
    y, p, w = [0, 1, 1], [0.3, 0.3, 0.6], [1.0, 2.0, 1.0]
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.kernel_calibration_error(y, p, sample_weight=w, unbiased=True, **options)


@few_cases
def test_unbiased_square_needs_two_rows(options, kernel):
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.kernel_calibration_error([1], [0.3], unbiased=True, **options)
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.kernel_calibration_error(
            [1, 0], [0.3, 0.6], sample_weight=[2.0, 0.0], unbiased=True, **options
        )

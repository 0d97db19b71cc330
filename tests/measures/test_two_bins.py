"""The averaged two-bin error against its definition, its kernel, its witness and its bounds."""

from __future__ import annotations

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.kernel_cases import close, every_maker
from oracles.strategies import joint_of, joints, laws, rows, universal, weighted_rows

both_orders = pytest.mark.parametrize("order", [1, 2])


@both_orders
@every_maker
def test_value_is_the_mean_over_thresholds(maker, order):
    for law in laws(maker, 60):
        measured = cal.averaged_two_bin_error(joint_of(law), order=order)
        assert measured == close(by_definition.averaged_two_bin_error(*law, order))


@every_maker
def test_it_is_the_squared_error_of_the_kernel_of_common_bins(maker):
    for law in laws(maker, 40):
        joint = joint_of(law)
        measured = cal.averaged_two_bin_error(joint)
        assert measured == close(by_definition.kernel_form(*law, by_definition.same_bin_kernel))
        other = cal.kernel_calibration_error(
            joint, kernel=by_definition.same_bin_kernel, squared=True
        )
        assert other == close(measured)


@both_orders
@universal
@given(law=joints())
def test_the_witness_is_a_test_that_gains_the_value(law, order):
    joint = joint_of(law)
    measured = cal.averaged_two_bin_error(joint, order=order)
    witness = measured.witness
    assert witness.advantage(joint) == close(measured)
    assert np.abs(witness.value).max() <= 1 + 1e-12
    assert np.abs(np.diff(witness.value) / np.diff(witness.knot)).max() <= 2 + 1e-6


@universal
@given(law=joints())
def test_chain_with_the_smooth_error(law):
    """With a of order 1: a <= earth mover <= 2 s, s <= 3 a / 2, a^2 / 2 <= square <= a."""
    joint = joint_of(law)
    first, square = (float(cal.averaged_two_bin_error(joint, order=k)) for k in (1, 2))
    smooth = float(cal.smooth_calibration_error(joint))
    assert first <= cal.earth_mover_distance(joint) + 1e-12
    assert first / 2 - 1e-12 <= smooth <= 1.5 * first + 1e-12
    assert first**2 / 2 - 1e-12 <= square <= first + 1e-12


@universal
@given(sample=rows(max_size=20))
def test_unbiased_form_averages_over_pairs_of_different_rows(sample):
    y, p = np.append(sample[0], 1), np.append(sample[1], 0.5)
    measured = cal.averaged_two_bin_error(y, p, unbiased=True)
    assert measured == close(by_definition.unbiased_square(y, p, by_definition.same_bin_kernel))


def test_unbiased_form_is_zero_on_average_over_all_outcomes():
    p = np.array([0.1, 0.3, 0.3, 0.5, 0.8, 0.9])
    terms = []
    for y in itertools.product((0, 1), repeat=p.size):
        chance = math.prod(np.where(y, p, 1 - p))
        terms.append(chance * cal.averaged_two_bin_error(y, p, unbiased=True))
    assert math.fsum(terms) == close(0)


@pytest.mark.parametrize("weights", [False, True])
def test_the_noise_floor_is_known_and_the_mean_over_all_outcomes(weights):
    rng = np.random.default_rng(3)
    p = np.append(rng.random(6).round(2), [0.5, 0.5])
    weight = rng.uniform(0.5, 2, p.size) if weights else None
    terms = []
    for y in itertools.product((0, 1), repeat=p.size):
        chance = math.prod(np.where(y, p, 1 - p))
        terms.append(chance * cal.averaged_two_bin_error(y, p, sample_weight=weight))
    test = cal.calibration_test(
        y, p, sample_weight=weight, measure="averaged_two_bin_error", draws=4999, rng=0
    )
    assert test.noise_floor == test.known_floor == close(math.fsum(terms))
    assert test.null.mean() == pytest.approx(test.noise_floor, rel=0.06)
    squared = cal.calibration_test(
        y, p, measure=lambda joint: cal.kernel_calibration_error(joint, squared=True), rng=0
    )
    assert squared.known_floor is None  # a function of the caller's own


@pytest.mark.parametrize("options", [{}, {"kernel": "gaussian"}, {"kernel": "polynomial"}], ids=str)
def test_the_floor_of_squared_kernels_is_their_mean_over_all_outcomes(options):
    from calibrant.measures.kernel import kernel_floor

    p = np.array([0.1, 0.3, 0.3, 0.55, 0.9])
    terms = []
    for y in itertools.product((0, 1), repeat=p.size):
        chance = math.prod(np.where(y, p, 1 - p))
        terms.append(chance * cal.kernel_calibration_error(y, p, squared=True, **options))
    joint = cal.Joint.from_samples(y, p)
    assert kernel_floor(joint, squared=True, **options) == close(math.fsum(terms))
    assert kernel_floor(joint, unbiased=True, **options) == 0
    assert kernel_floor(joint, **options) is None


@both_orders
@universal
@given(data=weighted_rows(), cells=st.sampled_from([1, 2, 8, 64, 2**16]))
def test_cells_certify_the_value_of_the_rows(data, cells, order):
    y, p, w = data
    exact = float(cal.averaged_two_bin_error(y, p, sample_weight=w, order=order))
    joint = cal.Joint.from_samples(y, p, sample_weight=w, resolution=cells)
    measured = cal.averaged_two_bin_error(joint, order=order)
    low, high = measured.bounds
    assert low - 1e-13 <= exact <= high + 1e-13
    assert low <= measured <= high


@universal
@given(data=rows(max_size=30), cells=st.sampled_from([1, 4, 64]))
def test_cells_certify_the_unbiased_form(data, cells):
    y, p = np.append(data[0], 1), np.append(data[1], 0.5)
    exact = float(cal.averaged_two_bin_error(y, p, unbiased=True))
    joint = cal.Joint.from_samples(y, p, resolution=cells)
    low, high = cal.averaged_two_bin_error(joint, unbiased=True).bounds
    assert low - 1e-12 <= exact <= high + 1e-12


def test_the_certificate_of_many_cells_is_narrow():
    """The error of thresholds within a cell counts by its width only: far below the noise floor."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 20_000)
    y = rng.random(p.size) < p
    low, high = cal.averaged_two_bin_error(cal.Joint.from_samples(y, p, resolution=2**16)).bounds
    assert high - low < 2e-6
    assert low <= cal.averaged_two_bin_error(y, p) <= high


@both_orders
def test_bounds_count_the_width_of_cells_that_counts_came_from(order):
    joint = cal.Joint.from_counts([0.2, 0.7], [10, 20], [5, 12], width=0.02)
    measured = cal.averaged_two_bin_error(joint, order=order)
    assert measured.bounds[1] == pytest.approx(measured + 3 * order * 0.01)


def test_what_cannot_be_asked_is_refused():
    data = [0, 1, 1], [0.2, 0.4, 0.6]
    for order in (0, 3, 1.5, math.nan, "two", None):
        with pytest.raises(cal.errors.InvalidOptionError):
            cal.averaged_two_bin_error(*data, order=order)
    with pytest.raises(cal.errors.InvalidOptionError, match="order=2"):
        cal.averaged_two_bin_error(*data, order=1, unbiased=True)
    with pytest.raises(cal.errors.InferenceRefusedError, match="two rows"):
        cal.averaged_two_bin_error([1], [0.5], unbiased=True)


def test_squares_have_intervals_and_no_verdicts():
    rng = np.random.default_rng(1)
    p = rng.integers(1, 20, 500) / 20
    y = rng.random(500) < np.clip(p + 0.15, 0, 1)
    interval = cal.confidence_interval(y, p, measure="averaged_two_bin_error", rng=0)
    assert 0 < interval.low < interval.value < interval.high
    with pytest.raises(cal.errors.InferenceRefusedError, match="confidence_interval takes squares"):
        cal.verdict(y, p, measure="averaged_two_bin_error")


def test_a_kernel_that_does_not_broadcast_is_refused_with_a_hint():
    def scalar(u, v):
        return 1 - abs(u - v) if u > v else 1 - abs(v - u)

    for kernel in (scalar, lambda u, v: 1.0, lambda u, v: u[0] * v, lambda u, v: u * v * np.nan):
        with pytest.raises(cal.errors.InvalidOptionError, match="vectorize"):
            cal.kernel_calibration_error([0, 1, 1], [0.2, 0.4, 0.6], kernel=kernel)

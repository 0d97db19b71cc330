"""The kernel-smoothed error against its definition, with kernels as sums of mirror images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import brentq
from scipy.stats import norm

import calibrant as cal
from calibrant.errors import InvalidOptionError
from calibrant.measures import kernel_smoothed, kernel_smoothed as cosines
from oracles.strategies import MAKERS, joint_of, joints, laws, rows, universal, weighted_rows
from reference.golden import golden_joint

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

GRID = np.linspace(0, 1, 4001)


def smoothed(law, width: float) -> np.ndarray:
    """Residuals smoothed by a Gaussian whose mass beyond 0 and 1 is folded back."""
    v, m, r = law
    images = np.concatenate([v + 2 * n for n in range(-2, 3)] + [2 * n - v for n in range(-2, 3)])
    return norm.pdf(GRID[:, None], images, width) @ np.tile(m * (r - v), 10)


def smoothed_error(law, width: float) -> float:
    return float(np.trapezoid(np.abs(smoothed(law, width)), GRID))


def fixed_point(law) -> float:
    return brentq(lambda s: smoothed_error(law, s) - s, 2e-3, 1.0, xtol=1e-12)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_the_value_is_the_fixed_point_of_the_definition(maker):
    compared = 0
    for law in laws(maker, 12, most=20):
        # The grid of this oracle carries widths above 0.02 to about 1e-5.
        if smoothed_error(law, 0.02) <= 0.02:
            continue
        compared += 1
        expected = fixed_point(law)
        measured = cal.kernel_smoothed_calibration_error(joint_of(law))
        assert measured == pytest.approx(expected, abs=2e-5)
        low, high = measured.bounds
        assert low <= measured <= high
        assert high - low <= 1e-6
    assert compared > 3


GOLDEN = {
    "D1": 0.3,
    "D2": 0.17389739116,
    "D3": 0.09995375415,
    "D4": 0.09910143098,
    "D5": 0.1,
    "D6": 0.01708101824,
    "D7": 0.10997197356,
}


@pytest.mark.parametrize(("law", "value"), GOLDEN.items(), ids=GOLDEN)
def test_golden_values(law, value):
    """Adaptive quadrature between the zeros of the smoothed residuals, to 1e-11."""
    joint = golden_joint(law)
    measured = cal.kernel_smoothed_calibration_error(joint)
    assert measured == pytest.approx(value, abs=5e-9)
    low, high = measured.bounds
    assert low - 1e-11 <= value <= high + 1e-11


def test_residuals_of_one_sign_give_the_expected_error():
    """Smoothing moves residuals but cancels none."""
    v, r = np.array([0.1, 0.4, 0.8]), np.array([0.2, 0.5, 0.95])
    joint = cal.Joint.from_samples(r, v)
    expected = float(cal.exact_calibration_error(joint))
    assert cal.kernel_smoothed_calibration_error(joint) == pytest.approx(expected, abs=1e-9)


def test_smoothing_more_leaves_less():
    law = next(laws(MAKERS[0], 1))
    widths = [0.02, 0.05, 0.1, 0.3, 1.0]
    errors = [
        float(np.abs(cal.smoothed_curve(joint_of(law), bandwidth=s)["residual"]).mean())
        for s in widths
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] == pytest.approx(smoothed_error(law, 0.1), abs=1e-3)


@universal
@given(weighted_rows())
def test_rows_and_joint_agree_within_their_bounds(sample):
    y, p, w = sample
    from_rows = cal.kernel_smoothed_calibration_error(y, p, sample_weight=w)
    from_joint = cal.kernel_smoothed_calibration_error(
        cal.Joint.from_samples(y, p, sample_weight=w)
    )
    assert from_rows.bounds[0] - 1e-12 <= from_joint.bounds[1]
    assert from_joint.bounds[0] - 1e-12 <= from_rows.bounds[1]
    assert from_rows == pytest.approx(float(from_joint), abs=1e-6)


@universal
@given(joints())
def test_value_lies_between_the_mean_bias_and_the_expected_error(law):
    joint = joint_of(law)
    value = cal.kernel_smoothed_calibration_error(joint)
    low, high = value.bounds
    assert high >= abs(joint.base_rate - joint.mean_prediction) - 1e-12
    assert low <= cal.exact_calibration_error(joint) + 1e-12


def test_the_curve_is_the_value_and_the_frequency():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = rng.random(20_000) < np.clip(p + 0.1, 0, 1)
    curve = cal.smoothed_curve(y, p)
    error = cal.kernel_smoothed_calibration_error(y, p)
    integral = np.trapezoid(np.abs(curve["residual"]), curve["prediction"])
    assert integral == pytest.approx(float(error), abs=1e-5)
    assert np.trapezoid(curve["density"], curve["prediction"]) == pytest.approx(1, abs=1e-9)
    middle = (curve["prediction"] > 0.3) & (curve["prediction"] < 0.6)
    assert curve["outcome"][middle] == pytest.approx(curve["prediction"][middle] + 0.1, abs=0.03)


def test_a_gap_in_the_predictions_has_no_frequency():
    curve = cal.smoothed_curve([0, 1, 0, 1], [0.1, 0.1, 0.9, 0.9], bandwidth=0.01)
    assert np.isnan(curve["outcome"][2048])
    assert curve["outcome"][410] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("bandwidth", [0.0, 1e-5, -1.0, np.inf, np.nan])
def test_a_curve_needs_a_width_that_can_be_drawn(bandwidth):
    with pytest.raises(InvalidOptionError, match="bandwidth"):
        cal.smoothed_curve([0, 1], [0.4, 0.6], bandwidth=bandwidth)


@universal
@given(rows())
def test_certificate_of_rounded_predictions_holds(sample):
    exact = cal.kernel_smoothed_calibration_error(cal.Joint.from_samples(*sample))
    cells = cal.Joint.from_samples(*sample, resolution=64)
    low, high = cal.kernel_smoothed_calibration_error(cells).bounds
    assert low <= exact.bounds[1] + 1e-12
    assert exact.bounds[0] <= high + 1e-12


@pytest.mark.parametrize("rows", [99, 10**4, 10**6])
def test_residuals_too_far_apart_to_cancel(rows):
    """A wrong 0 and a wrong 1 among right ones: smoothing cancels nothing, the value is ECE."""
    joint = cal.Joint.from_counts([0.0, 1.0], [rows, 1], [1, 0])
    error = cal.kernel_smoothed_calibration_error(joint)
    assert error == pytest.approx(cal.exact_calibration_error(joint), abs=1e-6)
    assert error.bounds[0] <= 2 / (rows + 1) + 1e-12
    assert error.bounds[1] >= 2 / (rows + 1) - 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_short_sums_over_many_nodes_are_those_of_every_node(seed):
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, int(rng.integers(1, 200)))
    fast = kernel_smoothed._of_joint(joint)
    slow = replace(fast, first_cosines=None)
    for width in (0.007, 0.03, 0.2, 0.9):
        height = np.abs(cosines.smoothed(slow.cosines, width, kernel_smoothed.NODES))
        every_node = np.trapezoid(height) / kernel_smoothed.NODES
        assert fast.error(width, kernel_smoothed.NODES) == pytest.approx(every_node, abs=1e-14)
    assert fast.fixed_point() == pytest.approx(slow.fixed_point(), abs=1e-13)


def random_joint(rng: np.random.Generator, n: int) -> cal.Joint:
    """Forecasts all over, in one corner, or in two heaps with nothing between."""
    p = (rng.random(n), rng.random(n) * 0.01, rng.choice([0.0, 0.1, 1.0], n))[rng.integers(3)]
    return cal.Joint.from_samples((rng.random(n) < p).astype(int), p)


def test_a_curve_of_any_width_is_drawn():
    """Of the widest only the mean bias is left, here 1/4 everywhere."""
    wide = cal.smoothed_curve([1, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], bandwidth=1e308)
    inside = wide["prediction"] <= 0.75
    bias = (wide["outcome"] - wide["prediction"])[inside]
    assert bias == pytest.approx(np.full(bias.size, 0.25))

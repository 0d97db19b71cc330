"""The kernel calibration error against its double sum, its witness and bounds."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calibrant as cal
from calibrant.measures.rkhs import GaussianKernel, PairedKernel
from oracles import definitions as by_definition
from oracles.kernel_cases import (
    BANDWIDTHS,
    CASES,
    DEGREES,
    GRID,
    close,
    every_bandwidth,
    every_case,
    every_maker,
    few_cases,
)
from oracles.strategies import generic, joint_of, laws, tied, universal, weighted_rows

# Laws of single rows are wanted here; that some errors say little of them is what warnings say.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")


def laplace_error_in_decimals(law, bandwidth: float) -> float:
    """The Laplace error with fifty digits: no cancellation in what is left of them."""
    with localcontext(prec=50):
        v, m, r = ([Decimal(float(x)) for x in column] for column in law)
        c = [mass * (outcome - level) for level, mass, outcome in zip(v, m, r, strict=True)]
        square = sum(a * a for a in c)
        for (a, u), (b, w) in itertools.combinations(zip(c, v, strict=True), 2):
            square += 2 * a * b * (-abs(u - w) / Decimal(bandwidth)).exp()
        return float(square.sqrt())


# The oracles themselves


@every_case
def test_oracles_agree_with_each_other(options, kernel):
    """All pairs less the pairs of a row with itself are the pairs of different rows."""
    rng = np.random.default_rng(81)
    for _ in range(10):
        p, w = rng.integers(0, 21, 30) / 20, rng.uniform(0.5, 2, 30)
        y = (rng.random(30) < p**2).astype(int)
        total, law = by_definition.group_levels(y, p, w)
        itself = math.fsum(w**2 * (y - p) ** 2 * kernel(p, p))
        different = total**2 * by_definition.kernel_form(*law, kernel) - itself
        oracle = by_definition.unbiased_square(y, p, kernel, w)
        assert oracle == close(different / (total**2 - math.fsum(w**2)))


@every_maker
def test_double_sum_is_as_precise_as_its_tolerance(maker):
    for law in laws(maker, 5, most=20):
        for bandwidth in BANDWIDTHS:
            form = by_definition.kernel_form(*law, by_definition.laplace_kernel(bandwidth))
            assert form == close(laplace_error_in_decimals(law, bandwidth) ** 2)


# Values


@every_case
@every_maker
def test_kernel_error_is_the_root_of_the_double_sum(maker, options, kernel):
    for law in laws(maker, 60):
        measured = cal.kernel_calibration_error(joint_of(law), **options)
        assert measured >= 0
        assert measured**2 == close(by_definition.kernel_form(*law, kernel))


@every_case
@every_maker
def test_kernel_error_of_many_levels(maker, options, kernel):
    for law in laws(maker, 3, most=300, seed=300):
        measured = cal.kernel_calibration_error(joint_of(law), **options)
        assert measured**2 == close(by_definition.kernel_form(*law, kernel))


@every_bandwidth
@every_maker
def test_laplace_error_keeps_its_digits_where_the_double_sum_cancels(maker, bandwidth):
    """The value itself, not its square: residuals of opposite sign 1e-12 apart are told apart."""
    for law in laws(maker, 10, most=20, seed=5):
        measured = cal.kernel_calibration_error(joint_of(law), bandwidth=bandwidth)
        exact = laplace_error_in_decimals(law, bandwidth)
        assert measured == pytest.approx(exact, rel=0, abs=1e-14)


@pytest.mark.parametrize("exponent", [4, 20, 30, 45])
def test_laplace_error_of_two_close_levels_has_all_digits(exponent):
    """p_eps with eps a power of two: c = -+(1/4 - eps/2) and c^2 (2 - 2 exp(-2 eps)) exactly."""
    eps = 2.0**-exponent
    measured = cal.kernel_calibration_error([0, 1], [0.5 - eps, 0.5 + eps])
    exact = (0.25 - eps / 2) * math.sqrt(-2 * math.expm1(-2 * eps))
    assert measured == pytest.approx(exact, rel=1e-12, abs=0)


def test_defaults_are_a_laplace_kernel_of_bandwidth_one_and_degree_three():
    law = next(laws(generic, 1))
    joint = joint_of(law)
    default = cal.kernel_calibration_error(joint)
    assert default**2 == close(by_definition.kernel_form(*law, by_definition.laplace_kernel(1.0)))
    assert default != pytest.approx(cal.kernel_calibration_error(joint, bandwidth=0.9), rel=1e-6)
    cubic = by_definition.kernel_form(*law, by_definition.polynomial_kernel(3))
    assert cal.kernel_calibration_error(joint, kernel="polynomial") ** 2 == close(cubic)
    assert cubic != close(by_definition.kernel_form(*law, by_definition.polynomial_kernel(2)))


@few_cases
@universal
@given(sample=weighted_rows(max_size=20))
def test_arrays_and_joint_give_the_same_error(options, kernel, sample):
    y, p, w = sample
    _, law = by_definition.group_levels(y, p, w)
    arrays = cal.kernel_calibration_error(y, p, sample_weight=w, **options)
    joint = cal.kernel_calibration_error(cal.Joint.from_samples(y, p, sample_weight=w), **options)
    assert isinstance(arrays, float)
    assert arrays**2 == close(joint**2)
    assert arrays**2 == close(by_definition.kernel_form(*law, kernel))
    labels = np.where(y == 1, "rain", "dry")
    named = cal.kernel_calibration_error(labels, p, sample_weight=w, pos_label="rain", **options)
    assert named**2 == close(joint**2)


@pytest.mark.parametrize("degree", DEGREES)
@every_maker
def test_polynomial_kernel_gives_the_low_degree_error_of_the_l2_norm(maker, degree):
    for law in laws(maker, 30):
        joint = joint_of(law)
        measured = cal.kernel_calibration_error(joint, kernel="polynomial", degree=degree)
        same = cal.low_degree_calibration_error(joint, degree=degree, norm="l2")
        assert measured == pytest.approx(same, rel=0, abs=1e-12)


def test_callable_takes_up_to_4096_levels():
    """All pairs: 1 + u v is the polynomial kernel of degree one, which needs two moments only."""
    p = np.arange(1, 4098) / 4098
    y = (np.arange(4097) % 3 == 0).astype(int)
    measured = cal.kernel_calibration_error(y[:-1], p[:-1], kernel=lambda u, v: 1 + u * v)
    same = cal.kernel_calibration_error(y[:-1], p[:-1], kernel="polynomial", degree=1)
    assert measured == pytest.approx(same, rel=1e-9)
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.kernel_calibration_error(y, p, kernel=lambda u, v: 1 + u * v)


# Witnesses


@every_case
@every_maker
def test_witness_attains_the_value(maker, options, kernel):
    for law in laws(maker, 25):
        joint = joint_of(law)
        measured = cal.kernel_calibration_error(joint, **options)
        gain = measured.witness.advantage(joint)
        assert gain * measured == close(measured**2)
        values = measured.witness(joint.prediction)
        assert math.fsum(values * joint.mass * joint.residual) == pytest.approx(gain, abs=1e-12)


@every_case
@every_maker
def test_witness_is_the_kernel_mean_over_its_norm(maker, options, kernel):
    """Anywhere in [0, 1]: sum_j c_j K(x, v_j) over the value is an element of norm one."""
    compared = 0
    for law in laws(maker, 20):
        measured = cal.kernel_calibration_error(joint_of(law), **options)
        points = np.concatenate([GRID, law.prediction])
        values = measured.witness(points)
        assert values.shape == points.shape
        assert np.isfinite(values).all()
        form = by_definition.kernel_form(*law, kernel)
        # Below that the value has too few digits to divide by.
        if form > 1e-8:
            expected = by_definition.kernel_mean(points, *law, kernel) / math.sqrt(form)
            assert np.abs(values - expected).max() <= 1e-8
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize(
    ("options", "kernel"),
    [CASES[name] for name in CASES if name.startswith("laplace") or name == "gaussian 0.05"],
    ids=[name for name in CASES if name.startswith("laplace") or name == "gaussian 0.05"],
)
def test_witness_has_norm_one(options, kernel):
    """The least norm of a function with given values f on the levels is the root of f' K^-1 f.

    Levels on multiples of .05 keep K invertible in doubles; the witness is spanned by them.
    """
    for law in laws(tied, 30):
        measured = cal.kernel_calibration_error(joint_of(law), **options)
        values = measured.witness(law.prediction)
        gram = kernel(law.prediction[:, None], law.prediction[None, :])
        assert values @ np.linalg.solve(gram, values) == pytest.approx(1, abs=1e-8)


@few_cases
def test_no_other_function_of_norm_one_does_better(options, kernel):
    rng = np.random.default_rng(82)
    for law in laws(generic, 50):
        error = cal.kernel_calibration_error(joint_of(law), **options)
        x, a = rng.random(6), rng.normal(size=6)
        norm = math.sqrt(a @ kernel(x[:, None], x[None, :]) @ a)
        values = kernel(law.prediction[:, None], x[None, :]) @ a
        assert abs(by_definition.advantage(values, *law)) <= norm * error * (1 + 1e-9) + 1e-12


@few_cases
def test_witness_of_a_calibrated_law_is_finite(options, kernel):
    p = np.array([0.25, 0.5, 0.75])
    measured = cal.kernel_calibration_error(p, p, **options)
    assert measured == 0
    assert np.isfinite(measured.witness(GRID)).all()
    assert measured.witness.advantage(cal.Joint.from_samples(p, p)) == 0


# Bounds


@pytest.mark.parametrize("options", [case[0] for case in CASES.values()], ids=CASES)
@every_maker
def test_bounds_meet_at_an_exact_value(maker, options):
    """The Gaussian error alone is found by approximation; its bracket is narrow and true."""
    for law in laws(maker, 25):
        measured = cal.kernel_calibration_error(joint_of(law), **options)
        low, high = measured.bounds
        assert 0 <= low <= measured <= high
        if options["kernel"] == "gaussian":
            form = by_definition.kernel_form(
                *law, by_definition.gaussian_kernel(options["bandwidth"])
            )
            # The double sum itself errs by as much as 1e-15.
            assert low**2 - 1e-15 <= form <= high**2 + 1e-15
            assert high**2 - low**2 <= 1e-9
        else:
            assert low == high


ROUNDING_BOUND = {
    "laplace": lambda e, h: math.sqrt(2 * e / h),
    "gaussian": lambda e, h: e / h,
}


@pytest.mark.parametrize("kernel", ROUNDING_BOUND)
@pytest.mark.parametrize("cells", [4, 64])
@every_maker
def test_kernel_errors_move_by_no_more_than_rounding_allows(maker, cells, kernel):
    """|k(u) - k(v)|^2 = 2 - 2 K(u, v) is at most 2 |u - v| / h, or (u - v)^2 / h^2."""
    forms = {"laplace": by_definition.laplace_kernel, "gaussian": by_definition.gaussian_kernel}
    for law in laws(maker, 40):
        rounded = joint_of(law).rounded(cells)
        for bandwidth in BANDWIDTHS:
            form = by_definition.kernel_form(*law, forms[kernel](bandwidth))
            exact = math.sqrt(max(0.0, form))
            measured = cal.kernel_calibration_error(rounded, kernel=kernel, bandwidth=bandwidth)
            bound = ROUNDING_BOUND[kernel](rounded.rounding, bandwidth)
            low, high = measured.bounds
            # Roots of double sums have half of their digits.
            assert abs(measured - exact) <= bound + 1e-7
            assert low - 1e-7 <= exact <= high + 1e-7
            assert 0 <= low <= measured <= high
            assert max(measured - low, high - measured) <= bound + 1e-6


@pytest.mark.parametrize("degree", DEGREES)
@every_maker
def test_bounds_of_the_polynomial_kernel_hold_the_error_before_rounding(maker, degree):
    for law in laws(maker, 20):
        rounded = joint_of(law).rounded(16)
        measured = cal.kernel_calibration_error(rounded, kernel="polynomial", degree=degree)
        exact = by_definition.low_degree_l2(*law, degree)
        assert measured.bounds[0] - 1e-12 <= exact <= measured.bounds[1] + 1e-12


def test_bounds_count_the_width_of_cells_that_counts_came_from():
    joint = cal.Joint.from_counts([0.2, 0.7], [10, 20], [5, 12], width=0.02)
    for kernel, bound in ROUNDING_BOUND.items():
        measured = cal.kernel_calibration_error(joint, kernel=kernel, bandwidth=0.4)
        expected = (max(0.0, measured - bound(0.01, 0.4)), measured + bound(0.01, 0.4))
        assert measured.bounds == pytest.approx(expected, abs=1e-7)


# Refusals


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "cauchy"},
        {"kernel": "Laplace "},
        {"kernel": 3},
        {"kernel": None},
        *({"bandwidth": h} for h in (0.0, -1.0, math.inf, -math.inf, math.nan)),
        *({"kernel": "gaussian", "bandwidth": h} for h in (0.0, -0.4, math.inf, math.nan)),
        *({"kernel": "polynomial", "degree": d} for d in (-1, 1.5, math.nan, math.inf)),
    ],
    ids=str,
)
def test_options_outside_are_refused(options):
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.kernel_calibration_error([0, 1, 1], [0.2, 0.6, 0.9], **options)
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.kernel_calibration_error([0, 1, 1], [0.2, 0.6, 0.9], unbiased=True, **options)


@universal
@given(st.floats(1e-3, 1e3))
def test_any_bandwidth_is_taken(bandwidth):
    """From nearly the identity, the root of sum c^2, to nearly a constant kernel, |sum c|."""
    law = by_definition.Law(np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([0.6, 0.5]))
    joint = joint_of(law)
    form = by_definition.kernel_form(*law, by_definition.laplace_kernel(bandwidth))
    assert cal.kernel_calibration_error(joint, bandwidth=bandwidth) ** 2 == close(form)
    form = by_definition.kernel_form(*law, by_definition.gaussian_kernel(bandwidth))
    measured = cal.kernel_calibration_error(joint, kernel="gaussian", bandwidth=bandwidth)
    assert measured**2 == close(form)


# Gaussian kernels too narrow for polynomials


NARROW = (1e-3, 1e-5, 1e-300, 5e-324)


@pytest.mark.parametrize("bandwidth", NARROW)
@every_maker
def test_narrow_gaussian_kernels_sum_all_pairs(maker, bandwidth):
    kernel = by_definition.gaussian_kernel(bandwidth)
    rng = np.random.default_rng(5)
    for v, m, r in laws(maker, 20, most=40):
        # Levels closer than the bandwidth, so that pairs of different levels count.
        law = by_definition.Law(0.5 + (v - 0.5) * min(1.0, 8 * bandwidth), m, r)
        if np.unique(law.prediction).size < v.size:
            law = by_definition.Law(v, m, r)
        joint = joint_of(law)
        with np.errstate(over="ignore"):
            form = by_definition.kernel_form(*law, kernel)
        options = {"kernel": "gaussian", "bandwidth": bandwidth}
        measured = cal.kernel_calibration_error(joint, **options)
        low, high = measured.bounds
        assert measured**2 == close(form)
        assert low**2 - 1e-15 <= form <= high**2 + 1e-15
        assert high**2 - low**2 <= 1e-12
        assert measured.witness.advantage(joint) == pytest.approx(float(measured), abs=1e-12)
        charges = rng.normal(size=(3, len(joint)))
        with np.errstate(over="ignore"):
            table = kernel(law.prediction[:, None], law.prediction[None, :])
        forms = GaussianKernel(bandwidth).forms(joint.prediction, charges)
        assert forms == pytest.approx(np.einsum("bi,ij,bj->b", charges, table, charges), rel=1e-9)


def test_polynomials_and_pairs_agree_where_both_can_be_used():
    joint = cal.Joint.from_samples([0, 1, 1, 0], [0.3, 0.302, 0.31, 0.7])
    kernel = GaussianKernel(0.0012)
    assert kernel._nodes() is not None
    assert kernel.square(joint)[0] == close(PairedKernel(kernel).square(joint)[0])


def test_bounds_of_narrow_kernels_hold_the_value_of_the_rows():
    rng = np.random.default_rng(6)
    for bandwidth in (1e-3, 1e-4):
        p = 0.4 + 20 * bandwidth * rng.random(300)
        joint = cal.Joint.from_samples(rng.random(300) < 0.5, p)
        options = {"kernel": "gaussian", "bandwidth": bandwidth}
        for cells in (2**10, 2**14):
            low, high = cal.kernel_calibration_error(joint.rounded(cells), **options).bounds
            assert low <= cal.kernel_calibration_error(joint, **options) <= high


def test_narrow_kernels_of_many_levels_are_refused():
    p = np.linspace(0, 1, 4097)
    with pytest.raises(cal.errors.InvalidOptionError, match="at most 4096 levels"):
        cal.kernel_calibration_error(p > 0.5, p, kernel="gaussian", bandwidth=1e-4)

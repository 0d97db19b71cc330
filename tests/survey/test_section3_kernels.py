"""Section 3 of the survey, its remarks: weights from polynomials of low degree and from kernels."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.strategies import (
    MAKERS,
    calibrated,
    joint_of,
    joints,
    laws,
    universal,
)

# Laws of single rows are wanted here; that some errors say little of them is what warnings say.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

DEGREES = (0, 1, 2, 3, 5, 8)
NOISE = 1e-12
KERNELS = {
    "laplace": {"kernel": "laplace"},
    "gaussian": {"kernel": "gaussian"},
    "narrow gaussian": {"kernel": "gaussian", "bandwidth": 0.05},
    "polynomial": {"kernel": "polynomial", "degree": 5},
    "callable": {"kernel": lambda u, v: 1 + np.minimum(u, v)},
}
every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
from_degree_one = pytest.mark.parametrize("degree", DEGREES[1:])
every_kernel = pytest.mark.parametrize("options", KERNELS.values(), ids=KERNELS)


@functools.cache
def sup_errors(maker) -> list[tuple[cal.Joint, dict[int, cal.Measurement]]]:
    """Random laws with their low-degree errors in the sup norm, by degree."""
    return [
        (joint, {d: cal.low_degree_calibration_error(joint, degree=d) for d in DEGREES})
        for joint in map(joint_of, laws(maker, 5, most=25, seed=33))
    ]


def equioscillating(size: int) -> cal.Joint:
    """Residuals of -.2 and .2 in turn, on levels from .2 to .8 that no low degree can tell apart.

    At the extrema of a Chebyshev polynomial, with half the mass at the ends, alternating signs are
    orthogonal to every polynomial of degree below size - 1.
    """
    v = 0.5 - 0.3 * np.cos(np.pi * np.arange(size) / (size - 1))
    m = np.ones(size)
    m[[0, -1]] = 0.5
    r = v + 0.2 * (-1.0) ** np.arange(size)
    return cal.Joint.from_samples(r, v, sample_weight=m)


# Low degree


@from_degree_one
@every_maker
def test_markov_remark_low_degree_is_at_most_twice_its_square_times_smooth(maker, degree):
    """A polynomial of degree d within [-1, 1] on [0, 1] is 2 d^2-Lipschitz there (Markov)."""
    for joint, errors in sup_errors(maker):
        smooth = cal.smooth_calibration_error(joint)
        assert errors[degree].bounds[0] <= 2 * degree**2 * smooth + NOISE


@from_degree_one
def test_markov_remark_the_constant_is_attained_at_an_end(degree):
    """Opposite residuals at 0 and eps: T_d(1) - T_d(1 - 2 eps) is 2 d^2 eps and little less."""
    eps = 1e-5
    joint = cal.Joint.from_samples([eps, 0.0], [0.0, eps])
    smooth = cal.smooth_calibration_error(joint)
    measured = cal.low_degree_calibration_error(joint, degree=degree)
    assert measured == pytest.approx(2 * degree**2 * smooth, rel=1e-3)


@from_degree_one
@every_maker
def test_jackson_remark_smooth_is_at_most_low_degree_and_a_part_of_order_one_over_d(maker, degree):
    """smCE <= (1 + a) degCE_d + a ECE <= degCE_d + 2 a ECE, a = pi / (4 (d + 1)).

    A 1-Lipschitz w on [0, 1] has a polynomial Q of degree d with |w - Q| <= a (Jackson, with the
    constant of Favard, Akhiezer and Krein). Q / (1 + a) stays in [-1, 1], and what w - Q can gain
    is at most a ECE.
    """
    a = math.pi / (4 * (degree + 1))
    for joint, errors in sup_errors(maker):
        smooth = cal.smooth_calibration_error(joint)
        expected = cal.exact_calibration_error(joint)
        above = errors[degree].bounds[1]
        assert smooth <= (1 + a) * above + a * expected + NOISE
        assert smooth <= above + 2 * a * expected + NOISE


def test_jackson_remark_the_part_of_order_one_over_d_is_needed():
    """No one degree bounds the smooth error without it: degrees up to 4 see nothing here."""
    joint = equioscillating(6)
    smooth = cal.smooth_calibration_error(joint)
    assert smooth == pytest.approx(0.06 / 5, rel=1e-9)
    for degree in range(5):
        assert cal.low_degree_calibration_error(joint, degree=degree) <= NOISE
    assert cal.low_degree_calibration_error(joint, degree=10) > smooth


@every_maker
def test_low_degree_errors_grow_with_the_degree_up_to_ece(maker):
    """Each class holds the one before, and all are held by the bounded weights."""
    for joint, errors in sup_errors(maker):
        for lower, higher in itertools.pairwise(errors.values()):
            assert lower.bounds[0] <= higher.bounds[1] + NOISE
            assert lower <= higher * (1 + 1e-5) + NOISE
        assert errors[8] <= cal.exact_calibration_error(joint) + NOISE


@pytest.mark.parametrize("norm", ["l1", "l2"])
@universal
@given(law=joints())
def test_norms_of_moments_grow_with_the_degree_up_to_ece(norm, law):
    """The l2 norm allows (d + 1)^(1/2) times as much as the bounded weights do."""
    joint = joint_of(law)
    expected = cal.exact_calibration_error(joint)
    chain = [
        cal.low_degree_calibration_error(joint, degree=degree, norm=norm) for degree in range(9)
    ]
    assert all(lower <= higher + NOISE for lower, higher in itertools.pairwise(chain))
    assert chain[8] <= (3 if norm == "l2" else 1) * expected + NOISE


@pytest.mark.parametrize("degree", DEGREES)
@every_maker
def test_norms_of_polynomials_are_ordered(maker, degree):
    """l1 <= sup: powers stay within [0, 1]. l1 <= l2 <= (d + 1)^(1/2) l1: norms of d + 1 moments.

    The sup norm of what l2 allows is at most (d + 1)^(1/2), so l2 <= (d + 1)^(1/2) sup as well.
    """
    root = math.sqrt(degree + 1)
    for joint, errors in sup_errors(maker):
        high = errors[degree].bounds[1]
        l1 = cal.low_degree_calibration_error(joint, degree=degree, norm="l1")
        l2 = cal.low_degree_calibration_error(joint, degree=degree, norm="l2")
        assert l1 <= high + NOISE
        assert l1 <= l2 + NOISE
        assert l2 <= root * l1 + NOISE
        assert l2 <= root * high + NOISE
        assert abs(float(joint.mass @ joint.residual)) <= min(l1, l2, high) + NOISE


# Kernels


@universal
@given(joints())
def test_kernel_remark_smooth_is_at_most_root_two_laplace(law):
    """|w| <= 1 and |w'| <= 1 on [0, 1] give a norm of at most 2^(1/2) for exp(-|u - v|).

    The squared norm is (w(0)^2 + w(1)^2) / 2 + (1/2) times the integral of w^2 + w'^2.
    """
    joint = joint_of(law)
    smooth = cal.smooth_calibration_error(joint)
    assert smooth <= math.sqrt(2) * cal.kernel_calibration_error(joint) + NOISE


@every_maker
def test_kernel_remark_smooth_is_at_most_root_two_laplace_on_random_laws(maker):
    for law in laws(maker, 100, seed=31):
        joint = joint_of(law)
        smooth = cal.smooth_calibration_error(joint)
        assert smooth <= math.sqrt(2) * cal.kernel_calibration_error(joint) + NOISE


@universal
@given(joints())
def test_kernel_remark_laplace_is_at_most_of_the_order_of_the_root_of_emd(law):
    """kCE <= (d/2)^(1/2) + d for the lower distance d to calibration, and d is at most EMD."""
    joint = joint_of(law)
    mover = cal.earth_mover_distance(joint)
    assert cal.kernel_calibration_error(joint) <= math.sqrt(mover / 2) + mover + NOISE


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("bandwidth", [0.4, 10.0])
@universal
@given(law=joints())
def test_kernel_errors_lie_between_the_mean_residual_and_ece(kernel, bandwidth, law):
    """K(v, v) = 1, so |w| <= 1 in the unit ball: at most ECE.

    No two elements k(v) are further apart than (2 - 2 K(0, 1))^(1/2), so the error is within ECE
    times that of |E(y - p)|: a wide kernel is nearly a constant one.
    """
    joint = joint_of(law)
    measured = cal.kernel_calibration_error(joint, kernel=kernel, bandwidth=bandwidth)
    expected = cal.exact_calibration_error(joint)
    # Roots of sums over pairs have half of their digits.
    assert measured <= expected + 1e-7
    exponent = 1 / bandwidth if kernel == "laplace" else 1 / (2 * bandwidth**2)
    spread = math.sqrt(-2 * math.expm1(-exponent))
    mean = abs(float(joint.mass @ joint.residual))
    assert abs(measured - mean) <= spread * expected + 1e-7


@every_kernel
def test_kernel_errors_vanish_for_calibrated_laws(options):
    for law in laws(calibrated, 50):
        assert cal.kernel_calibration_error(joint_of(law), **options) <= NOISE


@pytest.mark.parametrize("norm", ["sup", "l1", "l2"])
def test_low_degree_errors_vanish_for_calibrated_laws(norm):
    for law in laws(calibrated, 10):
        for degree in (0, 2, 5):
            measured = cal.low_degree_calibration_error(joint_of(law), degree=degree, norm=norm)
            assert measured <= NOISE


@pytest.mark.parametrize("bandwidth", [0.05, 1.0])
@universal
@given(law=joints())
def test_kernel_remark_laplace_is_faithful(bandwidth, law):
    """Positive as soon as one level has a residual c: a tent on it alone tells.

    The squared norm on the line is the integral of f^2 / (2 h) + h f'^2 / 2: h/g + g/(3 h) for
    the tent of height one that reaches as far as g, the next level. So the error is at least
    |c| (h/g + g/(3 h))^(-1/2).
    """
    joint = joint_of(law)
    measured = cal.kernel_calibration_error(joint, bandwidth=bandwidth)
    residual = np.abs(joint.mass * joint.residual)
    steps = np.concatenate([[1.0], np.diff(joint.prediction), [1.0]])
    gap = np.minimum(steps[:-1], steps[1:])
    tents = residual * np.sqrt(gap * bandwidth / (bandwidth**2 + gap**2 / 3))
    assert measured >= tents.max() - 1e-15
    if np.abs(joint.residual).max() > 1e-6:
        assert measured > 0


def test_kernel_remark_gaussian_is_not_bounded_below_by_smooth():
    """A Gaussian weight is nearly a polynomial, and those of degree below 7 see nothing here.

    BGHN23: no power of the smooth error is a lower bound. The exact Gaussian error is 4.78e-8.
    """
    joint = equioscillating(8)
    smooth = cal.smooth_calibration_error(joint)
    assert smooth == pytest.approx(0.06 / 7, rel=1e-9)
    assert cal.kernel_calibration_error(joint, kernel="gaussian").bounds[1] < 1e-5
    assert cal.kernel_calibration_error(joint) >= smooth / math.sqrt(2)
    ratios = [
        cal.kernel_calibration_error(law, kernel="gaussian") / cal.smooth_calibration_error(law)
        for law in map(equioscillating, (2, 3, 4, 5, 6))
    ]
    # .957, .250, .042, .0055, .00062: faster than any power of the size.
    assert all(later < earlier / 3 for earlier, later in itertools.pairwise(ratios))


def test_polynomial_kernel_is_not_faithful():
    joint = equioscillating(8)
    assert cal.kernel_calibration_error(joint, kernel="polynomial", degree=6) <= 1e-12
    assert cal.kernel_calibration_error(joint, kernel="polynomial", degree=7) > 1e-9
    assert cal.kernel_calibration_error(joint) > 0.01


@every_kernel
@universal
@given(law=joints(max_levels=6))
def test_section_3_1_kernel_witness_is_a_distinguisher(options, law):
    """f(v, y) = w(v) y tells J* from J^p by as much as the error is."""
    joint = joint_of(law)
    measured = cal.kernel_calibration_error(joint, **options)
    w = dict(zip(joint.prediction.tolist(), measured.witness(joint.prediction), strict=True))
    nature, model = by_definition.two_worlds(*law)
    gain = math.fsum((nature[at] - model[at]) * w[at[0]] * at[1] for at in nature)
    assert gain * measured == pytest.approx(measured**2, rel=0, abs=1e-12)

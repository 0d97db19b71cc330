"""The low-degree calibration errors against their definitions: program, moments, witnesses."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.strategies import MAKERS, generic, joint_of, laws, universal, weighted_rows

# Laws of single rows are wanted here; that some errors say little of them is what warnings say.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

DEGREES = (0, 1, 2, 3, 5, 8)
NORMS = ("sup", "l1", "l2")
BY_MOMENTS = {"l1": by_definition.low_degree_l1, "l2": by_definition.low_degree_l2}
# How far a law moves the errors when predictions move by 1 on average, to their cell means.
ROUNDING_BOUND = {
    "sup": lambda degree: 2 * degree**2,
    "l1": lambda degree: degree,
    "l2": lambda degree: math.sqrt(sum(j**2 for j in range(degree + 1))),
}

NOISE = 1e-14  # rounding of residuals: all there is of the error of a calibrated law
CERTIFIED = 1e-5  # relative width that the bracket of the sup norm may have
SOLVER = 1e-7  # relative error of the oracle's linear program

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
every_degree = pytest.mark.parametrize("degree", DEGREES)
every_norm = pytest.mark.parametrize("norm", NORMS)
both_moments = pytest.mark.parametrize("norm", BY_MOMENTS)


@functools.cache
def measured_sup(maker, degree: int):
    """A series of laws with their Joints and sup-norm errors, shared by what is asked of them."""
    joints = ((law, joint_of(law)) for law in laws(maker, 6))
    return [
        (law, joint, cal.low_degree_calibration_error(joint, degree=degree))
        for law, joint in joints
    ]


def assert_meet(bounds, bracket, slack: float = SOLVER):
    """Two intervals that hold the same number."""
    low, high = bounds
    assert low <= bracket[1] * (1 + slack) + NOISE
    assert high >= bracket[0] * (1 - slack) - NOISE


def assert_value_within(value: float, bracket, slack: float):
    assert bracket[0] * (1 - slack) - NOISE <= value <= bracket[1] * (1 + slack) + NOISE


def coefficients(w, degree: int) -> np.ndarray:
    """Coefficients of 1, x, ..., x^d by interpolation; fails if w is not such a polynomial."""
    nodes = (1 - np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))) / 2
    found = np.linalg.solve(np.vander(nodes, increasing=True), w(nodes))
    between = np.linspace(0, 1, 101)
    interpolated = np.vander(between, degree + 1, increasing=True) @ found
    assert np.abs(w(between) - interpolated).max() <= 1e-8
    return found


# The oracles themselves


@every_maker
def test_oracles_agree_with_each_other(maker):
    """Closed forms of degrees 0 and 1, the two grids of a program, and the polynomial kernel."""
    for law in laws(maker, 8):
        first, second = by_definition.moments(*law, 1)
        assert_value_within(abs(first), by_definition.low_degree_sup(*law, 0), SOLVER)
        # A line within [-1, 1] is a mean of -+1 and -+(2 v - 1).
        closed = max(abs(first), abs(2 * second - first))
        assert_value_within(closed, by_definition.low_degree_sup(*law, 1), SOLVER)
        fine = by_definition.low_degree_sup(*law, 4)
        assert_meet(fine, by_definition.low_degree_sup(*law, 4, fineness=37))
        form = by_definition.kernel_form(*law, by_definition.polynomial_kernel(4))
        assert by_definition.low_degree_l2(*law, 4) ** 2 == pytest.approx(form, abs=1e-15)


# Values


@every_degree
@every_maker
def test_sup_norm_solves_the_linear_program(maker, degree):
    for law, _, measured in measured_sup(maker, degree):
        bracket = by_definition.low_degree_sup(*law, degree)
        assert_value_within(measured, bracket, CERTIFIED)
        assert_meet(measured.bounds, bracket)


@every_maker
def test_sup_norm_of_many_levels(maker):
    for law in laws(maker, 2, most=300, seed=300):
        for degree in (2, 5, 8):
            measured = cal.low_degree_calibration_error(joint_of(law), degree=degree)
            bracket = by_definition.low_degree_sup(*law, degree)
            assert_value_within(measured, bracket, CERTIFIED)
            assert_meet(measured.bounds, bracket)


def test_sup_norm_of_degree_twenty():
    """Coefficients in powers of v would be of the order of 1e14 here."""
    for law in laws(generic, 2):
        joint = joint_of(law)
        measured = cal.low_degree_calibration_error(joint, degree=20)
        bracket = by_definition.low_degree_sup(*law, 20, fineness=40)
        assert_value_within(measured, bracket, CERTIFIED)
        assert_meet(measured.bounds, bracket)
        low, high = measured.bounds
        assert high - low <= CERTIFIED * high
        assert np.abs(measured.witness(np.linspace(0, 1, 20001))).max() <= 1 + 1e-9
        assert measured.witness.advantage(joint) == pytest.approx(measured, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("degree", [33, 48, 64])
def test_sup_norm_of_high_degrees(degree):
    """The program of the oracle bounds polynomials on another, finer grid."""
    rng = np.random.default_rng(degree)
    p = rng.random(300)
    joint = cal.Joint.from_samples(rng.random(300) < p**1.5, p)
    law = by_definition.Law(joint.prediction, joint.mass, joint.outcome)
    measured = cal.low_degree_calibration_error(joint, degree=degree)
    bracket = by_definition.low_degree_sup(*law, degree, fineness=10)
    assert_value_within(measured, bracket, CERTIFIED)
    assert_meet(measured.bounds, bracket)
    low, high = measured.bounds
    assert high - low <= CERTIFIED * high
    assert np.abs(measured.witness(np.linspace(0, 1, 50001))).max() <= 1 + 1e-9
    assert measured.witness.advantage(joint) == pytest.approx(measured, rel=1e-6, abs=1e-9)
    assert cal.low_degree_calibration_error(joint, degree=32) <= high * (1 + 1e-9)


@both_moments
@pytest.mark.parametrize("degree", [33, 200, 1024])
def test_norms_of_moments_of_high_degrees(degree, norm):
    for law in laws(generic, 5, most=200, seed=301):
        joint = joint_of(law)
        measured = cal.low_degree_calibration_error(joint, degree=degree, norm=norm)
        assert measured == pytest.approx(BY_MOMENTS[norm](*law, degree), rel=0, abs=1e-13)
        assert measured.witness.advantage(joint) == pytest.approx(float(measured), abs=1e-12)
        kernel = cal.kernel_calibration_error(joint, kernel="polynomial", degree=degree)
        assert norm == "l1" or kernel == pytest.approx(float(measured), abs=1e-13)


def test_degrees_that_take_too_long_are_refused_with_the_reason():
    with pytest.raises(cal.errors.InvalidOptionError, match=r"at most 64.* takes minutes"):
        cal.low_degree_calibration_error([0, 1], [0.4, 0.6], degree=65)
    for norm in NORMS:
        with pytest.raises(cal.errors.InvalidOptionError, match="at most 1024"):
            cal.low_degree_calibration_error([0, 1], [0.4, 0.6], degree=1025, norm=norm)


@both_moments
@every_degree
@every_maker
def test_norms_of_coefficients_are_norms_of_moments(maker, degree, norm):
    for law in laws(maker, 60):
        measured = cal.low_degree_calibration_error(joint_of(law), degree=degree, norm=norm)
        expected = BY_MOMENTS[norm](*law, degree)
        assert measured == pytest.approx(expected, rel=0, abs=NOISE)
    for law in laws(maker, 5, most=300, seed=300):
        measured = cal.low_degree_calibration_error(joint_of(law), degree=degree, norm=norm)
        expected = BY_MOMENTS[norm](*law, degree)
        assert measured == pytest.approx(expected, rel=0, abs=NOISE)


def test_defaults_are_degree_two_and_the_sup_norm():
    """On a law whose other degrees and norms give other errors."""
    v, m, r = np.array([0.1, 0.5, 0.9]), np.array([0.25, 0.5, 0.25]), np.array([0.3, 0.3, 0.8])
    law = by_definition.Law(v, m, r)
    default = cal.low_degree_calibration_error(joint_of(law))
    assert_value_within(default, by_definition.low_degree_sup(*law, 2), CERTIFIED)
    others = [by_definition.low_degree_sup(*law, degree)[1] for degree in (1, 3)]
    others += [oracle(*law, 2) for oracle in BY_MOMENTS.values()]
    assert all(default != pytest.approx(other, rel=1e-2) for other in others)


@every_norm
@universal
@given(sample=weighted_rows(max_size=20))
def test_arrays_and_joint_give_the_same_error(norm, sample):
    y, p, w = sample
    joint = cal.low_degree_calibration_error(
        cal.Joint.from_samples(y, p, sample_weight=w), norm=norm
    )
    arrays = cal.low_degree_calibration_error(y, p, sample_weight=w, norm=norm)
    assert isinstance(arrays, float)
    assert arrays == pytest.approx(joint, rel=1e-6, abs=NOISE)
    labels = np.where(y == 1, "rain", "dry")
    named = cal.low_degree_calibration_error(
        labels, p, sample_weight=w, pos_label="rain", norm=norm
    )
    assert named == pytest.approx(joint, rel=1e-6, abs=NOISE)
    low, high = joint.bounds
    assert low <= joint <= high


# Witnesses


@every_degree
@every_maker
def test_witness_of_the_sup_norm_is_optimal_and_feasible(maker, degree):
    points = np.linspace(0, 1, 5001)
    for _, joint, measured in measured_sup(maker, degree):
        witness = measured.witness
        assert np.abs(witness(points)).max() <= 1 + 1e-9
        coefficients(witness, degree)
        gain = witness.advantage(joint)
        assert gain == pytest.approx(measured, rel=1e-6, abs=1e-9)
        values = witness(joint.prediction)
        assert math.fsum(values * joint.mass * joint.residual) == pytest.approx(gain, abs=1e-12)


@both_moments
@every_degree
@every_maker
def test_witness_of_a_norm_of_coefficients_is_optimal_and_feasible(maker, degree, norm):
    for law in laws(maker, 20):
        joint = joint_of(law)
        measured = cal.low_degree_calibration_error(joint, degree=degree, norm=norm)
        witness = measured.witness
        found = coefficients(witness, degree)
        size = np.abs(found).sum() if norm == "l1" else np.linalg.norm(found)
        # Interpolation in powers costs half of the digits.
        assert size <= 1 + 1e-6
        assert witness.advantage(joint) == pytest.approx(measured, rel=0, abs=1e-12)


@every_norm
def test_witness_of_a_calibrated_law_is_finite(norm):
    p = np.array([0.25, 0.5, 0.75])
    measured = cal.low_degree_calibration_error(p, p, norm=norm)
    assert measured == 0
    assert measured.bounds == (0, 0)
    assert np.isfinite(measured.witness(np.linspace(0, 1, 41))).all()
    assert measured.witness.advantage(cal.Joint.from_samples(p, p)) == 0


def test_no_other_polynomial_within_one_does_better():
    """Chebyshev polynomials of all degrees, shifted, and random ones over their largest value."""
    rng = np.random.default_rng(71)
    points = np.linspace(-1, 1, 2001)
    for law, _, measured in measured_sup(generic, 5):
        error = measured.bounds[1]
        x = 2 * law.prediction - 1
        for a in (*np.eye(6), *rng.normal(size=(4, 6))):
            p = np.polynomial.Chebyshev(a)
            size = np.abs(p(points)).max()
            assert abs(by_definition.advantage(p(x), *law)) <= size * error * (1 + 1e-4) + NOISE


# Bounds


@every_degree
@every_maker
def test_bounds_of_the_sup_norm_are_a_narrow_certificate(maker, degree):
    """What a feasible witness gains is a lower bound whatever the library says of it."""
    for _, joint, measured in measured_sup(maker, degree):
        low, high = measured.bounds
        assert 0 <= low <= measured <= high
        assert high - low <= CERTIFIED * high + NOISE
        assert measured.witness.advantage(joint) <= high * (1 + 1e-8) + NOISE


@both_moments
@every_degree
@every_maker
def test_bounds_of_norms_of_coefficients_meet_at_the_value(maker, degree, norm):
    for law in laws(maker, 40):
        measured = cal.low_degree_calibration_error(joint_of(law), degree=degree, norm=norm)
        assert measured.bounds == (measured, measured)


@every_norm
@every_degree
@every_maker
def test_errors_move_by_no_more_than_rounding_allows(maker, degree, norm):
    """Cell means cancel the first-order term; Markov bounds the slope of what the sup norm allows.

    The others have slopes of at most d, or the root of 1 + 4 + ... + d^2.
    """
    for law in laws(maker, 2 if norm == "sup" else 20, seed=72):
        if norm == "sup":
            exact = by_definition.low_degree_sup(*law, degree, fineness=100)
        else:
            exact = (BY_MOMENTS[norm](*law, degree),) * 2
        for cells in (4, 64):
            rounded = joint_of(law).rounded(cells)
            measured = cal.low_degree_calibration_error(rounded, degree=degree, norm=norm)
            bound = ROUNDING_BOUND[norm](degree) * rounded.rounding
            low, high = measured.bounds
            assert 0 <= low <= measured <= high
            assert_meet((low, high), exact)
            assert_meet((measured - bound, measured + bound), exact, slack=CERTIFIED)
            assert max(measured - low, high - measured) <= bound + CERTIFIED * measured + NOISE


@every_norm
def test_bounds_count_the_width_of_cells_that_counts_came_from(norm):
    joint = cal.Joint.from_counts([0.2, 0.7], [10, 20], [5, 12], width=0.002)
    measured = cal.low_degree_calibration_error(joint, degree=2, norm=norm)
    bound = 0.001 * ROUNDING_BOUND[norm](2)
    assert measured > bound, "else the lower bound would be cut off at zero"
    assert measured.bounds == pytest.approx((measured - bound, measured + bound), rel=CERTIFIED)


# Refusals


@pytest.mark.parametrize(
    "options",
    [
        *({"degree": degree} for degree in (-1, -3, 0.5, 1.5, math.nan, math.inf)),
        {"norm": "max"},
        {"norm": "L1 "},
        {"norm": 2},
        {"norm": None},
    ],
    ids=str,
)
def test_options_outside_are_refused(options):
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.low_degree_calibration_error([0, 1, 1], [0.2, 0.6, 0.9], **options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("degree", [-1, 1.5])
def test_degree_is_checked_for_every_norm(degree, norm):
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.low_degree_calibration_error([0, 1, 1], [0.2, 0.6, 0.9], degree=degree, norm=norm)

"""The kernel calibration error against its double sum, its witness, bounds and unbiased square."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from oracles import definitions as by_definition
from oracles.strategies import MAKERS, generic, joint_of, laws, rows, tied, universal, weighted_rows

# Laws of single rows are wanted here; that some errors say little of them is what warnings say.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

# Of squares: a root would magnify the rounding of small ones. Gaussian errors are approximations.
TOLERANCE = 1e-12
BANDWIDTHS = (0.05, 0.4, 1.0, 10.0)
DEGREES = (0, 1, 2, 3, 5, 8)
GRID = np.linspace(0, 1, 41)


def brownian(u, v):
    """The covariance of a random start and a Brownian motion: not one on the diagonal."""
    return 0.5 + np.minimum(u, v)


CASES = {
    **{
        f"laplace {h}": ({"kernel": "laplace", "bandwidth": h}, by_definition.laplace_kernel(h))
        for h in BANDWIDTHS
    },
    **{
        f"gaussian {h}": ({"kernel": "gaussian", "bandwidth": h}, by_definition.gaussian_kernel(h))
        for h in BANDWIDTHS
    },
    **{
        f"polynomial {d}": (
            {"kernel": "polynomial", "degree": d},
            by_definition.polynomial_kernel(d),
        )
        for d in DEGREES
    },
    "callable laplace": (
        {"kernel": by_definition.laplace_kernel(0.4)},
        by_definition.laplace_kernel(0.4),
    ),
    "callable brownian": ({"kernel": brownian}, brownian),
}
FEW = {
    name: CASES[name]
    for name in ("laplace 0.4", "gaussian 0.4", "polynomial 3", "callable brownian")
}

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
every_bandwidth = pytest.mark.parametrize("bandwidth", BANDWIDTHS)
every_case = pytest.mark.parametrize(("options", "kernel"), CASES.values(), ids=CASES)
few_cases = pytest.mark.parametrize(("options", "kernel"), FEW.values(), ids=FEW)


def close(value: float):
    return pytest.approx(value, rel=0, abs=TOLERANCE)


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


REACH = {
    "laplace": lambda e, h: math.sqrt(2 * e / h),
    "gaussian": lambda e, h: e / h,
}


@pytest.mark.parametrize("kernel", REACH)
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
            reach = REACH[kernel](rounded.rounding, bandwidth)
            low, high = measured.bounds
            # Roots of double sums have half of their digits.
            assert abs(measured - exact) <= reach + 1e-7
            assert low - 1e-7 <= exact <= high + 1e-7
            assert 0 <= low <= measured <= high
            assert max(measured - low, high - measured) <= reach + 1e-6


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
    for kernel, reach in REACH.items():
        measured = cal.kernel_calibration_error(joint, kernel=kernel, bandwidth=0.4)
        expected = (max(0.0, measured - reach(0.01, 0.4)), measured + reach(0.01, 0.4))
        assert measured.bounds == pytest.approx(expected, abs=1e-7)


# The unbiased square


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


@universal
@given(st.floats(1e-3, 1e3))
def test_any_bandwidth_is_taken(bandwidth):
    """From nearly the identity, the root of sum c^2, to nearly a constant kernel, |sum c|."""
    law = by_definition.Law(np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([0.6, 0.5]))
    joint = joint_of(law)
    form = by_definition.kernel_form(*law, by_definition.laplace_kernel(bandwidth))
    assert cal.kernel_calibration_error(joint, bandwidth=bandwidth) ** 2 == close(form)
    # A Gaussian is as smooth as it is wide: the narrower, the more an approximation costs.
    bandwidth = max(bandwidth, 0.01)
    form = by_definition.kernel_form(*law, by_definition.gaussian_kernel(bandwidth))
    measured = cal.kernel_calibration_error(joint, kernel="gaussian", bandwidth=bandwidth)
    assert measured**2 == close(form)

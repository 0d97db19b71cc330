"""Low-degree calibration error: the best polynomial test."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_degree, refuse_unknown
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    largest_mean_error,
    rounding_settings,
)
from calibrant.measures.rkhs import (
    MOST_POWERS,
    PolynomialKernel,
    chebyshev_moments,
    power_moments,
)
from calibrant.measures.witness import SeriesWitness

# Bounded polynomials of higher degree are refused: at degree 96 programs took up to 70 s.
MOST_BOUNDED = 64
# Up to this degree programs are small, so that the first grid is dense and the bracket narrower.
MOST_DENSE = 32
# The exchange of grid points settles in a few rounds; the bracket is proven whenever it stops.
MOST_ROUNDS = 15
# What HiGHS is asked for, and what a polynomial may exceed its bound by before it is scaled.
SOLVER_TOLERANCE = 1e-10
# Grid points per degree that bound a polynomial everywhere: 1 / cos(pi / 8192) is 1 + 7e-8.
CERTIFYING_POINTS = 4096


def low_degree_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    degree: int = 2,
    norm: str = "sup",
) -> Measurement:
    r"""Largest bias that a polynomial test of low degree can find.

    Smaller is better; 0 for calibrated forecasts, but not only for them.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    degree : int, default=2
        Largest degree of the tests: at most 64 for "sup" (there 1 to 7 s), at most 1024 for "l1"
        and "l2".
    norm : {"sup", "l1", "l2"}, default="sup"
        Tests bounded by 1 on [0, 1], or with coefficients of the powers of l1 or l2 norm one.

    Returns
    -------
    Measurement
        In [0, 1] for "sup" and "l1". Non-decreasing in `degree`. The witness is the polynomial.
        For "sup" the value is attained by the witness and `.bounds` proves how much more a better
        polynomial could find.

    Notes
    -----
    :math:`\max_P E[P(p)(y - p)]`. For "l1" this is the largest, for "l2" the root of the sum of
    squares, of the moments :math:`E[p^j (y - p)]`, which need one pass and no sort. For "sup" a
    small linear program in the Chebyshev moments, which stay accurate at any degree. A polynomial
    of degree d bounded by 1 has slope at most 2 d^2, so the value is at most 2 d^2 times the smooth
    error. Known flaw: degree 0 sees only the mean, degree 1 the mean and a slope; a test of degree
    d cannot see errors that change sign more than d times.

    References
    ----------
    Gopalan, Kim, Singhal, Zhao (2022), Low-degree multicalibration, COLT. Gopalan, Hu, Rothblum
    (2024), On computationally efficient multi-class calibration, COLT.

    Examples
    --------
    >>> low_degree_calibration_error([0, 1], [0.4, 0.6], degree=3)
    0.2272
    >>> low_degree_calibration_error([0, 1], [0.4, 0.6], degree=3, norm="l1")
    0.04
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    solvers = {"sup": _bounded, "l1": _largest_moment, "l2": _all_moments}
    refuse_unknown("norm", norm, solvers)
    degree = check_degree(degree, MOST_POWERS)
    if norm == "sup" and degree > MOST_BOUNDED:
        raise InvalidOptionError(
            f"bounded polynomials (norm 'sup') have degree at most {MOST_BOUNDED}: their linear "
            "program takes minutes beyond that",
            f"degree {degree}",
            "use norm='l2' or norm='l1'",
        )
    value, upper, slope, coefficient, basis = solvers[norm](joint, degree)
    slack = slope * joint.rounding
    high = upper + slack
    if joint.is_rounded:  # tests are at most 1, in l2 at most the root of the number of powers
        size = float(np.sqrt(degree + 1)) if norm == "l2" else 1.0
        high = max(upper, min(high, size * largest_mean_error(joint)))
    return Measurement(
        value,
        "low_degree_calibration_error",
        {"degree": degree, "norm": norm, **rounding_settings(joint)},
        partial(SeriesWitness.describe, joint, coefficient, basis),
        bounds=(max(0.0, value - slack), high),
    )


# Value, upper bound, steepest slope of a test, coefficients of the best test and their basis.
Solution = tuple[float, float, float, Floats, str]


def _largest_moment(joint: Joint, degree: int) -> Solution:
    moments = power_moments(joint, degree)
    best = int(np.argmax(np.abs(moments)))
    coefficient = np.zeros(degree + 1)
    coefficient[best] = np.sign(moments[best])
    value = float(abs(moments[best]))
    return value, value, float(degree), coefficient, "powers"


def _all_moments(joint: Joint, degree: int) -> Solution:
    space = PolynomialKernel(degree)
    value = float(np.sqrt(space.square(joint)[0]))
    return value, value, space.modulus(1.0), space.witness(joint).coefficient, "powers"


def _bounded(joint: Joint, degree: int) -> Solution:
    moments = chebyshev_moments(joint, degree)
    slope = 2.0 * degree**2
    if degree <= 2:
        coefficient = best_quadratic(moments[np.newaxis, :])[0]
        value = float(moments @ coefficient)
        return value, value, slope, coefficient, "chebyshev"
    coefficient, upper = best_bounded_polynomial(moments)
    value = float(moments @ coefficient)
    return value, max(value, upper), slope, coefficient, "chebyshev"


def low_degree_batch(
    joint: Joint, residual_masses: Floats, *, degree: int = 2, norm: str = "sup"
) -> Floats:
    """Low-degree errors of residual masses (one row each) on the levels of a Joint."""
    if norm == "l1":
        return np.asarray(
            np.abs(residual_masses @ np.vander(joint.prediction, degree + 1)).max(axis=1)
        )
    if norm == "l2":
        return np.sqrt(PolynomialKernel(degree).forms(joint.prediction, residual_masses))
    moments = residual_masses @ np.polynomial.chebyshev.chebvander(2 * joint.prediction - 1, degree)
    if degree <= 2:
        return np.asarray(np.sum(moments * best_quadratic(moments), axis=1))
    return np.array([row @ best_bounded_polynomial(row)[0] for row in moments])


def best_quadratic(moments: Floats) -> Floats:
    """Maximise the product with Chebyshev moments over bounded polynomials of degree at most 2.

    A linear functional is largest at an extreme polynomial: a constant, a line from -1 to 1, or,
    up to signs and reflection, the parabola 2 ((x + s) / (1 + s))^2 - 1 that touches -1 at -s and
    reaches 1 at 1, with 0 <= s <= 1. The best s has a closed form.

    Parameters
    ----------
    moments : array of shape (b, d + 1)
        Chebyshev moments, with d at most 2.

    Returns
    -------
    array of shape (b, d + 1)
        Chebyshev coefficients of the best polynomial for each row.
    """
    count, size = moments.shape
    candidates = [np.broadcast_to(line, (count, size)) for line in np.eye(size)[:2]]
    if size == 3:
        flip = np.array([1.0, -1.0, 1.0])
        for turned in (1.0, flip):
            mean, slope, bend = (moments * turned).T
            with np.errstate(divide="ignore", invalid="ignore"):
                best = ((bend + mean) / 2 - slope) / (mean - slope)
            touches = (np.zeros(count), np.ones(count), np.clip(np.nan_to_num(best), 0, 1))
            candidates += [_parabola(s) * turned for s in touches]
    polynomials = np.stack(candidates)
    gains = np.einsum("cbk,bk->cb", polynomials, moments)
    winner = np.argmax(np.abs(gains), axis=0)
    rows = np.arange(count)
    return np.asarray(polynomials[winner, rows] * np.sign(gains[winner, rows])[:, np.newaxis])


def _parabola(s: Floats) -> Floats:
    """Chebyshev coefficients of 2 ((x + s) / (1 + s))^2 - 1."""
    bend = 1 / (1 + s) ** 2
    return np.stack([bend * (1 + 2 * s**2) - 1, 4 * bend * s, bend], axis=1)


def best_bounded_polynomial(moments: Floats) -> tuple[Floats, float]:
    """Maximise the product with Chebyshev moments over polynomials bounded by 1 on [-1, 1].

    The linear programme bounds the polynomial on a grid; where it peaks between grid points, the
    peaks join the grid (Remez). The result is scaled to be bounded everywhere, checked by the
    bound of Ehlich and Zeller (1964): on the N + 1 Chebyshev points a polynomial of degree d shows
    at least the share cos(d pi / (2 N)) of its maximum.

    Returns
    -------
    array, float
        Chebyshev coefficients, and an upper bound for every bounded polynomial, from the dual:
        signed weights of the grid points whose moments are the given ones. Moments that the
        weights miss by r add at most 2 |r|, because no coefficient exceeds 2.
    """
    degree = moments.size - 1
    size = float(np.abs(moments).max())
    if size == 0:
        return np.zeros_like(moments), 0.0
    target = moments / size
    steps = (16 if degree <= MOST_DENSE else 4) * degree + 2
    grid = np.cos(np.pi * np.arange(steps + 1) / steps)
    best, lower, upper = np.zeros_like(moments), 0.0, np.inf
    found: list[Floats] = []
    for _ in range(MOST_ROUNDS):
        coefficient, weights = _solve_on_grid(target, grid)
        missed = target - np.polynomial.chebyshev.chebvander(grid, degree).T @ weights
        upper = min(upper, float(np.abs(weights).sum() + 2 * np.abs(missed).sum()))
        found.append(coefficient)
        # Where several polynomials are best, each round may return one that peaks elsewhere:
        # their average peaks less.
        for candidate in (coefficient, np.mean(found[len(found) // 2 :], axis=0)):
            scaled = candidate / _largest_value(candidate)
            if target @ scaled > lower:
                best, lower = scaled, float(target @ scaled)
        if upper - lower <= (10 if degree <= MOST_DENSE else 100) * SOLVER_TOLERANCE * upper:
            break
        grid = np.union1d(grid, _peaks(coefficient))
    return best, upper * size


def _solve_on_grid(target: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """Best coefficients when only the grid bounds the polynomial, and the weights of its points."""
    from scipy.optimize import linprog

    values = np.polynomial.chebyshev.chebvander(grid, target.size - 1)
    solution = linprog(
        -target,
        A_ub=np.concatenate([values, -values]),
        b_ub=np.ones(2 * grid.size),
        bounds=(None, None),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        },
    )
    upper, lower = np.split(-solution.ineqlin.marginals, 2)
    return solution.x, upper - lower


def _value(coefficient: Floats, at: Floats) -> Floats:
    return np.asarray(np.polynomial.chebyshev.chebval(at, coefficient))


def _peaks(coefficient: Floats) -> Floats:
    """Where a polynomial can be largest in absolute value inside (-1, 1)."""
    slope = np.polynomial.chebyshev.chebder(coefficient)
    if not slope.any():
        return np.empty(0)
    roots = np.polynomial.chebyshev.chebroots(np.trim_zeros(slope, "b"))
    real = roots[np.abs(roots.imag) < 1e-7].real
    return np.asarray(real[np.abs(real) < 1])


def _largest_value(coefficient: Floats) -> float:
    """Largest absolute value on [-1, 1], at least 1: at a peak or at an end.

    Should the roots of the slope be inaccurate, a fine grid shows it, and its bound is used.
    """
    candidates = np.concatenate([[-1.0, 1.0], _peaks(coefficient)])
    largest = max(1.0, float(np.abs(_value(coefficient, candidates)).max()))
    degree = max(1, coefficient.size - 1)
    points = CERTIFYING_POINTS * degree
    grid = np.cos(np.pi * np.arange(points + 1) / points)
    on_grid = float(np.abs(_value(coefficient, grid)).max())
    if on_grid <= largest * (1 + 1e-14):
        return largest
    return on_grid / float(np.cos(degree * np.pi / (2 * points)))

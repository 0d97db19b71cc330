"""Small laws whose kernel and low-degree errors are known, most of them in closed form.

The laws are D1 to D7 of the golden values of the other measures. Kernel errors follow from at most
four levels by hand; low-degree errors from the moments M_j, and for D2 from Chebyshev polynomials:
its residuals are -+.2 at 2 v - 1 = -+.2, so that an odd T_d gains .4 |T_d(.2)|.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from reference.golden import LAWS as ALL_LAWS, golden_joint

LAWS = list(ALL_LAWS)[:7]
every_law = pytest.mark.parametrize("law", LAWS)

KERNEL_ERRORS = {
    "laplace": [
        0.3,
        0.120422339,
        0.050170444,
        0.041570649,
        0.1,
        0.003881143,
        0.041121545,
    ],
    "gaussian": [
        0.3,
        0.039800831,
        0.032961755,
        0.015503721,
        0.1,
        0.000557237,
        0.018151369,
    ],
}
KERNEL_CASES = [
    pytest.param(kernel, law, value, id=f"{kernel}-{law}")
    for kernel, values in KERNEL_ERRORS.items()
    for law, value in zip(LAWS, values, strict=True)
]

SUP_OF_D2 = {
    0: 0.0,
    1: 0.08,
    2: 0.08,
    3: 0.2272,
    4: 0.2272,
    5: 0.338048,
    6: 0.338048,
    7: 0.39480832,
    # The extremum of T_9 nearest to 0, at cos(4 pi / 9) < .2, can be stretched to .2.
    9: 0.4,
    12: 0.4,
}
L1 = {
    "D2": {0: 0.0, 1: 0.04, 2: 0.04, 3: 0.04, 5: 0.04, 8: 0.04},
    "D3": {0: 0.0, 1: 0.035, 2: 0.0385, 3: 0.0385, 5: 0.0385, 8: 0.0385},
}
L2 = {
    "D2": {0: 0.0, 1: 0.04, 2: 0.0565685425, 3: 0.0642196232},
    "D3": {0: 0.0, 1: 0.035, 2: 0.0520312406, 3: 0.0632997038},
}


def moments_of(name: str) -> tuple[float, float]:
    v, m, r = map(np.array, ALL_LAWS[name])
    return math.fsum(m * (r - v)), math.fsum(m * (r - v) * v)


@pytest.mark.parametrize(("kernel", "law", "value"), KERNEL_CASES)
def test_golden_kernel_error(kernel, law, value):
    """Bandwidth one; nine decimals are known."""
    measured = cal.kernel_calibration_error(golden_joint(law), kernel=kernel, bandwidth=1.0)
    assert measured == pytest.approx(value, rel=0, abs=6e-10)


@pytest.mark.parametrize("bandwidth", [0.05, 0.4, 1.0, 10.0])
@pytest.mark.parametrize(("law", "residual", "gap"), [("D2", 0.2, 0.2), ("D4", 0.0625, 0.25)])
def test_kernel_errors_of_two_opposite_residuals(law, residual, gap, bandwidth):
    """c (1 + 1 - 2 K(u, v))^(1/2) in closed form."""
    joint = golden_joint(law)
    laplace = residual * math.sqrt(-2 * math.expm1(-gap / bandwidth))
    measured = cal.kernel_calibration_error(joint, bandwidth=bandwidth)
    assert measured == pytest.approx(laplace, rel=1e-12)
    gaussian = residual * math.sqrt(-2 * math.expm1(-((gap / bandwidth) ** 2) / 2))
    measured = cal.kernel_calibration_error(joint, kernel="gaussian", bandwidth=bandwidth)
    assert measured**2 == pytest.approx(gaussian**2, rel=0, abs=1e-14)


@pytest.mark.parametrize(("degree", "value"), SUP_OF_D2.items())
def test_golden_sup_norm_of_d2(degree, value):
    measured = cal.low_degree_calibration_error(golden_joint("D2"), degree=degree, norm="sup")
    assert measured == pytest.approx(value, rel=1e-5, abs=1e-15)
    low, high = measured.bounds
    assert low - 1e-12 <= value <= high + 1e-12


def test_witness_of_d2_is_the_chebyshev_polynomial_of_degree_three():
    """The only cubic within [-1, 1] that gains .2272; near misses of the value are near it."""
    x = np.linspace(0, 1, 21)
    witness = cal.low_degree_calibration_error(golden_joint("D2"), degree=3).witness
    t = 2 * x - 1
    assert witness(x) == pytest.approx(3 * t - 4 * t**3, abs=1e-2)


NORMED = [
    pytest.param(norm, law, degree, value, id=f"{norm}-{law}-{degree}")
    for norm, table in (("l1", L1), ("l2", L2))
    for law, values in table.items()
    for degree, value in values.items()
]


@pytest.mark.parametrize(("norm", "law", "degree", "value"), NORMED)
def test_golden_norms_of_coefficients(norm, law, degree, value):
    measured = cal.low_degree_calibration_error(golden_joint(law), degree=degree, norm=norm)
    # Ten decimals of the l2 norms are known.
    assert measured == pytest.approx(value, rel=0, abs=6e-11 if norm == "l2" else 1e-14)


@every_law
def test_closed_forms_of_the_sup_norm_of_degrees_zero_and_one(law):
    """|M_0|, and the larger of |M_0| and |2 M_1 - M_0|: the witness is -+1 or -+(2 v - 1)."""
    first, second = moments_of(law)
    constant = cal.low_degree_calibration_error(golden_joint(law), degree=0)
    assert constant == pytest.approx(abs(first), rel=1e-5, abs=1e-15)
    line = cal.low_degree_calibration_error(golden_joint(law), degree=1)
    assert line == pytest.approx(max(abs(first), abs(2 * second - first)), rel=1e-5, abs=1e-15)


def confidences() -> tuple[np.ndarray, np.ndarray]:
    """Whether a classifier was right, and how confident it was: too much, with ties."""
    rng = np.random.default_rng(2018)
    confidence = np.round(rng.beta(5, 2, 80), 2)
    return (rng.random(80) < 0.8 * confidence).astype(int), confidence


def test_bandwidth_of_four_tenths_gives_the_maximum_mean_calibration_error():
    """MMCE_m of Kumar, Sarawagi and Jain (2018): rows (r_i, c_i), kernel exp(-|r_i - r_j| / .4)."""
    correct, confidence = confidences()
    square = math.fsum(
        (c - r) * (d - s) * math.exp(-abs(r - s) / 0.4) / 80**2
        for c, r in zip(correct, confidence, strict=True)
        for d, s in zip(correct, confidence, strict=True)
    )
    measured = cal.kernel_calibration_error(correct, confidence, bandwidth=0.4)
    assert measured == pytest.approx(math.sqrt(square), rel=1e-12)


def test_balanced_weights_give_half_of_the_weighted_maximum_mean_calibration_error():
    """MMCE_w of the same paper averages over the right and over the wrong rows apart.

    Both averages have mass one there, and mass one half each in a law.
    """
    correct, confidence = confidences()
    right, wrong = confidence[correct == 1], confidence[correct == 0]

    def mean(of, others):
        """Of products of residuals, given with their confidences, times the kernel."""
        terms = (a * b * math.exp(-abs(r - s) / 0.4) for r, a in of for s, b in others)
        return math.fsum(terms) / (len(of) * len(others))

    short = list(zip(right, 1 - right, strict=True))
    excess = list(zip(wrong, wrong, strict=True))
    square = mean(short, short) + mean(excess, excess) - 2 * mean(short, excess)
    balanced = np.where(correct == 1, 1 / len(right), 1 / len(wrong))
    measured = cal.kernel_calibration_error(
        correct, confidence, sample_weight=balanced, bandwidth=0.4
    )
    assert measured == pytest.approx(math.sqrt(square) / 2, rel=1e-12)

"""Small laws whose values are known exactly.

D1 to D8 are small laws used for every measure of the library. D2 is the survey's p_eps with
eps = .1 and D4 its gap example with eps = .1 (Gopalan and Hu 2025, sections 2 and 6). The values
follow by hand from the definitions.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from reference.golden import LAWS, golden_joint

MEASURES = {
    "ECE": cal.exact_calibration_error,
    "ECE_2": lambda joint: cal.exact_calibration_error(joint, order=2),
    "ECE_inf": lambda joint: cal.exact_calibration_error(joint, order=math.inf),
    "ECE of 15 bins": cal.expected_calibration_error,
    "ECE without bins": lambda joint: cal.expected_calibration_error(joint, bins=None),
    "smCE": cal.smooth_calibration_error,
    "EMD": cal.earth_mover_distance,
    "thresholds": lambda joint: cal.cutoff_calibration_error(joint, sets="thresholds"),
    "intervals": lambda joint: cal.cutoff_calibration_error(joint, sets="intervals"),
    "ATB": cal.averaged_two_bin_error,
    "ATB_1": lambda joint: cal.averaged_two_bin_error(joint, order=1),
}

GOLDEN = {
    "ECE": [0.3, 0.4, 0.1, 0.125, 0.1, 0.0388, 0.2, 11 / 30],
    "ECE_2": [
        0.3,
        0.4,
        math.sqrt(0.02),
        0.125,
        0.1,
        math.sqrt(0.018824),
        0.2,
        math.sqrt(0.85 / 3),
    ],
    "ECE_inf": [0.3, 0.4, 0.2, 0.125, 0.1, 0.96, 0.2, 0.9],
    "ECE of 15 bins": [0.3, 0.4, 0.1, 0.125, 0.1, 0.0004, 0.2, 11 / 30],  # one bin holds all of D6
    "ECE without bins": [0.3, 0.4, 0.1, 0.125, 0.1, 0.0388, 0.2, 11 / 30],
    "smCE": [0.3, 0.04, 0.035, 0.015625, 0.1, 0.000784, 0.02, 0.28],
    "EMD": [0.3, 0.08, 0.07, 0.03125, 0.1, 0.001168, 0.04, 49 / 150],
    "thresholds": [0.3, 0.2, 0.05, 0.0625, 0.1, 0.0196, 0.05, 0.3],
    "intervals": [0.3, 0.2, 0.05, 0.0625, 0.1, 0.0196, 0.05, 0.3],
    # Sums of gaps times both biases, for instance D3: 0.7 (0.05^2 + 0.05^2).
    "ATB": [0.09, 0.016, 0.0035, 1 / 512, 0.01, 1.52128e-5, 0.002, 371 / 4500],
    "ATB_1": [0.3, 0.08, 0.07, 0.03125, 0.1, 0.001168, 0.04, 49 / 150],
}

CASES = [
    pytest.param(law, name, value, id=f"{name}-{law}")
    for name, values in GOLDEN.items()
    for law, value in zip(LAWS, values, strict=True)
]


@pytest.mark.parametrize(("law", "name", "value"), CASES)
def test_golden_value(law, name, value):
    assert MEASURES[name](golden_joint(law)) == pytest.approx(value, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("n_bins", "residual", "midpoint"),
    [(2, 0.49, 0.25), (10, 0.49, 0.45), (3, 0.0, 0.0), (11, 0.0, 0.0)],
)
def test_bucketed_error_depends_on_the_parity_of_the_bins(n_bins, residual, midpoint):
    """Predictions 1/2 -+ .01 with outcomes 0 and 1 (Blasiok, Gopalan, Hu, Nakkiran 2023).

    Even numbers of bins part the two levels: the residual form gives 1/2 - eps and the midpoint
    form 1/2 - 1/(2B). Odd numbers keep them together and give 0. The survey describes the second
    form and quotes the first number.
    """
    y, p = [0, 1], [0.49, 0.51]
    measured = cal.binned_calibration_error(y, p, n_bins=n_bins, form="residual")
    assert measured == pytest.approx(residual, abs=1e-12)
    measured = cal.binned_calibration_error(y, p, n_bins=n_bins, form="midpoint")
    assert measured == pytest.approx(midpoint, abs=1e-12)


def test_debiased_squared_error_is_zero_on_average_for_a_perfect_model():
    """n = 2000, 15 bins, p uniform: the plug-in square averages B/(6n) = 1.25e-3, debiased 0.

    Broecker (2012), Ferro and Fricker (2012), Kumar, Liang and Ma (2019).
    """
    rng = np.random.default_rng(2019)
    plug_in, debiased = [], []
    for _ in range(200):
        p = rng.random(2000)
        joint = cal.Joint.from_samples((rng.random(2000) < p).astype(int), p)
        plug_in.append(cal.binned_calibration_error(joint, n_bins=15, order=2) ** 2)
        corrected = cal.binned_calibration_error(joint, n_bins=15, order=2, debias=True)
        debiased.append(corrected.settings["squared"])
    error = np.std(debiased) / math.sqrt(200)
    assert np.mean(plug_in) == pytest.approx(1.24e-3, abs=3 * error)
    assert np.mean(debiased) == pytest.approx(0.0, abs=3 * error)
    assert error < 5e-5

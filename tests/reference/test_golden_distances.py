"""Distances of the small laws D1 to D8, known exactly.

The lower distance of D7 has no closed form that we know; a fine grid puts it between .03004397 and
.03004405.
"""

from __future__ import annotations

import pytest

import calibrant as cal
from calibrant.measures import partitions
from reference.golden import LAWS, golden_joint

D7_LOWER = pytest.approx(0.03004401, rel=0, abs=4e-8)

GOLDEN = {
    "lower": [0.3, 0.08, 7 / 170, 0.025, 0.1, 0.0004, D7_LOWER, 7 / 30],
    "upper": [0.3, 0.1, 0.1, 0.125, 0.1, 0.0004, 0.1, 7 / 30],
    "contiguous": [0.3, 0.1, 0.1, 0.125, 0.1, 0.0004, 0.1, 11 / 30],
    "interval": [0.3, 0.2, 0.1, 0.125, 0.1, 0.0204, 0.2, 11 / 30],
    "surrogate": [0.3, 0.4, 0.1, 0.125, 0.1, 0.0388, 0.2, 11 / 30],
}


def contiguous(joint: cal.Joint) -> float:
    atoms = partitions.PointMasses.levels(joint)
    return atoms.cost(partitions.best_of_neighbours(atoms))


MEASURES = {
    "lower": cal.lower_distance_to_calibration,
    "upper": cal.upper_distance_to_calibration,
    "contiguous": contiguous,
    "interval": cal.interval_calibration_error,
    "surrogate": cal.surrogate_interval_calibration_error,
}
CASES = [
    pytest.param(law, name, value, id=f"{name}-{law}")
    for name, values in GOLDEN.items()
    for law, value in zip(LAWS, values, strict=True)
]


@pytest.mark.parametrize(("law", "name", "value"), CASES)
def test_golden_value(law, name, value):
    expected = value if value is D7_LOWER else pytest.approx(value, rel=0, abs=1e-12)
    assert MEASURES[name](golden_joint(law)) == expected


@pytest.mark.parametrize("law", LAWS)
def test_golden_values_are_exact(law):
    joint = golden_joint(law)
    for measure in (cal.lower_distance_to_calibration, cal.upper_distance_to_calibration):
        low, high = measure(joint).bounds
        assert low == high


def test_true_distance_of_the_gap_example():
    """Survey, section 6: individuals of mass .4, .1, .1, .4, and the law D4 without them."""
    value = cal.distance_to_calibration(
        [0.375, 1, 0, 0.625], [0.375, 0.375, 0.625, 0.625], sample_weight=[0.4, 0.1, 0.1, 0.4]
    )
    assert value == pytest.approx(0.025, abs=1e-15)
    assert cal.upper_distance_to_calibration(golden_joint("D4")) == pytest.approx(0.125, abs=1e-15)


def test_pooling_neighbours_is_not_always_best():
    """D8: the outer levels pool, at 7/30; the best runs cost 11/30."""
    upper = cal.upper_distance_to_calibration(golden_joint("D8"))
    assert upper.witness([0.1, 0.2, 0.8]) == pytest.approx([0.8, 0.2, 0.8])

"""What the cutoff error may look at: intervals, both sides of a cut, one side, monotone weights."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.weight_functions import Monotone
from oracles import definitions as by_definition
from oracles.kernel_cases import every_maker
from oracles.strategies import joint_of, joints, laws, universal

BY_DEFINITION = {
    "intervals": by_definition.cutoff_over_intervals,
    "thresholds": by_definition.cutoff_over_thresholds,
    "lower": by_definition.cutoff_over_lower_sets,
    "monotone": by_definition.cutoff_over_monotone_weights,
}


@pytest.mark.parametrize("sets", BY_DEFINITION)
@every_maker
def test_value_is_that_of_the_definition(maker, sets):
    for law in laws(maker, 15, most=15):
        measured = cal.cutoff_calibration_error(joint_of(law), sets=sets)
        assert measured == pytest.approx(BY_DEFINITION[sets](*law), abs=1e-9)


@pytest.mark.parametrize("sets", BY_DEFINITION)
@universal
@given(law=joints())
def test_the_witness_attains_the_value(law, sets):
    joint = joint_of(law)
    measured = cal.cutoff_calibration_error(joint, sets=sets)
    assert measured.witness.advantage(joint) == pytest.approx(float(measured), abs=1e-12)
    if sets == "monotone":
        steps = np.diff(measured.witness(joint.prediction))
        assert (steps >= 0).all() or (steps <= 0).all()


@universal
@given(law=joints())
def test_chain_of_sets(law):
    joint = joint_of(law)
    lower, both, intervals, monotone = (
        float(cal.cutoff_calibration_error(joint, sets=sets))
        for sets in ("lower", "thresholds", "intervals", "monotone")
    )
    slack = 1e-12
    assert lower <= both + slack
    for larger in (intervals, monotone):
        assert both <= larger + slack
        assert larger <= 2 * both + slack
    family = cal.weighted_calibration_error(joint, family=Monotone())
    assert family == pytest.approx(monotone, abs=1e-12)


def test_kolmogorov_and_smirnov_take_lower_sets_alone():
    """Residuals -0.2, 0.6, 0.4 over three rows: S = -0.2, 0.4, 0.8 thirds; upper sets see 1.0."""
    y, p = [0, 1, 1], [0.2, 0.4, 0.6]
    expected = {"lower": 0.8 / 3, "thresholds": 1 / 3, "intervals": 1 / 3, "monotone": 1.2 / 3}
    for sets, value in expected.items():
        assert cal.cutoff_calibration_error(y, p, sets=sets) == pytest.approx(value)


def test_an_interval_is_offered_for_monotone_weights():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    measure = partial(cal.cutoff_calibration_error, sets="monotone")
    found = cal.confidence_interval(rng.random(400) < p, p, measure=measure, draws=39, rng=0)
    assert found.low <= found.value <= found.high

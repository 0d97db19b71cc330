"""J^p as an exact object, and the survey's identities as one line each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import calibrant as cal
from calibrant.errors import InvalidOptionError
from oracles import definitions as by_definition
from oracles.strategies import joint_of, joints, universal, weighted_rows

TESTS = {
    "outcome": lambda v, y: y,
    "prediction": lambda v, y: v,
    "both": lambda v, y: np.sin(5 * v) * y + v**2,
    "squared": lambda v, y: (v - y) ** 2,
    "constant": lambda v, y: 1.0,
}


@universal
@given(joints())
def test_point_masses_are_those_of_the_definition_in_both_worlds(law):
    joint = joint_of(law)
    nature, model = by_definition.two_worlds(*law)
    for world, masses in ((joint, nature), (joint.model_world(), model)):
        found = {
            (v, y): mass
            for v, row in zip(world.prediction.tolist(), world.point_masses().tolist(), strict=True)
            for y, mass in enumerate(row)
        }
        assert all(found[point] == pytest.approx(mass, abs=1e-15) for point, mass in masses.items())


@pytest.mark.parametrize("name", TESTS)
@universal
@given(law=joints())
def test_section_3_the_advantage_of_a_test_is_a_weighted_residual(name, law):
    """E_J* f - E_J^p f = E[(f(v, 1) - f(v, 0)) (y - v)]."""
    joint, test = joint_of(law), TESTS[name]
    advantage = joint.expectation(test) - joint.model_world().expectation(test)
    weight = np.broadcast_to(test(law.prediction, 1.0) - test(law.prediction, 0.0), law.mass.shape)
    residual = (law.mass * weight * (law.outcome - law.prediction)).sum()
    assert advantage == pytest.approx(residual, abs=1e-12)
    assert joint.expectation(lambda v, y: weight * (y - v)) == pytest.approx(residual, abs=1e-12)


@universal
@given(joints())
def test_lemma_2_3_the_expected_error_is_the_total_variation_of_the_two_worlds(law):
    joint = joint_of(law)
    apart = np.abs(joint.point_masses() - joint.model_world().point_masses()).sum() / 2
    assert cal.exact_calibration_error(joint) == pytest.approx(apart, abs=1e-12)


@universal
@given(joints())
def test_lemma_1_2_the_model_world_is_calibrated_and_is_its_own_model_world(law):
    world = joint_of(law).model_world()
    assert cal.exact_calibration_error(world) == pytest.approx(0, abs=1e-15)
    assert np.allclose(world.outcome, world.prediction, atol=1e-15)
    assert world.base_rate == pytest.approx(world.mean_prediction, abs=1e-12)
    assert np.allclose(world.model_world().positives, world.positives, atol=1e-12)


@universal
@given(joints())
def test_section_1_promised_payoffs_are_those_of_the_model_world(law):
    assume(0.1 not in law.prediction)  # where both actions are best
    joint, task = joint_of(law), cal.DecisionTask.umbrella()

    def payoff(v, y):
        carry = v >= 0.1
        return -np.where(carry, 0.1 * (1 - y), 0.9 * y)

    both = cal.promised_and_received(joint, task=task)
    assert joint.model_world().expectation(payoff) == pytest.approx(both.promised, abs=1e-12)
    assert joint.expectation(payoff) == pytest.approx(both.received, abs=1e-12)


@universal
@given(weighted_rows())
def test_the_model_world_keeps_rows_weights_and_predictions(sample):
    y, p, w = sample
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    world = joint.model_world()
    for name in ("prediction", "weight", "rows", "weight_squares"):
        assert np.array_equal(getattr(world, name), getattr(joint, name))
    assert not world.binary
    assert world.point_masses().sum() == pytest.approx(1, abs=1e-12)
    assert (world.point_masses() >= -1e-15).all()


def test_draws_of_the_model_world_average_to_it():
    joint = cal.Joint.from_counts([0.1, 0.5, 0.9], [400, 200, 300], [0, 200, 0])
    rng = np.random.default_rng(1)
    drawn = np.mean([joint.simulated(rng).positives for _ in range(400)], axis=0)
    expected = joint.model_world().positives
    spread = np.sqrt(joint.weight * joint.prediction * (1 - joint.prediction) / 400)
    assert (np.abs(drawn - expected) < 4 * spread).all()


def test_a_rounded_joint_has_a_model_world_in_the_same_cells():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    joint = cal.Joint.from_samples(rng.random(500) < p, p, resolution=16)
    world = joint.model_world()
    assert world.resolution == 16
    assert world.rounding == joint.rounding


def test_where_there_is_no_mass_a_test_may_be_infinite():
    joint = cal.Joint.from_counts([0.0, 1.0], [5, 5], [0, 5])
    with np.errstate(divide="ignore"):
        log_loss = joint.expectation(lambda v, y: -np.log(np.where(y == 1, v, 1 - v)))
    assert log_loss == 0


@pytest.mark.parametrize(
    "bad", [lambda v, y: [1.0], lambda v, y: v * np.nan], ids=["too few", "no number"]
)
def test_a_test_that_is_not_one_number_per_level_is_refused(bad):
    with pytest.raises(InvalidOptionError, match="one number for each prediction"):
        cal.Joint.from_samples([0, 1], [0.2, 0.6]).expectation(bad)

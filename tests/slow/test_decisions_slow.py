"""Exact decision losses against linear programs over menus of actions, thousands of times."""

from __future__ import annotations

import pytest

import calibrant as cal
from oracles import decision_definitions as by_definition
from oracles.strategies import adversarial, generic, joint_of, laws, tied

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning"),
]

three_makers = pytest.mark.parametrize(
    "maker", [generic, tied, adversarial], ids=lambda maker: maker.__name__
)


@three_makers
def test_decision_loss_of_thousands_of_laws(maker):
    for law in filter(by_definition.solvable, laws(maker, 2000, most=10, seed=44)):
        joint = joint_of(law)
        loss = cal.calibration_decision_loss(joint)
        assert loss == pytest.approx(by_definition.calibration_decision_loss(*law), abs=1e-9)
        attained = cal.fixed_decision_loss(joint, task=loss.witness.task)
        assert attained == pytest.approx(loss, abs=1e-12)


@three_makers
def test_u_calibration_error_of_thousands_of_laws(maker):
    for law in filter(by_definition.solvable, laws(maker, 1000, most=10, seed=45)):
        error = cal.u_calibration_error(joint_of(law))
        assert error == pytest.approx(by_definition.u_calibration_error(*law), abs=1e-9)

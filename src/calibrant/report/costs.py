"""What trusting the forecasts costs, for an audit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.decisions import (
    Curve,
    DecisionTask,
    NetBenefit,
    PromisedReceived,
    ScoreDecomposition,
    calibration_decision_loss,
    decision_loss_curve,
    fixed_decision_loss,
    net_benefit,
    promised_and_received,
    score_decomposition,
)
from calibrant.joint import Joint
from calibrant.measurement import Measurement
from calibrant.pooling import isotonic

# Exact levels of raw scores would know the outcomes; isotonic regression pools them.
POOLING = "isotonic"
# The curve of a report is read off at so many thresholds.
THRESHOLDS = 200


@dataclass(frozen=True, slots=True)
class Costs:
    """Losses of decision makers who take the forecasts at their word."""

    curve: Curve
    """Loss by threshold, for every two-action decision."""
    worst: Measurement
    """Most that any decision maker with payoffs in [0, 1] loses; its witness has the task."""
    decomposition: ScoreDecomposition
    """The Brier score in three parts."""
    benefit: NetBenefit
    """Net benefit by threshold, beside treating all and none."""
    task: DecisionTask | None = None
    """The reader's own decision."""
    task_loss: Measurement | None = None
    """What the forecasts cost per row in it."""
    promised: PromisedReceived | None = None
    """What the forecasts promise in it, and what they bring."""

    def at_thresholds(self) -> tuple[list[float], list[float]]:
        """Read the curve off at even thresholds, for a slider: cost when both costs add to 1."""
        at = np.arange(1, THRESHOLDS) / THRESHOLDS
        return at.tolist(), (self.curve(at) / 2).tolist()


def find_costs(joint: Joint, task: DecisionTask | None) -> Costs:
    """Measure what recalibrating the forecasts would save."""
    pools = isotonic(joint)
    return Costs(
        curve=decision_loss_curve(joint, pooling=pools),
        worst=calibration_decision_loss(joint, pooling=pools),
        decomposition=score_decomposition(joint, pooling=POOLING),
        benefit=_benefit(joint),
        task=task,
        task_loss=fixed_decision_loss(joint, task=task, pooling=pools)
        if task is not None
        else None,
        promised=promised_and_received(joint, task=task) if task is not None else None,
    )


def _benefit(joint: Joint) -> NetBenefit:
    found = net_benefit(joint)
    assert isinstance(found, NetBenefit)  # noqa: S101  # one forecaster
    return found

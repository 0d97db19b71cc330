"""What trusting the forecasts costs: every threshold, the worst task, and a task of one's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.decisions.curves import Curve, NetBenefit, decision_loss_curve, net_benefit
from calibrant.decisions.decomposition import ScoreDecomposition, score_decomposition
from calibrant.decisions.losses import calibration_decision_loss, fixed_decision_loss
from calibrant.decisions.regret import PromisedReceived, promised_and_received
from calibrant.decisions.tasks import DecisionTask
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
    task: object = None
    """The decision that the numbers below are about."""
    own: bool = True
    """Whether it is the reader's own, not that of guessing the class."""
    task_loss: Measurement | None = None
    """What recalibrating would bring per row in it."""
    promised: PromisedReceived | None = None
    """What the forecasts promise in it, and what they bring."""
    noise: float | None = None
    """Standard deviation of what perfect forecasts would bring, where it is known."""

    def at_thresholds(self) -> tuple[list[float], list[float]]:
        """Read the curve off at even thresholds, for a slider: cost when both costs add to 1."""
        at = np.arange(1, THRESHOLDS) / THRESHOLDS
        return at.tolist(), (self.curve(at) / 2).tolist()


def find_costs(joint: Joint, task: DecisionTask | None = None) -> Costs:
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

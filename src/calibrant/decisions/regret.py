"""Payoffs of somebody who trusts the forecasts, beside what was promised and what was possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.options import refuse_unknown
from calibrant.decisions.recalibrated_joint import RecalibratedJoint, recalibrated_joint
from calibrant.decisions.scores import AnyScore, Score, as_score, mean_loss, warn_of_infinity
from calibrant.decisions.tasks import DecisionTask
from calibrant.joint import Joint
from calibrant.measures.measurement import as_joint

TIES = ("worst", "best", "first", "last", "half")


def as_task(task: AnyScore) -> DecisionTask | Score:
    """Read a task or a score; a task stays what it is, to break its ties later."""
    return task if isinstance(task, DecisionTask) else as_score(task)


def check_ties(ties: str) -> None:
    """Refuse a rule for ties that is not known."""
    refuse_unknown("ties", ties, TIES)


def regret_of(
    joint: Joint, task: DecisionTask | Score, ties: str, pools: RecalibratedJoint
) -> float:
    """Mean payoff of the best response to recalibrated forecasts less that to the forecasts."""
    if isinstance(task, Score):
        return _score_regret(joint, task, pools)
    envelope = task.envelope
    left, right = kernels.losses_at(
        joint.prediction,
        joint.weight,
        joint.positives,
        *pools.pools,
        envelope.kinks_on(joint.prediction),
    )
    # A forecast on a kink takes an action of some slope between those below and above: the part
    # of the bend below that slope sees it act, as if from the left, the rest sees it wait.
    if ties in {"worst", "best"}:
        extreme = np.maximum(left, right) if ties == "worst" else np.minimum(left, right)
        lost = (envelope.high - envelope.low) * extreme
    elif ties == "half":
        lost = (envelope.high - envelope.low) * (left + right) / 2
    else:
        slope = task.payoffs[:, 1] - task.payoffs[:, 0]
        taken = slope[envelope.first if ties == "first" else envelope.last]
        taken = np.clip(taken, envelope.low, envelope.high)
        lost = (taken - envelope.low) * left + (envelope.high - taken) * right
    return float(lost.sum()) / joint.total


def _score_regret(joint: Joint, score: Score, pools: RecalibratedJoint) -> float:
    if pools.name == "levels":
        excess = score.excess(pools.outcome, joint.prediction)
        warn_of_infinity(joint, score, excess)
        return float(np.sum(excess * joint.weight)) / joint.total
    return mean_loss(joint, score) - pools.mean_loss(score)


@dataclass(frozen=True, slots=True)
class PromisedReceived:
    """Mean payoff that forecasts promise somebody who trusts them, and the one received."""

    promised: float
    """Payoff per row if every outcome were drawn from its prediction (J^p)."""
    received: float
    """Payoff per row on the outcomes that came (J*)."""

    @property
    def shortfall(self) -> float:
        """What was promised and did not come; negative if more came."""
        return self.promised - self.received

    @property
    def sentence(self) -> str:
        """Both payoffs in words."""
        promised, received = payoff_text(self.promised), payoff_text(self.received)
        return f"trusting the forecasts promises {promised} per row and brings {received}"

    def __str__(self) -> str:
        return self.sentence


def payoff_text(payoff: float) -> str:
    """Write a payoff with five digits."""
    return f"{payoff:.5g}"


def promised_and_received(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    task: AnyScore,
    ties: str = "worst",
) -> PromisedReceived:
    """Compare the payoff that forecasts promise with the payoff that trusting them brings.

    For calibrated forecasts the two are equal, for every task.

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
    task : DecisionTask, {"brier", "log", "spherical"}, Score, or (phi, subgradient)
        Who decides; the payoff of a score is minus its loss.
    ties : {"worst", "best", "first", "last", "half"}, default="worst"
        Which of several best actions is taken; see `fixed_decision_loss`.

    Returns
    -------
    PromisedReceived
        Payoffs per row, in the units of the task.

    Examples
    --------
    >>> task = DecisionTask.from_costs(false_positive=50, false_negative=350)
    >>> print(promised_and_received([0, 0, 0, 1], [0.5, 0.5, 0.2, 0.1], task=task))
    trusting the forecasts promises -31.25 per row and brings -125
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    check_ties(ties)
    return promises(joint, as_task(task), ties)


def promises(joint: Joint, task: DecisionTask | Score, ties: str) -> PromisedReceived:
    """Payoffs promised and received by who trusts the forecasts of a Joint."""
    if isinstance(task, Score):
        promised = -float(joint.mass @ task.expected(joint.prediction, joint.prediction))
        return PromisedReceived(promised, -mean_loss(joint, task))
    levels = recalibrated_joint(joint, "levels")
    possible = float(joint.mass @ task.phi(levels.outcome))
    promised = float(joint.mass @ task.phi(joint.prediction))
    return PromisedReceived(promised, possible - regret_of(joint, task, ties, levels))

"""Decision makers whom the forecasts mislead, as witnesses of a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions.recalibration import (
    AnyPooling,
    Recalibration,
    keep_constant,
    recalibrate,
)
from calibrant.decisions.regret import payoff_text, promises, regret_of
from calibrant.decisions.scores import Score, score_title
from calibrant.decisions.tasks import DecisionTask
from calibrant.joint import Joint
from calibrant.regions import strongest_region
from calibrant.witness import StepWitness
from calibrant.words import probability_text

MOST_THRESHOLDS = 3


@dataclass(frozen=True, slots=True)
class DecisionWitness(StepWitness):
    """Somebody who loses by trusting the forecasts.

    Called with predictions that occurred it says how much more the action that would have been
    right pays for outcome 1 than for outcome 0, compared with the action taken: positive where
    forecasts are too low for this decision maker, 0 where they do no harm.
    """

    task: DecisionTask | Score
    """What there is to decide; for the worst decision maker, the worst task."""
    ties: str
    pooling: AnyPooling
    regret: str

    def advantage(self, joint: Joint) -> float:
        """Payoff that this decision maker loses on a Joint."""
        return regret_of(joint, self.task, self.ties, pools_for(joint, self.pooling, self.regret))


def pools_for(joint: Joint, pooling: AnyPooling, regret: str) -> Recalibration:
    """Find what the forecasts are compared with: recalibrated ones, or the base rate."""
    return recalibrate(joint, pooling) if regret == "swap" else keep_constant(joint)


def decision_witness(
    joint: Joint, task: DecisionTask | Score, ties: str, pooling: AnyPooling, regret: str
) -> DecisionWitness:
    """Say where and how much the forecasts mislead a decision maker."""
    pools = pools_for(joint, pooling, regret)
    better = _slope(task, pools.at_levels()) - _slope(task, joint.prediction)
    region = strongest_region(joint, better)
    payoffs = promises(joint, task, ties)
    possible = payoff_text(payoffs.received + regret_of(joint, task, ties, pools))
    instead = "recalibrated they would bring" if regret == "swap" else "one action for all brings"
    where = "no forecast misleads" if region is None else region.sentence
    return DecisionWitness(
        joint.prediction,
        joint.prediction,
        better,
        f"{_name(task)}{payoffs.sentence}, {instead} {possible}; {where}",
        task,
        ties,
        pooling,
        regret,
    )


def _slope(task: DecisionTask | Score, forecast: Floats) -> Floats:
    """How much more the response to a forecast pays for outcome 1 than for outcome 0."""
    if isinstance(task, DecisionTask):
        return task.subgradient(forecast)
    if_not, if_so = task.losses(forecast)
    return np.nan_to_num(if_not - if_so)


def _name(task: DecisionTask | Score) -> str:
    if isinstance(task, Score):
        return f"by the {score_title(task.name)} "
    inside = [t for t in task.thresholds.tolist() if 0 < t < 1]
    if not 0 < len(inside) <= MOST_THRESHOLDS:
        return ""
    return f"to anybody who changes action at {' and '.join(map(probability_text, inside))} "

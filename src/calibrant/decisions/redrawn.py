"""Losses on redrawn outcomes: what perfect forecasts would seem to lose on the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant.binning import MonotonePools
from calibrant.decisions.losses import worst_value
from calibrant.decisions.recalibrated_joint import RecalibratedJoint
from calibrant.decisions.regret import regret_of
from calibrant.decisions.tasks import DecisionTask
from calibrant.joint import Joint

# What forecasts on a threshold do, as in `fixed_decision_loss`.
TIES = "worst"


@dataclass(frozen=True, slots=True)
class RedrawnLosses:
    """Losses against isotonic recalibration, one entry per draw of outcomes."""

    worst: Floats
    """Most that any decision maker with payoffs in [0, 1] loses."""
    at: Floats
    """Loss by threshold, when both costs add up to one: one row per draw."""
    task: Floats | None
    """Loss in a task of one's own."""
    surprise: Floats | None
    """Payoff received in it less the payoff promised."""

    @classmethod
    def of(
        cls,
        joint: Joint,
        residual_masses: Iterable[Floats],
        threshold: Floats,
        task: DecisionTask | None = None,
    ) -> RedrawnLosses:
        """Measure every draw.

        Parameters
        ----------
        joint : Joint
            The rows.
        residual_masses : iterable of float array of shape (draws, levels)
            Mass times residual of each level, for every draw of outcomes, in parts.
        threshold : float array
            Thresholds to read losses off, ascending.
        task : DecisionTask, optional
            A task of one's own.
        """
        worst, at, lost, surprise = [], [], [], []
        slope = None if task is None else task.subgradient(joint.prediction)
        for residual_mass in (row for part in residual_masses for row in part):
            drawn = joint.with_positives(
                residual_mass * joint.total + joint.weight * joint.prediction
            )
            pools = _isotonic(drawn)
            worst.append(worst_value(drawn, pools))
            at.append(_losses_at(drawn, pools, threshold))
            if task is not None:
                lost.append(regret_of(drawn, task, TIES, pools))
                surprise.append(float(residual_mass @ slope))
        return cls(
            np.array(worst),
            np.array(at),
            None if task is None else np.array(lost),
            None if task is None else np.array(surprise),
        )


def _isotonic(joint: Joint) -> RecalibratedJoint:
    """Pool as `recalibrate` does, without the Joint of the pools, which takes longer."""
    pools = MonotonePools.of(joint)
    return RecalibratedJoint("isotonic", pools.weight, pools.positives, pools.at_levels)


def _losses_at(joint: Joint, pools: RecalibratedJoint, threshold: Floats) -> Floats:
    one_sided = kernels.losses_at(
        joint.prediction, joint.weight, joint.positives, *pools.pools, threshold
    )
    return np.asarray(np.maximum(*one_sided) / joint.total)

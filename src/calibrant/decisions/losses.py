"""What trusting the forecasts costs: one decision maker, the worst one, and the worst gambler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import refuse_unknown
from calibrant._base.words import probability_text
from calibrant.decisions.recalibrated_joint import (
    AnyPooling,
    RecalibratedJoint,
    keep_constant,
    recalibrated_joint,
    warn_of_levels,
)
from calibrant.decisions.regret import as_task, check_ties, payoff_text, promises, regret_of
from calibrant.decisions.scores import AnyScore, Score, score_title
from calibrant.decisions.tasks import DecisionTask
from calibrant.joint import Joint
from calibrant.measures.exact import mean_distance
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    cell_bounds,
    largest_mean_error,
    rounding_settings,
)
from calibrant.measures.regions import strongest_region
from calibrant.measures.witness import StepWitness

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


def pools_for(joint: Joint, pooling: AnyPooling, regret: str) -> RecalibratedJoint:
    """Find what the forecasts are compared with: recalibrated ones, or the base rate."""
    return recalibrated_joint(joint, pooling) if regret == "swap" else keep_constant(joint)


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


REGRETS = ("swap", "external")


def fixed_decision_loss(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    task: AnyScore,
    ties: str = "worst",
    pooling: AnyPooling = "levels",
    regret: str = "swap",
) -> Measurement:
    r"""Payoff that a decision maker loses per row by taking the forecasts at their word (CFDL).

    Smaller is better, in the units of the task: money stays money. It compares the best response
    to the forecasts with the best response to recalibrated forecasts.

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
        Who decides: a task, or a proper score, or a convex function and its subgradient.
    ties : {"worst", "best", "first", "last", "half"}, default="worst"
        Which of several best actions is taken where a forecast is on a threshold: the one that
        turned out worst or best there, or the one named first or last in the task. "half" counts
        half for each of the two outermost, as elementary scores are published (Ehm et al. 2016).
    pooling : {"levels", "isotonic"}, int, sequence of float, or Pooling, default="levels"
        How the recalibration is estimated: exact levels (the definition), isotonic regression, a
        number of bins of equal width, edges of bins, or pools made before. On forecasts that
        hardly ever repeat exact levels are meaningless, and a warning says so.
    regret : {"swap", "external"}, default="swap"
        Against recalibrated forecasts, or against the one action that was best for all rows
        alike. The second may be negative: forecasts can be off and still be worth having.

    Returns
    -------
    Measurement
        Settings name the loss as a share of the range of payoffs (`normalised`). The witness
        shows where the forecasts mislead.

    Notes
    -----
    :math:`\max_\sigma E u(\sigma(p), y) - E u(\sigma_T(p), y)` over all maps from predictions to
    actions: the mean Bregman divergence of the task's convex function between frequencies and
    predictions. For the costs c0 of acting in vain and c1 of a miss it is (c0 + c1)/2 times the
    decision loss curve at the threshold c0 / (c0 + c1).
    Known flaw: not continuous, and estimated on the rows it is judged on.

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, Definition 4.2,
    Theorem 4.9. Hu, Wu (2024), Predict to minimize swap regret for all payoff-bounded tasks.

    Examples
    --------
    >>> from calibrant import Joint
    >>> joint = Joint.from_counts([0.05, 0.1, 0.4], [20, 10, 10], [4, 0, 3])
    >>> fixed_decision_loss(joint, task=DecisionTask.umbrella())
    0.075
    >>> fixed_decision_loss(joint, task=DecisionTask.umbrella(), ties="best")
    0.05
    >>> fixed_decision_loss(joint, task="brier")
    0.01625
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    check_ties(ties)
    refuse_unknown("regret", regret, REGRETS)
    if regret == "swap":
        warn_of_levels(joint, pooling)
    decision = as_task(task)
    pools = pools_for(joint, pooling, regret)
    value = regret_of(joint, decision, ties, pools)
    settings: dict[str, object] = {"regret": regret, "pooling": pools.name}
    if isinstance(decision, DecisionTask):
        share = value / decision.range if decision.range > 0 else 0.0
        settings |= {"task": repr(decision), "ties": ties, "normalised": share}
    else:
        settings["task"] = decision.name
    return Measurement(
        value,
        "fixed_decision_loss",
        {**settings, **rounding_settings(joint)},
        partial(decision_witness, joint, decision, ties, pooling, regret),
        bounds=cell_bounds(joint, value, *_trivial_ends(decision, pooling, regret)),
    )


def _trivial_ends(
    decision: DecisionTask | Score, pooling: AnyPooling, regret: str
) -> tuple[float, float]:
    """Least and largest loss that any rows could have."""
    most = decision.range if isinstance(decision, DecisionTask) else inf
    return (0.0 if regret == "swap" and _by_levels(pooling) else -most), most


def _by_levels(pooling: AnyPooling) -> bool:
    return isinstance(pooling, str) and pooling == "levels"


def calibration_decision_loss(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    payoffs: str = "unit",
    pooling: AnyPooling = "levels",
) -> Measurement:
    r"""Most that any decision maker loses by taking the forecasts at their word (CDL).

    Smaller is better; 0 if and only if calibrated. The largest fixed decision loss over all tasks
    with payoffs in [0, 1], whatever their actions, exactly.

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
    payoffs : {"unit", "v-shaped"}, default="unit"
        All tasks with payoffs in [0, 1]; or the largest V-shaped divergence, the top of the
        decision loss curve, which is between one and two times as large.
    pooling : {"levels", "isotonic"}, int, sequence of float, or Pooling, default="levels"
        How the recalibration is estimated; see `fixed_decision_loss`.

    Returns
    -------
    Measurement
        In [0, 1], for v-shaped payoffs in [0, 2]. `witness.task` is the worst task, with its
        payoffs; at most three actions are needed.

    Notes
    -----
    The least concave majorant of the decision loss curve at 1/2 (with 0 at both ends), by linear
    programming duality: payoffs in [0, 1] allow a convex function whose second derivative mu has
    :math:`\int t \, d\mu \le 1` and :math:`\int (1 - t) \, d\mu \le 1`. Between the square of the
    expected calibration error of order 2 and twice that of order 1. Known flaw: not continuous, and
    estimated on the rows it is judged on: exact levels that hold few rows overstate it, and
    isotonic regression does not see what an increasing calibrator cannot correct.

    References
    ----------
    Hu, Wu (2024), Predict to minimize swap regret for all payoff-bounded tasks, FOCS. Gopalan, Hu
    (2025), Calibration through the lens of indistinguishability, section 4. Li, Hartline, Shan,
    Wu (2022), Optimization of scoring rules, EC.

    Examples
    --------
    >>> loss = calibration_decision_loss([1, 1, 1], [0.9, 0.9, 0.9])
    >>> loss
    0.111111
    >>> loss.witness.task
    DecisionTask({'wait': {0: 1, 1: 0}, 'act': {0: 0, 1: 0.111111}})
    >>> calibration_decision_loss([1, 1, 1], [0.9, 0.9, 0.9], payoffs="v-shaped")
    0.2
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    warn_of_levels(joint, pooling)
    return _worst_loss(joint, "calibration_decision_loss", payoffs, pooling, "swap")


def u_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    payoffs: str = "unit",
) -> Measurement:
    r"""Most that any decision maker loses against the best single action in hindsight.

    Smaller is better; 0 says that anybody who trusts the forecasts does at least as well as by
    ignoring them. It is at most the calibration decision loss, and needs no recalibration.

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
    payoffs : {"unit", "v-shaped"}, default="unit"
        All tasks with payoffs in [0, 1], or V-shaped ones; see `calibration_decision_loss`.

    Returns
    -------
    Measurement
        In [0, 1]. `witness.task` is the worst task.

    Notes
    -----
    :math:`\sup_u \max_a E u(a, y) - E u(\sigma_u(p), y)`, exact, as the calibration decision loss
    with the base rate in the place of the recalibrated forecasts. Known flaws: not continuous;
    0 does not mean calibrated, since good forecasts may be wrong about themselves.

    References
    ----------
    Kleinberg, Leme, Schneider, Teng (2023), U-calibration: forecasting for an unknown agent, COLT
    (there for losses in [-1, 1], so twice as large).

    Examples
    --------
    >>> u_calibration_error([0, 1], [0.4, 0.6])
    0.0
    >>> u_calibration_error([1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3])
    0.642857
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    return _worst_loss(joint, "u_calibration_error", payoffs, "levels", "external")


def _worst_loss(
    joint: Joint, name: str, payoffs: str, pooling: AnyPooling, regret: str
) -> Measurement:
    """Largest loss over tasks: the concave hull of the loss curve at one half, or its top."""
    refuse_unknown("payoffs", payoffs, ("unit", "v-shaped"))
    pools = pools_for(joint, pooling, regret)
    value, kinks = _worst_kinks(joint, payoffs, pools)
    # Where nobody loses, nobody is the worst: let it be somebody who always acts.
    threshold, weight = [k[0] for k in kinks] or [0.0], [k[1] for k in kinks] or [1.0]
    settings = {"payoffs": payoffs} | ({"pooling": pools.name} if regret == "swap" else {})
    return Measurement(
        value,
        name,
        {**settings, **rounding_settings(joint)},
        partial(_worst_witness, joint, threshold, weight, pooling, regret),
        bounds=cell_bounds(joint, value, *_worst_ends(joint, payoffs, pooling, regret)),
    )


def _worst_ends(
    joint: Joint, payoffs: str, pooling: AnyPooling, regret: str
) -> tuple[float, float]:
    """Where the largest loss of rows in cells lies.

    The loss by exact levels is at least the square of the expected error of order 2, which merging
    levels lowers, and at most twice that of order 1; no other recalibration is worth more.
    """
    high = min(1.0, 2 * largest_mean_error(joint))
    levels = _by_levels(pooling) and regret == "swap" and joint.inherited_rounding == 0
    low = mean_distance(joint, 2) ** 2 if levels else 0.0
    return low, 2 * high if payoffs == "v-shaped" else high


def worst_value(joint: Joint, pools: RecalibratedJoint) -> float:
    """Most that any decision maker with payoffs in [0, 1] loses, for pools made before."""
    return _worst_kinks(joint, "unit", pools)[0]


def _worst_kinks(
    joint: Joint, payoffs: str, pools: RecalibratedJoint
) -> tuple[float, list[tuple[float, float, float]]]:
    """Largest loss, and the thresholds of the task that has it with their weights and losses."""
    single, single_loss, first, first_loss, second, second_loss = kernels.worst_thresholds(
        joint.prediction, joint.weight, joint.positives, *pools.pools
    )
    if payoffs == "v-shaped":
        kinks = [(single, 2.0, single_loss)]
    elif first == second:
        kinks = [(first, 2.0, first_loss)]
    else:
        share = (second - 0.5) / (second - first)
        kinks = [(first, 2 * share, first_loss), (second, 2 * (1 - share), second_loss)]
    kinks = [kink for kink in kinks if kink[1] > 0 and kink[2] > 0]
    return sum(weight * loss for _, weight, loss in kinks) / joint.total, kinks


def _worst_witness(
    joint: Joint, threshold: list[float], weight: list[float], pooling: AnyPooling, regret: str
) -> DecisionWitness:
    task = DecisionTask.from_kinks(threshold, weight)
    return decision_witness(joint, task, "worst", pooling, regret)

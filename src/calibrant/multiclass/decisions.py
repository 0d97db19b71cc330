"""What trusting forecasts of classes costs somebody who decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import refuse_unknown
from calibrant._base.words import count_text, forecast_and_rate
from calibrant.binning import isotonic
from calibrant.decisions import PromisedReceived, check_ties
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint, Rows
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.multiclass.canonical import residual_mass_of
from calibrant.multiclass.tasks import MulticlassDecisionTask, first_best, tied_best

RECALIBRATIONS = ("class_wise", "top_label", "canonical")


@dataclass(frozen=True, slots=True)
class ActionWitness:
    """The bias of each class among the rows of each action."""

    task: MulticlassDecisionTask
    payoffs: Floats
    bias: Floats
    """One row per action, one column per class: mass times (happened less forecast)."""
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Direction of the bias for the action that each row of probabilities leads to."""
        at = np.atleast_2d(np.asarray(prediction, dtype=np.float64))
        length = np.linalg.norm(self.bias, axis=1, keepdims=True)
        direction = np.divide(self.bias, length, out=np.zeros_like(self.bias), where=length > 0)
        return np.asarray(direction[first_best(self.payoffs, at)])

    def advantage(self, joint: Any) -> float:
        """Mean of <w(p), y - p> over the rows of ClassForecasts."""
        return float(np.vdot(residual_mass_of(joint), self(joint.probability)))


def decision_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    task: MulticlassDecisionTask,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Measurement:
    r"""Bias of the forecasts among the rows in which each action is taken, added up.

    Smaller is better; 0 if anybody who trusts the forecasts can estimate the payoff of every action
    of the task without bias, wherever each action is taken.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    task : MulticlassDecisionTask
        Who decides. Of several best actions the one named first is taken.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Measurement
        In [0, sqrt(2)]. What forecasts promise and what they bring differ by at most this times
        the longest row of payoffs, for this task and for every other with the same responses.

    Notes
    -----
    :math:`\sum_a \| E[(y - p) 1[\delta(p) = a]] \|_2`, with the best response :math:`\delta`. For
    two classes the two entries of a bias are equal and opposite: the value is the root of two
    times the biases below and above the threshold. Known flaw: not continuous.

    References
    ----------
    Zhao, Kim, Sahoo, Ma, Ermon (2021), Calibrating predictions to decisions: a novel approach to
    multi-class calibration, NeurIPS.

    Examples
    --------
    >>> task = MulticlassDecisionTask.guess([0, 1, 2])
    >>> decision_calibration_error(
    ...     [0, 2, 1], [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2]], task=task
    ... )
    0.503234
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    payoffs = _payoffs(task, forecasts)
    bias = _bias_by_action(forecasts, payoffs)
    value = float(np.linalg.norm(bias, axis=1).sum())
    return Measurement(
        value,
        "decision_calibration_error",
        {"task": repr(task)},
        partial(action_witness, forecasts, task, payoffs),
    )


def fixed_decision_loss(
    y_true: object,
    y_proba: object = None,
    *,
    task: MulticlassDecisionTask,
    recalibration: str = "class_wise",
    ties: str = "worst",
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Measurement:
    r"""Payoff per row that recalibrating the forecasts would bring a decision maker.

    Smaller is better, in the units of the task. It compares the best response to the forecasts
    with the best response to recalibrated ones.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    task : MulticlassDecisionTask
        Who decides.
    recalibration : {"class_wise", "top_label", "canonical"}, default="class_wise"
        "class_wise": isotonic regression of each class, rows then divided by their sum.
        "top_label": isotonic regression of the largest probability, the others scaled to the
        rest. "canonical": the frequencies of the classes among rows with equal probabilities,
        the definition; where rows hardly ever repeat it is meaningless.
    ties : {"worst", "best", "first", "last", "half"}, default="worst"
        Which of several best actions is taken on the forecasts: the one that turned out worst or
        best among rows with equal probabilities, the one named first or last, or each of them
        equally often.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Measurement
        Never negative for "canonical". The other two repair only what they see, and may make a
        decision worse: then the value is negative. For two classes "class_wise" and "canonical"
        are the binary loss with isotonic pooling and with levels.

    Notes
    -----
    Known flaw: the recalibration is estimated on the rows it is judged on; `recalibrate` judges
    maps out of sample.

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, section 4.

    Examples
    --------
    >>> task = MulticlassDecisionTask.guess([0, 1, 2])
    >>> fixed_decision_loss(
    ...     [1, 1, 0, 2], [[0.5, 0.4, 0.1]] * 3 + [[0.1, 0.3, 0.6]], task=task,
    ...     recalibration="canonical",
    ... )
    0.25
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    check_ties(ties)
    refuse_unknown("recalibration", recalibration, RECALIBRATIONS)
    payoffs = _payoffs(task, forecasts)
    received = _received(forecasts, payoffs, ties)
    recalibrated = RECALIBRATE[recalibration](forecasts)
    chosen = first_best(payoffs, recalibrated)
    possible = float(forecasts.mass @ payoffs[chosen, forecasts.label])
    value = possible - received
    share = value / task.range if task.range > 0 else 0.0
    return Measurement(
        value,
        "fixed_decision_loss",
        {"recalibration": recalibration, "task": repr(task), "ties": ties, "normalised": share},
        partial(action_witness, forecasts, task, payoffs),
    )


def promised_and_received(
    y_true: object,
    y_proba: object = None,
    *,
    task: MulticlassDecisionTask,
    ties: str = "worst",
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> PromisedReceived:
    """Compare the payoff that forecasts promise with the payoff that trusting them brings.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    task : MulticlassDecisionTask
        Who decides.
    ties : {"worst", "best", "first", "last", "half"}, default="worst"
        Which of several best actions is taken; see `fixed_decision_loss`.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    PromisedReceived

    Examples
    --------
    >>> task = MulticlassDecisionTask.guess([0, 1, 2])
    >>> print(promised_and_received([0, 2], [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]], task=task))
    trusting the forecasts promises 0.65 per row and brings 0.5
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    check_ties(ties)
    payoffs = _payoffs(task, forecasts)
    expected = (forecasts.probability @ payoffs.T).max(axis=1)
    return PromisedReceived(float(forecasts.mass @ expected), _received(forecasts, payoffs, ties))


def _received(forecasts: ClassForecasts, payoffs: Floats, ties: str) -> float:
    """Mean payoff of the best response to the forecasts."""
    tied = tied_best(payoffs, forecasts.probability)
    paid = payoffs.T[forecasts.label]
    if ties in {"worst", "best"}:
        # A decision maker cannot tell rows with equal probabilities apart.
        first, level = levels_of(forecasts.probability)
        sums = np.zeros((first.size, payoffs.shape[0]))
        np.add.at(sums, level, forecasts.mass[:, np.newaxis] * paid)
        if ties == "worst":
            return float(np.where(tied[first], sums, np.inf).min(axis=1).sum())
        return float(np.where(tied[first], sums, -np.inf).max(axis=1).sum())
    if ties == "half":
        shared = np.where(tied, paid, 0.0).sum(axis=1) / tied.sum(axis=1)
        return float(forecasts.mass @ shared)
    index = tied.argmax(axis=1)
    if ties == "last":
        index = tied.shape[1] - 1 - tied[:, ::-1].argmax(axis=1)
    return float(forecasts.mass @ paid[np.arange(len(forecasts)), index])


def levels_of(probability: Floats) -> tuple[Indices, Indices]:
    """First row of each distinct row of probabilities, and the number of each row's."""
    table = np.ascontiguousarray(probability + 0.0)
    whole = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1])))[:, 0]
    _, first, level = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first), np.asarray(level).reshape(-1)


def _canonical(forecasts: ClassForecasts) -> Floats:
    _, level = levels_of(forecasts.probability)
    sums = np.zeros((int(level.max()) + 1, len(forecasts.classes)))
    np.add.at(sums, (level, forecasts.label), forecasts.mass)
    return np.asarray((sums / sums.sum(axis=1, keepdims=True))[level])


def _class_wise(forecasts: ClassForecasts) -> Floats:
    """Isotonic regression of each class; rows that come out as zeros stay what they were."""
    columns = [_isotonic(forecasts.class_rows(index)) for index in range(len(forecasts.classes))]
    table = np.stack(columns, axis=1)
    total = table.sum(axis=1, keepdims=True)
    return np.where(total > 0, table / np.where(total > 0, total, 1.0), forecasts.probability)


def _top_label(forecasts: ClassForecasts) -> Floats:
    """Isotonic regression of the confidence; the other classes share what is left."""
    table = forecasts.probability
    top = table.argmax(axis=1)
    rows = np.arange(len(forecasts))
    confidence = _isotonic(forecasts.top_label_rows())
    rest = 1 - table[rows, top]
    others = np.divide(
        table,
        rest[:, np.newaxis],
        out=np.full_like(table, 1 / (table.shape[1] - 1)),
        where=rest[:, np.newaxis] > 0,
    )
    recalibrated: Floats = others * (1 - confidence)[:, np.newaxis]
    recalibrated[rows, top] = confidence
    return recalibrated


RECALIBRATE: dict[str, Callable[[ClassForecasts], Floats]] = {
    "class_wise": _class_wise,
    "top_label": _top_label,
    "canonical": _canonical,
}


def _isotonic(rows: Rows) -> Floats:
    pools = isotonic(Joint.from_rows(rows))
    return np.asarray(pools.joint.outcome[pools.pool_of(rows.prediction)])


def _bias_by_action(forecasts: ClassForecasts, payoffs: Floats) -> Floats:
    """Mass times (happened less forecast) of each class, among the rows of each action."""
    bias = np.zeros_like(payoffs)
    np.add.at(bias, first_best(payoffs, forecasts.probability), residual_mass_of(forecasts))
    return bias


def action_witness(
    forecasts: ClassForecasts, task: MulticlassDecisionTask, payoffs: Floats
) -> ActionWitness:
    """Say where an action is taken on biased forecasts."""
    bias = _bias_by_action(forecasts, payoffs)
    action = first_best(payoffs, forecasts.probability)
    worst = int(np.argmax(np.linalg.norm(bias, axis=1)))
    inside = action == worst
    mass = float(forecasts.mass[inside].sum())
    if not bias.any() or mass == 0:
        return ActionWitness(task, payoffs, bias, "no action is taken on biased forecasts")
    off = int(np.argmax(np.abs(bias[worst])))
    forecast = float(forecasts.mass[inside] @ forecasts.probability[inside, off]) / mass
    rates = forecast_and_rate(forecast, forecast + float(bias[worst, off]) / mass)
    sentence = (
        f"where {task.actions[worst]!r} is best, class {forecasts.classes[off]} is off: "
        f"{rates} ({count_text(int(inside.sum()), 'row')})"
    )
    return ActionWitness(task, payoffs, bias, sentence)


def _payoffs(task: object, forecasts: ClassForecasts) -> Floats:
    """Payoffs in the order of the classes, of a task for many classes."""
    if not isinstance(task, MulticlassDecisionTask):
        raise InvalidOptionError(
            "@task must be a MulticlassDecisionTask", type(task).__name__, "it has a column a class"
        )
    return task.aligned(forecasts)

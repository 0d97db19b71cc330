"""What trusting forecasts of classes costs: somebody's own task, or that of guessing the class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant.inference import Costs
from calibrant.joint.classes import ClassForecasts
from calibrant.multiclass.decisions import fixed_decision_loss, promised_and_received
from calibrant.multiclass.tasks import MulticlassDecisionTask, first_best

# Guessing is a task of as many actions as classes: with more probabilities it takes too long.
MOST_GUESSED = 2**22


def find_class_costs(
    costs: Costs, forecasts: ClassForecasts, task: MulticlassDecisionTask | None, *, alone: bool
) -> Costs:
    """Add what recalibrating would save in a task for classes.

    Curve, worst loss and decomposition stay those of anybody who trusts the confidence in the most
    likely class. Without a task of the reader's own, the task is to guess the class, unless there
    are very many probabilities.

    Parameters
    ----------
    costs : Costs
        Those of the confidence in the most likely class.
    forecasts : ClassForecasts
        Probabilities and labels.
    task : MulticlassDecisionTask, optional
        The reader's own decision.
    alone : bool
        Whether rows do not depend on each other: then the spread of perfect forecasts' payoff
        is known.
    """
    if task is None and forecasts.probability.size > MOST_GUESSED:
        return costs
    taken = MulticlassDecisionTask.guess(forecasts.classes) if task is None else task
    promised = promised_and_received(forecasts, task=taken)
    return replace(
        costs,
        task=taken,
        own=task is not None,
        task_loss=fixed_decision_loss(forecasts, task=taken),
        promised=promised,
        noise=_noise(forecasts, taken) if alone else None,
    )


def _noise(forecasts: ClassForecasts, task: MulticlassDecisionTask) -> float:
    """Spread of the mean payoff if every label were drawn with the chances forecast."""
    payoffs = task.aligned(forecasts)
    paid = payoffs[first_best(payoffs, forecasts.probability)]
    total = forecasts.probability.sum(axis=1)
    mean = (forecasts.probability * paid).sum(axis=1) / total
    square = (forecasts.probability * paid**2).sum(axis=1) / total
    return float(np.sqrt(forecasts.mass**2 @ np.maximum(square - mean**2, 0.0)))

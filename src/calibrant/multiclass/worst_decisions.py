"""Decision calibration against every task with so many actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from calibrant.arrays import Flags, Floats
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measurement import Measurement
from calibrant.multiclass.canonical import charges_of
from calibrant.multiclass.decisions import ActionWitness, action_witness, levels_of
from calibrant.multiclass.tasks import MulticlassDecisionTask, first_best
from calibrant.options import as_generator, whole

MOST_ACTIONS = 100
# Lines through all pairs of so many levels are looked at; of more, tasks are searched for.
MOST_LEVELS = 150
STARTS, STEPS = 60, 60
SAME = 1e-12


def worst_decision_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    actions: int = 2,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    rng: np.random.Generator | int | None = 0,
) -> Measurement:
    r"""Largest decision calibration error of any task with at most so many actions.

    Smaller is better; if it is small, nobody who chooses between so few actions is misled about
    what they pay, whatever the payoffs are.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    actions : int, default=2
        Number of actions, at most 100.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.
    rng : numpy.random.Generator or int, default=0
        Source of the search, where one is needed; fixed by default.

    Returns
    -------
    Measurement
        In [0, sqrt(2)]: the error of a task that was found, so a lower bound; `.bounds` are
        certified, and equal where the task is the worst: for two classes, and for three classes
        with two actions and at most 150 different rows. The witness holds the task.

    Notes
    -----
    The largest :math:`\sum_a \| E[(y - p) 1[\delta(p) = a]] \|_2` over best responses
    :math:`\delta` to tasks with so many actions. Two actions part the probabilities by a
    hyperplane. Known flaw: not continuous, and where the search is needed the upper bound, which
    gives every row of probabilities an action of its own, is wide.

    References
    ----------
    Zhao, Kim, Sahoo, Ma, Ermon (2021), Calibrating predictions to decisions: a novel approach to
    multi-class calibration, NeurIPS.

    Examples
    --------
    >>> labels = [0, 0, 1, 1, 2, 2]
    >>> table = [[0.6, 0.2, 0.2]] * 3 + [[0.2, 0.3, 0.5]] * 3
    >>> error = worst_decision_calibration_error(labels, table)
    >>> round(float(error), 4), error.settings["exact"]
    (0.256, True)
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    count = whole("actions", actions, 2, MOST_ACTIONS)
    first, level = levels_of(forecasts.probability)
    stated = forecasts.probability[first]
    bias = np.zeros_like(stated)
    np.add.at(bias, level, charges_of(forecasts))
    most = min(float(np.linalg.norm(bias, axis=1).sum()), float(np.sqrt(2)))
    two, few = stated.shape[1] == 2, stated.shape[1] == 3 and len(stated) <= MOST_LEVELS
    exact = two or (few and count == 2) or len(stated) <= 2
    if two:
        payoffs = _of_two_classes(stated[:, 1], bias[:, 1], count)
    elif few and count == 2:
        payoffs = _by_lines(stated, bias)
    else:
        payoffs = _searched(stated, bias, count, as_generator(rng))
    value = _error(stated, bias, payoffs)
    return Measurement(
        value,
        "worst_decision_calibration_error",
        {"actions": count, "levels": first.size, "exact": exact},
        partial(_witness, forecasts, payoffs),
        bounds=(value, value if exact else max(value, most)),
    )


def _error(stated: Floats, bias: Floats, payoffs: Floats) -> float:
    """Decision calibration error of the best responses to payoffs."""
    sums = np.zeros((len(payoffs), bias.shape[1]))
    np.add.at(sums, first_best(payoffs, stated), bias)
    return float(np.linalg.norm(sums, axis=1).sum())


def _of_two_classes(chance: Floats, bias: Floats, count: int) -> Floats:
    """Cut the chances of the second class into intervals with the largest absolute biases.

    The best value up to a level with a further cut is the largest of the values before it, plus or
    minus what was added up since: running maxima.
    """
    order = np.argsort(chance)
    total = np.append(0.0, np.cumsum(bias[order]))
    value = np.abs(total)
    cuts = []
    for _ in range(count - 1):
        up, down = (_running_best(value + sign * total) for sign in (-1, 1))
        rising, falling = value[up] - total[up] + total, value[down] + total[down] - total
        cuts.append(np.where(rising >= falling, up, down))
        value = np.maximum(rising, falling)
    place, found = total.size - 1, []
    for cut in reversed(cuts):
        place = int(cut[place])
        found.append(place)
    inner = sorted({cut for cut in found if 0 < cut < chance.size})
    ascending = chance[order]
    between = np.array([(ascending[cut - 1] + ascending[cut]) / 2 for cut in inner])
    # Action a gains 1 more for each cut below, and pays for it as much as makes both equal there.
    gained = np.arange(len(inner) + 1.0)
    paid = np.append(0.0, np.cumsum(between))
    payoffs = np.stack([-paid, gained - paid], axis=1)
    return payoffs if len(payoffs) > 1 else np.vstack([payoffs, payoffs - 1])


def _running_best(value: Floats) -> Any:
    """Place of the largest value so far."""
    best = np.maximum.accumulate(value)
    return np.maximum.accumulate(np.where(value >= best, np.arange(value.size), 0))


def _by_lines(stated: Floats, bias: Floats) -> Floats:
    """Part three classes by lines: each parting has a line through two levels next to it.

    Turned a little about a point between them, a line parts the levels that lie on it into those
    before and those after.
    """
    best, side = -1.0, np.zeros(len(stated), dtype=bool)
    total = bias.sum(axis=0)
    for above, on in _lines(stated[:, :2]):
        sums = np.cumsum(bias[on], axis=0)
        start = bias[above].sum(axis=0)
        inside = np.concatenate([[start], start + sums, start + sums[-1] - sums])
        values = np.linalg.norm(inside, axis=1) + np.linalg.norm(total - inside, axis=1)
        found = int(np.argmax(values))
        if values[found] > best + SAME:
            best, side = float(values[found]), above.copy()
            side[on[:found] if found <= on.size else on[found - on.size :]] = True
    return _parting(stated, side)


def _lines(place: Floats) -> Iterator[tuple[Flags, Any]]:
    """Levels above each line through two of them, and those on it, in their order along it."""
    if len(place) == 1:
        yield np.zeros(1, dtype=bool), np.array([0])
    for i in range(len(place)):
        for j in range(i + 1, len(place)):
            along = place[j] - place[i]
            away = place - place[i]
            height = along[0] * away[:, 1] - along[1] * away[:, 0]
            on = np.flatnonzero(np.abs(height) <= SAME)
            yield height > SAME, on[np.argsort(away[on] @ along)]


def _parting(stated: Floats, side: Flags) -> Floats:
    """Payoffs of two actions, the second best exactly on one side: the widest parting."""
    from scipy.optimize import linprog

    sign = np.where(side, 1.0, -1.0)
    # Sums of probabilities are one, so that a plane through the origin parts as any line does.
    limits = np.column_stack([-sign[:, np.newaxis] * stated, np.ones(len(stated))])
    cost = np.append(np.zeros(stated.shape[1]), -1.0)
    box = [*[(-1, 1)] * stated.shape[1], (None, 1)]
    found = linprog(cost, A_ub=limits, b_ub=np.zeros(len(stated)), bounds=box, method="highs")
    weight = found.x[:-1] if found.x is not None else np.zeros(stated.shape[1])
    return np.stack([np.zeros_like(weight), weight])


def _searched(stated: Floats, bias: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Look for a bad task: random ones, and small changes of the best that was found."""
    tried = [rng.normal(size=(count, stated.shape[1])) for _ in range(STARTS)]
    # One action for some of the classes each: what guessing would do.
    tried += [np.eye(stated.shape[1])[rng.permutation(stated.shape[1])[:count]]] * (
        stated.shape[1] >= count
    )
    values = [_error(stated, bias, payoffs) for payoffs in tried]
    best = int(np.argmax(values))
    payoffs, value = tried[best], values[best]
    for step in range(STEPS * count):
        change = rng.normal(size=payoffs.shape) * 2.0 ** -(step % 8)
        found = _error(stated, bias, payoffs + change)
        if found > value:
            payoffs, value = payoffs + change, found
    return payoffs


def _witness(forecasts: ClassForecasts, payoffs: Floats) -> ActionWitness:
    task = MulticlassDecisionTask(payoffs)
    return action_witness(forecasts, task, payoffs)

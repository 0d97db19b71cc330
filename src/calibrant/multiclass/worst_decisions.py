"""Decision calibration against every task with so many actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator, whole
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.multiclass.canonical import residual_mass_of
from calibrant.multiclass.decisions import ActionWitness, action_witness, levels_of
from calibrant.multiclass.tasks import TIE_TOLERANCE, MulticlassDecisionTask, first_best

MOST_ACTIONS = 100
# Lines through each of so many levels are looked at; of more, tasks are searched for.
MOST_LEVELS = 2000
STARTS, STEPS = 60, 60
# Turns of a hyperplane, fewer of them where levels times classes are many.
FEWEST_TURNS, MOST_TURNS, NUMBERS_TURNED = 20, 400, 2 * 10**7
# Steps towards the best weights of the upper bound; of more classes each takes a second.
STEPS_OF_WEIGHTS, MANY_CLASSES = 20, 200
# Least weight of a level, as a share of the last one.
FAINT = 1e-9
# Levels so close to a line lie on it: decimal fractions on a line are off it by less.
NEAR = 1e-13
# Partings that are tried before a line is given up that payoffs in floats cannot follow.
MOST_TRIED = 20
# Values this close are equal.
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
        certified. They are equal, and `settings["exact"]` is true, where the task is known to be
        the worst: for two classes, for three classes with two actions and at most 2000 different
        rows, and for no more different rows than actions. Rows of three classes that differ in
        their last digits only (1e-13) may be an exception. The witness holds the task.

    Notes
    -----
    The largest :math:`\sum_a \| E[(y - p) 1[\delta(p) = a]] \|_2` over best responses
    :math:`\delta` to tasks with so many actions. Two actions part the probabilities by a
    hyperplane; for three classes every line that matters turns about one row of probabilities,
    O(m^2 log m) for m different rows. Elsewhere a task is searched for (two actions: by turning
    hyperplanes, each to its best angle), and the upper bound allows every parting into so many
    groups, whether a task leads to it or not: with b the biases of the rows, the root of
    :math:`\|\sum b\|^2 + (actions - 1) S^2`, where S^2 is at most
    :math:`\sum d \; \lambda_{max}(\sum b b^T / d)` for all positive weights d, by semidefinite
    duality. It never exceeds the sum of the lengths of all biases. Known flaw: not continuous, and
    where the search is needed the bounds are wide, the less so the more classes there are.

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
    np.add.at(bias, level, residual_mass_of(forecasts))
    most = min(float(np.linalg.norm(bias, axis=1).sum()), float(np.sqrt(2)))
    if stated.shape[1] == 2:
        payoffs, most = _of_two_classes(stated[:, 1], bias[:, 1], count)
    elif len(stated) <= count:
        payoffs = _one_action_each(stated)
    elif stated.shape[1] == 3 and count == 2 and len(stated) <= MOST_LEVELS:
        payoffs, most = _by_sweeps(stated, bias)
    else:
        payoffs = _searched(stated, bias, count, as_generator(rng))
        most = min(most, _relaxed(bias, count))
    value = _error(stated, bias, payoffs)
    # Of two classes the second alone is counted: rows that do not sum to one differ by that.
    exact = most - value <= SAME + 2 * forecasts.sum_gap
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


def _of_two_classes(chance: Floats, bias: Floats, count: int) -> tuple[Floats, float]:
    """Cut the chances of the second class into intervals with the largest absolute biases.

    The best value up to a level with a further cut is the largest of the values before it, plus or
    minus what was added up since: running maxima. Returns payoffs, and the largest error.
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
    index, found = total.size - 1, []
    for cut in reversed(cuts):
        index = int(cut[index])
        found.append(index)
    inner = sorted({cut for cut in found if 0 < cut < chance.size})
    ascending = chance[order]
    between = np.array([(ascending[cut - 1] + ascending[cut]) / 2 for cut in inner])
    # Action a gains 1 more for each cut below, and pays for it as much as makes both equal there.
    gained = np.arange(len(inner) + 1.0)
    paid = np.append(0.0, np.cumsum(between))
    payoffs = np.stack([-paid, gained - paid], axis=1)
    if len(payoffs) == 1:
        payoffs = np.vstack([payoffs, payoffs - 1])
    return payoffs, float(np.sqrt(2) * value[-1])


def _running_best(value: Floats) -> Any:
    """Index of the largest value so far."""
    best = np.maximum.accumulate(value)
    return np.maximum.accumulate(np.where(value >= best, np.arange(value.size), 0))


def _one_action_each(stated: Floats) -> Floats:
    """Payoffs for which every level prefers an action of its own.

    The quadratic score of levels that are centred and divided by their spread: without that, the
    payoffs of near levels would differ by the square of their distance.
    """
    share = stated / stated.sum(axis=1, keepdims=True)
    centre = share.mean(axis=0)
    spread = max(float(np.abs(share - centre).max()), np.finfo(np.float64).tiny)
    point = (share - centre) / spread
    # Probabilities sum to one, so that a number added to all classes is a constant.
    constant = 2 * (point @ centre) + spread * (point**2).sum(axis=1)
    payoffs = 2 * point - constant[:, np.newaxis]
    return payoffs if len(payoffs) > 1 else np.vstack([payoffs, payoffs - 1])


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Partings by a line that turns about one level, the pivot.

    The plane of separating lines is cut by levels into cells, one for each parting. A cell has an
    edge, which belongs to lines through one level: so lines through a level and no other find every
    parting, if the level goes to either side.
    """

    pivot: int
    direction: Floats
    """Direction of the line in the middle of each gap between two levels."""
    left: Floats
    """Bias of the levels on its left, the pivot left out."""

    @classmethod
    def about(cls, point: Floats, bias: Floats, pivot: int) -> _Sweep:
        """Turn a line by half a circle."""
        away = np.delete(point, pivot, axis=0) - point[pivot]
        others = np.delete(bias, pivot, axis=0)
        distance = np.hypot(*away.T)
        angle = np.arctan2(away[:, 1], away[:, 0])
        # From the middle of the largest gap on, so that no levels on one line are torn apart.
        crossed = np.sort(angle % np.pi)
        gaps = np.diff(np.append(crossed, crossed[0] + np.pi))
        largest = int(np.argmax(gaps))
        start = float(crossed[largest] + gaps[largest] / 2)
        turn = (angle - start) % (2 * np.pi)
        behind = turn >= np.pi
        turn = np.where(behind, turn - np.pi, turn)
        order = np.argsort(turn, kind="stable")
        turn, distance = turn[order], distance[order]
        step = np.where(behind[:, np.newaxis], others, -others)[order]
        left = others[~behind].sum(axis=0) + np.concatenate([[[0.0] * 3], np.cumsum(step, axis=0)])
        edge = np.concatenate([[0.0], turn, [np.pi]])
        apart = np.diff(turn) * np.maximum(distance[1:], distance[:-1]) > NEAR
        open_gap = np.concatenate([[True], apart, [True]])
        middle = (edge[:-1] + edge[1:]) / 2 + start
        return cls(pivot, middle[open_gap], left[open_gap])

    def payoffs(self, point: Floats, gap: int, *, joined: bool) -> Floats:
        """Payoffs of two actions, the second best on the left; the pivot is `joined` to it or not.

        The line is moved by half of what would reach the nearest other level.
        """
        angle = self.direction[gap]
        x, y = -np.sin(angle), np.cos(angle)
        height = (np.delete(point, self.pivot, axis=0) - point[self.pivot]) @ (x, y)
        moved = float(np.abs(height).min()) / 2
        constant = (moved if joined else -moved) - float(point[self.pivot] @ (x, y))
        # Sums of probabilities are one, so that a plane through the origin parts as the line does.
        # Equal payoffs are a tie, which the first action wins, up to a tolerance.
        weight = np.array([x, y, 0.0]) + constant
        return np.stack([np.zeros(3), weight + TIE_TOLERANCE * np.abs(weight).max()])


def _by_sweeps(stated: Floats, bias: Floats) -> tuple[Floats, float]:
    """Part three classes by lines through one level each, in O(m^2 log m) for m levels.

    Returns payoffs, and the largest error that any parting can have.
    """
    point = (stated / stated.sum(axis=1, keepdims=True))[:, :2]
    total = bias.sum(axis=0)
    partings = []
    for pivot in range(len(point)):
        sweep = _Sweep.about(point, bias, pivot)
        inside = np.concatenate([sweep.left, sweep.left + bias[pivot]])
        values = np.linalg.norm(inside, axis=1) + np.linalg.norm(total - inside, axis=1)
        found = int(np.argmax(values))
        partings.append((float(values[found]), pivot, found))
    partings.sort(key=lambda parting: -parting[0])
    most = partings[0][0]
    best, value = np.zeros((2, 3)), -1.0
    for _, pivot, found in partings[:MOST_TRIED]:
        sweep = _Sweep.about(point, bias, pivot)
        joined, gap = divmod(found, len(sweep.left))
        payoffs = sweep.payoffs(point, gap, joined=bool(joined))
        error = _error(stated, bias, payoffs)
        if error > value:
            best, value = payoffs, error
        if value >= most - SAME:
            break
    return best, max(most, value)


def _relaxed(bias: Floats, count: int) -> float:
    """Bound the error of any parting into so many groups, by hyperplanes or not.

    With P the matrix that has 1 where two levels share a group, Q = (count P - 1) / (count - 1) is
    positive semidefinite with ones on its diagonal, and the error is at most the root of
    count <G, P> = |sum of biases|^2 + (count - 1) <G, Q>, where G has the inner products of biases
    b. For all positive weights d, <G, Q> is at most the sum of d times the largest eigenvalue of
    the sum of b b' / d (duality of semidefinite programs). The weights follow from the matrix X of
    trace one that maximizes the sum of roots of b' X b, by multiplicative steps; any are valid.
    """
    size = np.linalg.norm(bias, axis=1)
    some, weight = bias[size > 0], size[size > 0]
    total = float(np.linalg.norm(bias.sum(axis=0)))
    if not some.size:
        return total
    root, best = np.eye(bias.shape[1]) / np.sqrt(bias.shape[1]), np.inf
    for _ in range(STEPS_OF_WEIGHTS if bias.shape[1] <= MANY_CLASSES else 2):
        moment = (some / weight[:, np.newaxis]).T @ some
        best = min(best, float(np.linalg.eigvalsh(moment)[-1]) * float(weight.sum()))
        step = root @ moment @ root
        value, vector = np.linalg.eigh(step / np.trace(step))
        root = (vector * np.sqrt(np.maximum(value, 0.0))) @ vector.T
        weight = np.maximum(np.linalg.norm(some @ root, axis=1), FAINT * weight)
    return float(np.sqrt(total**2 + (count - 1) * best)) * (1 + 1e-9)


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
    return payoffs if count > 2 else _turned(stated, bias, payoffs[1] - payoffs[0], rng)


def _turned(stated: Floats, bias: Floats, weight: Floats, rng: np.random.Generator) -> Floats:
    """Turn a hyperplane towards random ones, each time to the best of all angles.

    Payoffs of two actions: zero, and a weight for each class. Turned by an angle towards another
    weight, the hyperplane meets every level once in half a circle.
    """
    total = bias.sum(axis=0)
    payoffs = np.stack([np.zeros_like(weight), weight])
    value = _error(stated, bias, payoffs)
    turns = int(np.clip(NUMBERS_TURNED // stated.size, FEWEST_TURNS, MOST_TURNS))
    for step in range(turns):
        other = rng.normal(size=weight.size)
        if step % 2:
            other = np.eye(weight.size)[rng.integers(weight.size)]
        # Through a level: far from all of them it would only move the threshold.
        other = other - stated[rng.integers(len(stated))] @ other
        angle = np.arctan2(stated @ other, stated @ weight)
        met, above = (angle + np.pi / 2) % np.pi, np.abs(angle) < np.pi / 2
        order = np.argsort(met, kind="stable")
        change = np.where(above[:, np.newaxis], -bias, bias)[order]
        inside = bias[above].sum(axis=0) + np.concatenate(
            [np.zeros((1, weight.size)), np.cumsum(change, axis=0)]
        )
        values = np.linalg.norm(inside, axis=1) + np.linalg.norm(total - inside, axis=1)
        found = int(np.argmax(values))
        if values[found] <= value + SAME:
            continue
        edge = np.concatenate([[0.0], met[order], [np.pi]])
        turn = (edge[found] + edge[found + 1]) / 2
        turned = np.cos(turn) * weight + np.sin(turn) * other
        tried = np.stack([np.zeros_like(turned), turned / np.linalg.norm(turned)])
        error = _error(stated, bias, tried)
        if error > value:  # levels that floats cannot part may not follow
            payoffs, value, weight = tried, error, tried[1]
    return payoffs


def _witness(forecasts: ClassForecasts, payoffs: Floats) -> ActionWitness:
    task = MulticlassDecisionTask(payoffs)
    return action_witness(forecasts, task, payoffs)

"""Decision calibration against every task with so many actions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import as_generator, whole
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.multiclass.canonical import charges_of
from calibrant.multiclass.decisions import ActionWitness, action_witness, levels_of
from calibrant.multiclass.tasks import TIE_TOLERANCE, MulticlassDecisionTask, first_best

MOST_ACTIONS = 100
# Lines through all pairs of so many levels are looked at; of more, tasks are searched for.
MOST_LEVELS = 150
STARTS, STEPS = 60, 60
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
        the worst: for two classes, for three classes with two actions and at most 150 different
        rows, and for no more different rows than actions. Rows of three classes that differ in
        their last digits only (1e-13) may be an exception. The witness holds the task.

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
    if stated.shape[1] == 2:
        payoffs, most = _of_two_classes(stated[:, 1], bias[:, 1], count)
    elif len(stated) <= count:
        payoffs = _one_action_each(stated)
    elif stated.shape[1] == 3 and count == 2 and len(stated) <= MOST_LEVELS:
        payoffs, most = _by_lines(stated, bias)
    else:
        payoffs = _searched(stated, bias, count, as_generator(rng))
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
    if len(payoffs) == 1:
        payoffs = np.vstack([payoffs, payoffs - 1])
    return payoffs, float(np.sqrt(2) * value[-1])


def _running_best(value: Floats) -> Any:
    """Place of the largest value so far."""
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
    place = (share - centre) / spread
    # Probabilities sum to one, so that a number added to all classes is a constant.
    constant = 2 * (place @ centre) + spread * (place**2).sum(axis=1)
    payoffs = 2 * place - constant[:, np.newaxis]
    return payoffs if len(payoffs) > 1 else np.vstack([payoffs, payoffs - 1])


def _by_lines(stated: Floats, bias: Floats) -> tuple[Floats, float]:
    """Part three classes by lines: each parting has a line through two levels next to it.

    Turned a little about a point between them, a line parts the levels that lie on it into those
    before and those after. Returns payoffs, and the largest error that any parting can have.
    """
    place = (stated / stated.sum(axis=1, keepdims=True))[:, :2]
    total = bias.sum(axis=0)
    partings = []
    for first, second in itertools.combinations(range(len(place)), 2):
        line = _DividingLine.through(place, first, second)
        sums = np.cumsum(bias[line.on], axis=0)
        start = bias[line.height > NEAR].sum(axis=0)
        inside = np.concatenate([[start], start + sums, start + sums[-1] - sums])
        values = np.linalg.norm(inside, axis=1) + np.linalg.norm(total - inside, axis=1)
        found = int(np.argmax(values))
        partings.append((float(values[found]), first, second, found))
    partings.sort(key=lambda parting: -parting[0])
    most = partings[0][0]
    best, value = np.zeros((2, 3)), -1.0
    for _, first, second, found in partings[:MOST_TRIED]:
        payoffs = _DividingLine.through(place, first, second).payoffs(found)
        error = _error(stated, bias, payoffs)
        if error > value:
            best, value = payoffs, error
        if value >= most - SAME:
            break
    return best, max(most, value)


@dataclass(frozen=True, slots=True)
class _DividingLine:
    """A line through two levels of three classes."""

    origin: Floats
    ahead: Floats
    height: Floats
    """Distance of each level from the line, with the sign of its side."""
    along: Floats
    """Place of each level along the line."""
    on: Indices
    """Levels on the line, in their order along it."""

    @classmethod
    def through(cls, place: Floats, first: int, second: int) -> _DividingLine:
        ahead = place[second] - place[first]
        ahead = ahead / np.hypot(*ahead)
        away = place - place[first]
        height = ahead[0] * away[:, 1] - ahead[1] * away[:, 0]
        along = away @ ahead
        on = np.flatnonzero(np.abs(height) <= NEAR)
        return cls(place[first], ahead, height, along, on[np.argsort(along[on], kind="stable")])

    def payoffs(self, found: int) -> Floats:
        """Payoffs of two actions, the second best above the line and at some levels on it.

        These are the first `found` of them; or, counted on from there, all but the first.
        """
        first = found <= self.on.size
        cut = found if first else found - self.on.size
        steps = self.along[self.on]
        reach = float(np.ptp(self.along))
        ends = np.concatenate([[steps[0] - reach], steps, [steps[-1] + reach]])
        middle = (ends[cut] + ends[cut + 1]) / 2
        off = np.abs(self.height) > NEAR
        # Turned by half of what would reach the nearest level that is not on the line.
        turns = np.abs(self.height[off]) / np.maximum(np.abs(self.along[off] - middle), NEAR)
        slope = float(turns.min(initial=2.0) / 2) * (-1 if first else 1)
        x, y = slope * self.ahead + (-self.ahead[1], self.ahead[0])
        constant = -float(self.origin @ (x, y)) - slope * middle
        # Sums of probabilities are one, so that a plane through the origin parts as the line does.
        # Equal payoffs are a tie, which the first action wins, up to a tolerance.
        weight = np.array([x, y, 0.0]) + constant
        return np.stack([np.zeros(3), weight + TIE_TOLERANCE * np.abs(weight).max()])


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

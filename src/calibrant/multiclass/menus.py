"""The most that anybody can lose by trusting forecasts of classes, over all menus of actions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_tolerance
from calibrant._base.words import percent_text
from calibrant.decisions import calibration_decision_loss as loss_of_two
from calibrant.errors import CalibrantWarning, ConvergenceError
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.multiclass.decisions import ActionWitness, action_witness, levels_of
from calibrant.multiclass.tasks import MulticlassDecisionTask

# A menu of more levels times classes than this is looked for at the heaviest levels only.
MOST_PAYOFFS = 150
MOST_ROUNDS = 40
# Preferences that a menu breaks by less than this are kept, to the accuracy of the program.
BROKEN = 1e-11
# The finest that the solver takes.
ACCURACY = 1e-10
# So much of a strictly proper score is mixed into a menu, whichever loses most: little costs
# little, and much is needed where levels are close together.
MIXED = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# Levels whose menu of all their actions is kept as the witness of the quadratic score.
MOST_KEPT = 1000


def calibration_decision_loss(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    tolerance: float = 1e-6,
) -> Measurement:
    r"""Largest loss of anybody with payoffs in [0, 1] who takes forecasts of classes at their word.

    Smaller is better; 0 if, and only if, rows with equal probabilities had those frequencies.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.
    tolerance : float, default=1e-6
        Distance of the certified bounds at which the search ends.

    Returns
    -------
    Measurement
        In [0, 1], with certified `.bounds`: the lower one is the loss of a menu of actions that was
        found, and is the value unless the two are within the tolerance. The witness holds the menu
        and says which action is off most.

    Notes
    -----
    With levels i of equal rows, of mass :math:`m_i`, probabilities :math:`v_i` and frequencies
    :math:`r_i`: the largest :math:`\sum_i m_i \langle z_i - x_i, r_i\rangle` over payoffs
    :math:`x_i, z_i \in [0,1]^K`, where nobody who believes :math:`v_i` prefers any of the payoffs
    to :math:`x_i`. A linear programme; preferences are added as they are broken, so every round
    has an upper bound, and the menu it suggests, with what it really loses, a lower one. Beyond
    150 levels times classes the menu is looked for at the heaviest levels alone, and the bound
    from above goes level by level and is wide. The value is never below the loss of guessing the
    class, of the quadratic score :math:`1 - |a - y|^2/2`, which is
    :math:`\sum_i m_i |r_i - v_i|^2 / 2`, and of the worst task about one class. Two classes are
    left to the function for two outcomes, which is exact. Known flaw: where rows hardly ever
    repeat, recalibrating them knows the labels, and the number says nothing about calibration.
    The upper bound holds to the accuracy of the solver, 1e-7. Of more than 1000 levels the
    witness of the quadratic score holds the actions of the heaviest alone.

    References
    ----------
    Hu, Wu (2024), Predict to minimize swap regret for all payoff-bounded tasks, FOCS. Gopalan, Hu
    (2025), Calibration through the lens of indistinguishability, section 4.

    Examples
    --------
    >>> labels, table = [0, 0, 1, 2], [[0.2, 0.6, 0.2]] * 4
    >>> loss = calibration_decision_loss(labels, table)
    >>> round(float(loss), 4), loss.settings["exact"]
    (0.5833, True)
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    check_tolerance(tolerance)
    first, level = levels_of(forecasts.probability)
    single = float((np.bincount(level) == 1).mean())
    if single > 1 / 2 and first.size > 2:
        warnings.warn(
            f"{percent_text(single)} of the distinct rows of probabilities occur once, so "
            "recalibrating them knows the labels and says nothing about calibration; use "
            "projected_smooth_calibration_error",
            CalibrantWarning,
            stacklevel=2,
        )
    stated = forecasts.probability[first]
    sums = np.zeros_like(stated)
    np.add.at(sums, (level, forecasts.label), forecasts.mass)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)  # said above
        losses = [loss_of_two(joint) for _, joint in forecasts.class_wise()]
    about = int(np.argmax(losses))
    menus = [(_about_one(losses[about], about, len(losses)), float(losses[about]))]
    if len(losses) == 2:
        high = float(losses[about])
    else:
        found, high = _searched(stated, sums, tolerance)
        menus += [found, _quadratic(stated, sums), _guessing(stated, sums)]
    menu, low = max(menus, key=lambda pair: pair[1])
    high = max(low, high)
    exact = high - low <= tolerance
    return Measurement(
        high if exact else low,
        "calibration_decision_loss",
        {"levels": first.size, "exact": exact},
        partial(_witness, forecasts, menu),
        bounds=(low, high),
    )


def _searched(stated: Floats, sums: Floats, tolerance: float) -> tuple[tuple[Floats, float], float]:
    """Find a menu with what it loses, and a bound of what any menu loses.

    `sums` holds the mass of each class at each level. Where there are too many levels the menu is
    looked for at the heaviest, and all levels say what it loses.
    """
    high = _one_by_one(stated, sums)
    most = max(1, MOST_PAYOFFS // stated.shape[1])
    heaviest = np.sort(np.argsort(-sums.sum(axis=1), kind="stable")[:most])
    best = np.zeros((1, stated.shape[1])), 0.0
    for actions, bound, done in _rounds(stated[heaviest], sums[heaviest]):
        if heaviest.size == len(stated):
            high = min(high, bound)
        for share in MIXED:
            strict = _strictly(actions, stated[heaviest], share)
            loss = _lost(strict, stated, sums)
            if loss > best[1]:
                best = strict, loss
        if done or high - best[1] <= tolerance:
            break
    return best, high


def _quadratic(stated: Floats, sums: Floats) -> tuple[Floats, float]:
    """Return the menu of the quadratic score, each level's action and the right one; its loss."""
    mass = sums.sum(axis=1)
    right = sums / mass[:, np.newaxis]
    loss = float(mass @ ((right - stated) ** 2).sum(axis=1)) / 2
    kept = np.argsort(-mass, kind="stable")[:MOST_KEPT]
    reported = np.concatenate([stated[kept], right[kept]])
    square = (reported**2).sum(axis=1, keepdims=True)
    return np.clip(reported - square / 2 + 1 / 2, 0.0, 1.0), loss


def _guessing(stated: Floats, sums: Floats) -> tuple[Floats, float]:
    """Return the menu of guesses of the class, and what it loses; ties go wrong."""
    top = stated >= stated.max(axis=1, keepdims=True)
    received = np.where(top, sums, np.inf).min(axis=1)
    return np.eye(stated.shape[1]), float((sums.max(axis=1) - received).sum())


def _rounds(stated: Floats, sums: Floats) -> Iterator[tuple[Floats, float, bool]]:
    """Payoffs of the best menu so far, a bound of what any menu loses, whether it is the best.

    Payoffs are those of the actions taken at the levels, then of those that would have been right.
    """
    count = len(stated)
    own = np.arange(count)
    pairs = {(level, count + level) for level in range(count)}
    for _ in range(MOST_ROUNDS):
        actions, bound = _programme(stated, sums, sorted(pairs))
        worth = stated @ actions.T
        broken = worth - worth[own, own][:, np.newaxis]
        new = np.argwhere(broken > np.maximum(BROKEN, broken.max(axis=1, keepdims=True) / 4))
        yield actions, bound, not new.size
        pairs |= {(int(level), int(action)) for level, action in new}


def _programme(stated: Floats, sums: Floats, pairs: list[tuple[int, int]]) -> tuple[Floats, float]:
    """Payoffs that lose most while levels prefer their action to the others that are listed."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    count, classes = stated.shape
    level, action = np.array(pairs).T
    row = np.repeat(np.arange(level.size), classes)
    column = np.arange(classes)
    believed = stated[level].ravel()
    preferred = (action[:, np.newaxis] * classes + column).ravel()
    taken = (level[:, np.newaxis] * classes + column).ravel()
    limits = coo_array(
        (
            np.concatenate([believed, -believed]),
            (np.concatenate([row, row]), np.concatenate([preferred, taken])),
        ),
        shape=(level.size, 2 * count * classes),
    ).tocsr()
    found = linprog(
        np.concatenate([sums.ravel(), -sums.ravel()]),
        A_ub=limits,
        b_ub=np.zeros(level.size),
        bounds=(0, 1),
        method="highs",
        options={"primal_feasibility_tolerance": ACCURACY, "dual_feasibility_tolerance": ACCURACY},
    )
    if found.x is None:
        raise ConvergenceError("the menu programme must be solved", str(found.message))
    return np.clip(found.x, 0, 1).reshape(2 * count, classes), float(-found.fun)


def _strictly(actions: Floats, stated: Floats, share: float) -> Floats:
    """Mix some of a strictly proper score into the actions that are taken.

    It breaks ties, and what the solver left open, in their favour: no tie decides about the loss.
    The score is the quadratic one of levels divided by their spread: of close levels as they are,
    it would differ by the square of their distance.
    """
    centre = stated.mean(axis=0)
    spread = max(float(np.abs(stated - centre).max()), np.finfo(np.float64).tiny)
    point = (stated - centre) / spread
    constant = 2 * (point @ centre) + spread * (point**2).sum(axis=1)
    score = 2 * point - constant[:, np.newaxis]
    score = (score - score.min()) / max(float(np.ptp(score)), np.finfo(np.float64).tiny)
    # Everywhere above zero, what those who would have been right gain from it.
    score = (1 + score) / 2
    mixed = (1 - share) * actions
    mixed[: len(stated)] += share * score
    return mixed


def _lost(menu: Floats, stated: Floats, sums: Floats) -> float:
    """Loss of who trusts the levels, given the payoffs of a menu."""
    paid = sums @ menu.T
    received = paid[np.arange(len(paid)), (stated @ menu.T).argmax(axis=1)]
    return float((paid.max(axis=1) - received).sum())


def _one_by_one(stated: Floats, sums: Floats) -> float:
    """Bound the loss level by level: the best change of payoffs that does not look better.

    All classes gain 1, and those that happened least beside their probability lose 1 instead until
    the change is worth nothing to who believes the probabilities.
    """
    total = 0.0
    for believed, happened in zip(stated, sums, strict=True):
        order = np.argsort(happened / np.maximum(believed, 1e-300))
        weight = believed[order]
        before = np.append(0.0, np.cumsum(weight)[:-1])
        turned = np.clip((believed.sum() / 2 - before) / np.maximum(weight, 1e-300), 0.0, 1.0)
        total += float(happened[order] @ (1 - 2 * turned))
    return min(1.0, total)


def _about_one(loss: Measurement, index: int, classes: int) -> Floats:
    """Return the menu of the best task about one class as payoffs for all classes."""
    task: Any = loss.witness
    payoffs = task.task.payoffs
    menu = np.repeat(payoffs[:, :1], classes, axis=1)
    menu[:, index] = payoffs[:, 1]
    return np.asarray(menu)


def _witness(forecasts: ClassForecasts, menu: Floats) -> ActionWitness:
    used = np.unique(menu, axis=0)
    actions = [f"action {number}" for number in range(1, len(used) + 1)]
    if len(used) == 1:
        used, actions = np.repeat(used, 2, axis=0), ["action 1", "action 2"]
    return action_witness(forecasts, MulticlassDecisionTask(used, actions), used)

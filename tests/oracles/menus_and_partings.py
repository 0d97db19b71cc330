"""Worst tasks for forecasts of classes by linear programs over all that tasks can do."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

# Partings whose margin, in coordinates of unit spread, is below this are not parted.
MARGIN = 1e-7


def draw_levels(rng: np.random.Generator, kind: str, count: int, classes: int) -> np.ndarray:
    """Different rows of probabilities: anywhere, close together, close to a line, or on a grid."""
    if kind == "grid":
        rows = rng.multinomial(10, np.full(classes, 1 / classes), size=count) / 10
        return np.unique(rows, axis=0)
    if kind == "random":
        return rng.dirichlet(np.ones(classes), size=count)
    scale = 10.0 ** -rng.uniform(3, 8)
    if kind == "close":
        middle = rng.dirichlet(np.full(classes, 5.0))
        away = scale * rng.normal(size=(count, classes))
    else:  # close to a line
        ends = rng.dirichlet(np.ones(classes), size=2)
        share = rng.random((count, 1))
        middle = share * ends[0] + (1 - share) * ends[1]
        away = scale * rng.normal(size=(count, classes))
    rows = np.clip(middle + away - away.mean(axis=1, keepdims=True), 1e-9, 1)
    return rows / rows.sum(axis=1, keepdims=True)


def unit_coordinates(stated: np.ndarray) -> np.ndarray:
    """Levels in affine coordinates of unit spread; directions without any spread are left out."""
    left, spread, _ = np.linalg.svd(stated - stated.mean(axis=0), full_matrices=False)
    return left[:, spread > 1e-14] * np.sqrt(len(stated))


def are_parted(place: np.ndarray, side: np.ndarray) -> bool:
    """Whether a hyperplane has the levels of one side strictly above it, all others below."""
    sign = np.where(side, 1.0, -1.0)[:, np.newaxis]
    rows = np.column_stack([-sign * place, -sign[:, 0], np.ones(len(place))])
    found = linprog(
        np.append(np.zeros(place.shape[1] + 1), -1.0),
        A_ub=rows,
        b_ub=np.zeros(len(place)),
        bounds=[*[(-1, 1)] * place.shape[1], (None, None), (None, 1)],
        method="highs",
    )
    return bool(-found.fun > MARGIN)


def worst_parting(stated: np.ndarray, bias: np.ndarray) -> float:
    """Largest decision calibration error of two actions: over all hyperplanes."""
    place, total = unit_coordinates(stated), bias.sum(axis=0)
    best = float(np.linalg.norm(total))
    for rest in itertools.product([False, True], repeat=len(stated) - 1):
        side = np.array([False, *rest])
        above = bias[side].sum(axis=0)
        value = float(np.linalg.norm(above) + np.linalg.norm(total - above))
        if value > best and are_parted(place, side):
            best = value
    return best


def worst_line(stated: np.ndarray, bias: np.ndarray) -> float:
    """The same for many levels of three classes in general position.

    A line that parts them can be moved until it holds one level of each side: all pairs of levels
    are tried, with both of them on either side, and the other levels where they lie.
    """
    place, total = stated[:, :2], bias.sum(axis=0)
    best = float(np.linalg.norm(total))
    for first, second in itertools.combinations(range(len(place)), 2):
        ahead, away = place[second] - place[first], place - place[first]
        above = ahead[0] * away[:, 1] - ahead[1] * away[:, 0] > 0
        above[[first, second]] = False
        for joined in ([], [first], [second], [first, second]):
            side = bias[above].sum(axis=0) + bias[joined].sum(axis=0)
            value = float(np.linalg.norm(side) + np.linalg.norm(total - side))
            best = max(best, value)
    return best


def worst_grouping(bias: np.ndarray, count: int) -> float:
    """Largest sum of lengths over all ways to put biases into so many groups."""
    best = 0.0
    for group in itertools.product(range(count), repeat=len(bias)):
        inside = np.equal.outer(np.arange(count), group).astype(float)
        best = max(best, float(np.linalg.norm(inside @ bias, axis=1).sum()))
    return best


def menu_program(stated: np.ndarray, sums: np.ndarray) -> float:
    """Largest loss of any menu: payoffs in [0, 1] of the actions that are taken and would be best.

    All preferences are in one linear program; `sums` holds the mass of each class at each level.
    """
    count, classes = stated.shape
    rows = []
    for level in range(count):
        for action in range(2 * count):
            row = np.zeros((2 * count, classes))
            row[action] += stated[level]
            row[level] -= stated[level]
            rows.append(row.ravel())
    cost = np.concatenate([sums.ravel(), -sums.ravel()])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(0, 1), options=tight
    )
    return float(-found.fun)

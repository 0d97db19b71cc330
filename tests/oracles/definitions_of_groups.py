"""Slow and clear definitions of what tests of groups find."""

from __future__ import annotations

import numpy as np


def advantage(distinguisher, y, p, x, weight=None) -> float:
    """Row by row, both outcomes of the simulated world."""
    weight = np.ones(len(y)) if weight is None else weight
    real = simulated = 0.0
    for i in range(len(y)):
        one = distinguisher(x[i], 1, p[i])
        zero = distinguisher(x[i], 0, p[i])
        real += weight[i] * (one if y[i] else zero)
        simulated += weight[i] * (p[i] * one + (1 - p[i]) * zero)
    return abs(real - simulated) / sum(weight)


def groups_of(columns, *, pairs=False):
    """All groups as boolean arrays: everybody, each label, each pair of labels."""
    size = len(next(iter(columns.values())))
    singles = [[np.asarray(c) == v for v in sorted(set(c))] for c in columns.values()]
    found = [np.ones(size, bool), *(group for column in singles for group in column)]
    if pairs:
        for i, one in enumerate(singles):
            for two in singles[i + 1 :]:
                found += [a & b for a in one for b in two]
    return found


def multiaccuracy(y, p, groups) -> float:
    return max(abs(np.mean(g * (y - p))) for g in groups)


def low_degree(y, p, groups, degree) -> float:
    return max(abs(np.mean(g * p**j * (y - p))) for g in groups for j in range(degree + 1))


def multicalibration(y, p, groups, bins, norm) -> float:
    add_up = sum if norm == "l1" else max
    cells = [min(int(v * bins), bins - 1) for v in p]
    return max(
        add_up(abs(np.mean(g * (np.array(cells) == cell) * (y - p))) for cell in range(bins))
        for g in groups
    )

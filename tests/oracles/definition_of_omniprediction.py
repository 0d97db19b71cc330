"""Omniprediction by definition: every monotone rule, every action, the Isotron line by line."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
from sklearn.isotonic import IsotonicRegression


def least_monotone_loss(score, y, weight, loss, values):
    """Least mean loss of an increasing function of the score with such values: all are tried."""
    level = np.unique(score, return_inverse=True)[1]
    share = weight / weight.sum()

    def part(of, value):
        """Loss of the rows of a level if they are all given a value."""
        rows = level == of
        return share[rows] @ loss(y[rows], np.full(rows.sum(), value))

    table = [[part(of, value) for value in values] for of in range(level.max() + 1)]
    rules = combinations_with_replacement(range(len(values)), len(table))
    return min(sum(row[v] for row, v in zip(table, rule, strict=True)) for rule in rules)


def least_loss_of_falling_rules(score, y, payments):
    """Least mean loss of a rule by level whose l(1, c) - l(0, c) does not rise with the score.

    payments has one row for each action: l(0, t) and l(1, t).
    """
    level = np.unique(score, return_inverse=True)[1]
    contrast = payments[:, 1] - payments[:, 0]
    best = np.inf
    for rule in product(range(len(payments)), repeat=level.max() + 1):
        if (np.diff(contrast[list(rule)]) <= 0).all():
            best = min(best, payments[np.array(rule)[level], y.astype(int)].mean())
    return best


def best_responses(p, payments):
    """Index of the best action for each probability; of equal ones the first."""
    expected = np.outer(1 - p, payments[:, 0]) + np.outer(p, payments[:, 1])
    return expected.argmin(axis=1)


def isotron_heads(table, y, rounds):
    """Predictions of each round of the Isotron, on whitened features, by scikit-learn's PAV."""
    centered = table - table.mean(axis=0)
    white = centered @ np.linalg.inv(np.linalg.cholesky(centered.T @ centered / len(y))).T
    w = np.zeros(table.shape[1])
    for _ in range(rounds):
        score = (white @ w).round(9)
        p = IsotonicRegression().fit(score, y).predict(score)
        yield p
        w = w + (white * (y - p)[:, np.newaxis]).mean(axis=0)


def largest_linear_bias(table, residual, weight=None):
    """Largest E h r over linear h with mean 0 and variance 1: the length of a projection."""
    share = np.full(len(residual), 1 / len(residual)) if weight is None else weight / weight.sum()
    root = np.sqrt(share)
    centered = (table - share @ table) * root[:, np.newaxis]
    target = residual * root
    return float(np.linalg.norm(centered @ np.linalg.lstsq(centered, target, rcond=1e-10)[0]))

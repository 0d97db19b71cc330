"""Measures of class forecasts by their definitions: slow and clear."""

from __future__ import annotations

import itertools

import numpy as np

import calibrant as cal


def draw_labels(rng: np.random.Generator, probability: np.ndarray) -> np.ndarray:
    """One label per row, drawn from the row."""
    return np.array([rng.choice(row.size, p=row / row.sum()) for row in probability])


def random_forecasts(
    rng: np.random.Generator, rows: int, classes: int, *, ties: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities; with ties, rows are multiples of 1/8 and repeat."""
    if ties:
        probability = rng.multinomial(8, np.full(classes, 1 / classes), size=rows) / 8
    else:
        probability = rng.dirichlet(np.ones(classes), size=rows)
    sharpened = probability**1.5 + 1e-3
    return draw_labels(rng, sharpened / sharpened.sum(axis=1, keepdims=True)), probability


def all_subsets(classes: int) -> list[tuple[int, ...]]:
    """Every set of classes but none and all."""
    return [
        members
        for size in range(1, classes)
        for members in itertools.combinations(range(classes), size)
    ]


def projected_smooth_error(label: np.ndarray, probability: np.ndarray) -> float:
    """Largest binary smooth error over all subsets of classes."""
    return max(
        float(
            cal.smooth_calibration_error(
                np.isin(label, members).astype(int),
                np.minimum(1.0, np.round(probability[:, members].sum(axis=1), 12)),
            )
        )
        for members in all_subsets(probability.shape[1])
    )


def residuals(label: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """One-hot labels less probabilities."""
    return np.eye(probability.shape[1])[label] - probability


def kernel_square(
    label: np.ndarray, probability: np.ndarray, kernel, weight: np.ndarray | None = None
) -> float:
    """Half of the mean of <residual, residual'> k(p, p') over all pairs of rows."""
    mass = np.full(label.size, 1 / label.size) if weight is None else weight / weight.sum()
    off = residuals(label, probability)
    total = 0.0
    for a, b in itertools.product(range(label.size), repeat=2):
        total += mass[a] * mass[b] * float(off[a] @ off[b]) * kernel(probability[a], probability[b])
    return total / 2


def kernel_square_without_own_pairs(label: np.ndarray, probability: np.ndarray, kernel) -> float:
    """The same over pairs of different rows."""
    off = residuals(label, probability)
    pairs = list(itertools.permutations(range(label.size), 2))
    total = sum(float(off[a] @ off[b]) * kernel(probability[a], probability[b]) for a, b in pairs)
    return total / 2 / len(pairs)

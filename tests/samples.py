"""Small samples that several tests draw."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from oracles.class_definitions import draw_labels

ANIMALS = ["cat", "dog", "cow"]


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n).round(2)
    return (rng.random(n) < np.clip(p + shift, 0, 1)).astype(int), p


def animals(
    n: int = 1500, seed: int = 0, lift: tuple[float, ...] = (1, 1, 1)
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and forecasts of three classes, some of them likelier than forecast by `lift`."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(3), n)
    true = table * lift
    label = draw_labels(rng, true / true.sum(axis=1, keepdims=True))
    return np.array(ANIMALS)[label], table


def truths(n: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Chances, outcomes drawn with them, and forecasts with a known fault."""
    rng = np.random.default_rng(1)
    chance = rng.beta(1.5, 1.5, n)
    outcome = rng.random(n) < chance
    return chance, outcome, {
        "over-confident": expit(1.7 * logit(chance)),
        "under-confident": expit(0.6 * logit(chance)),
        "shifted": expit(logit(chance) + 0.7),
        "not monotone": np.abs(chance - 0.35),
    }  # fmt: skip

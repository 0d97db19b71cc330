"""Predictions and outcomes of the shapes that the speed bars are promised for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Maker = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def biased_beta(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Easy: the bias has one sign."""
    p = rng.beta(2, 2, n)
    return p, p**1.2


def waves(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    p = rng.random(n)
    return p, np.clip(p + 0.1 * np.sin(6 * np.pi * p), 0, 1)


def calibrated(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    p = rng.random(n)
    return p, p


def alternating_blocks(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    p = rng.random(n)
    return p, np.clip(p + np.where((p * 1000).astype(int) % 2, 0.1, -0.1), 0, 1)


def two_decimals(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    p = rng.integers(0, 101, n) / 100
    return p, p


def rare_events(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    p = 10 ** rng.uniform(-9, 0, n)
    return p, p


SHAPES: dict[str, Maker] = {
    "biased beta": biased_beta,
    "waves": waves,
    "calibrated": calibrated,
    "alternating blocks": alternating_blocks,
    "two decimals": two_decimals,
    "rare events": rare_events,
}


def forecasts(shape: str, n: int, seed: int = 0) -> tuple[npt.NDArray[np.int64], Floats]:
    """Outcomes and predictions."""
    rng = np.random.default_rng(seed)
    p, chance = SHAPES[shape](rng, n)
    return (rng.random(n) < chance).astype(np.int64), p

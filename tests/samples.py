"""Small samples that several tests draw."""

from __future__ import annotations

import numpy as np


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n).round(2)
    return (rng.random(n) < np.clip(p + shift, 0, 1)).astype(int), p

"""Small laws whose values are known exactly, shared by the tests of all measures."""

from __future__ import annotations

import numpy as np

import calibrant as cal

LAWS = {  # prediction, mass, mean outcome
    "D1": ([0.3], [1], [0.6]),
    "D2": ([0.4, 0.6], [0.5, 0.5], [0, 1]),
    "D3": ([0.2, 0.5, 0.9], [0.25, 0.5, 0.25], [0.4, 0.5, 0.7]),
    "D4": ([0.375, 0.625], [0.5, 0.5], [0.5, 0.5]),
    "D5": ([0.9], [1], [1]),
    "D6": ([0.96, 0.98], [0.02, 0.98], [0, 1]),
    "D7": ([0.1, 0.3, 0.6, 0.8], [0.25] * 4, [0.3, 0.1, 0.8, 0.6]),
    "D8": ([0.1, 0.2, 0.8], [1 / 3] * 3, [1, 0.2, 0.6]),
}


def golden_joint(name: str) -> cal.Joint:
    """The Joint of a golden law."""
    v, m, r = LAWS[name]
    return cal.Joint.from_samples(np.array(r, float), v, sample_weight=m)

"""Labels redrawn from the forecasts: what a perfect forecaster of classes would have met."""

from __future__ import annotations

import numpy as np

from calibrant.joint.gate import Indices
from calibrant.multiclass.forecasts import ClassForecasts

# Cumulative probabilities are made in parts of about this many numbers.
NUMBERS_AT_ONCE = 2**22


def draw_labels(forecasts: ClassForecasts, rng: np.random.Generator) -> Indices:
    """Draw one label per row from the probabilities of the row."""
    count = len(forecasts.classes)
    uniform = rng.random(len(forecasts))
    labels = np.empty(len(forecasts), dtype=np.intp)
    part = max(1, NUMBERS_AT_ONCE // count)
    for start in range(0, len(forecasts), part):
        rows = slice(start, start + part)
        cumulative = np.cumsum(forecasts.probability[rows], axis=1)
        # Rows may sum to one only nearly; classes of probability 0 are passed over.
        reached = uniform[rows, np.newaxis] * cumulative[:, -1:]
        labels[rows] = (cumulative <= reached).sum(axis=1)
    return np.minimum(labels, count - 1)

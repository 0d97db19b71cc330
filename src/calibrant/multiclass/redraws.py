"""Labels redrawn from the forecasts: what perfect forecasts of classes would have met."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant._base.arrays import NUMBERS_AT_ONCE, Floats, Indices, in_parts
from calibrant.data import canonical_order
from calibrant.joint.classes import ClassForecasts

# So many sums are compared one by one faster than they are searched.
FEW_CLASSES = 2**5


def redraws(forecasts: ClassForecasts, draws: int, rng: np.random.Generator) -> Iterator[Indices]:
    """Draw one label per row, many times."""
    for labels in redraws_in_parts(forecasts, draws, rng):
        yield from labels


def redraws_in_parts(
    forecasts: ClassForecasts, draws: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """Draw labels many times, one row per draw, in parts of bounded memory."""
    rows = len(forecasts)
    order = canonical_order(forecasts.probability, forecasts.weight)
    for count in in_parts(draws, rows):
        uniform = np.empty((rows, count))
        uniform[order] = rng.random((count, rows)).T
        yield np.ascontiguousarray(_drawn(forecasts, uniform).T)


def _drawn(forecasts: ClassForecasts, uniform: Floats) -> Indices:
    """Labels at which cumulative probabilities pass uniform numbers, one column per draw."""
    count = len(forecasts.classes)
    labels = np.empty(uniform.shape, dtype=np.intp)
    part = max(1, NUMBERS_AT_ONCE // count)
    for start in range(0, len(forecasts), part):
        rows = slice(start, start + part)
        cumulative = np.cumsum(forecasts.probability[rows], axis=1)
        # Rows may sum to one only nearly; classes of probability 0 are passed over.
        reached = uniform[rows] * cumulative[:, -1:]
        if count <= FEW_CLASSES:
            labels[rows] = 0
            for sums in cumulative.T:
                labels[rows] += sums[:, np.newaxis] <= reached
        else:
            for label, sums, at in zip(labels[rows], cumulative, reached, strict=True):
                label[:] = sums.searchsorted(at, side="right")
    return np.minimum(labels, count - 1)

"""What a forecaster will say: a distribution over predictions, announced before the coin falls."""

from __future__ import annotations

from operator import mul
from typing import Any, NamedTuple, Protocol

import numpy as np

# The chance of outcome 1, a float; with more than two classes a tuple of one chance per class.
Prediction = Any


class Forecast(Protocol):
    """What nature may see of a forecaster before it answers."""

    @property
    def mean(self) -> Prediction:
        """The expected prediction."""
        ...

    @property
    def atoms(self) -> tuple[tuple[Prediction, float], ...]:
        """Predictions and their chances; the mean alone where there are too many to list."""
        ...

    def draw(self, coin: np.random.Generator) -> Prediction:
        """One prediction."""
        ...


class Distribution(NamedTuple):
    """Finitely many predictions and their chances; a single one for a deterministic forecaster.

    Examples
    --------
    >>> distribution = Distribution((0.5, 1.0), (0.75, 0.25))
    >>> distribution.mean
    0.625
    >>> coin = np.random.default_rng(2)
    >>> [distribution.draw(coin) for _ in range(6)]
    [0.5, 0.5, 1.0, 0.5, 0.5, 0.5]
    """

    support: tuple[Prediction, ...]
    """Predictions, ascending."""
    probability: tuple[float, ...]
    """Their chances."""

    @property
    def mean(self) -> Prediction:
        """The expected prediction."""
        support, probability = self
        if len(support) == 1:
            return support[0]
        if isinstance(support[0], tuple):
            columns = zip(*support, strict=True)
            return tuple(_weighted(column, probability) for column in columns)
        return _weighted(support, probability)

    @property
    def atoms(self) -> tuple[tuple[Prediction, float], ...]:
        """Predictions and their chances, in pairs."""
        return tuple(zip(self.support, self.probability, strict=True))

    def draw(self, coin: np.random.Generator) -> Prediction:
        """One prediction; a single one needs no coin."""
        support, probability = self
        if len(support) == 1:
            return support[0]
        left = coin.random()
        for prediction, chance in zip(support, probability, strict=True):
            left -= chance
            if left < 0:
                return prediction
        return support[-1]


def certain(prediction: Prediction) -> Distribution:
    """Announce one prediction for sure."""
    return Distribution((prediction,), (1.0,))


def _weighted(values: tuple[float, ...], chances: tuple[float, ...]) -> float:
    return float(sum(map(mul, values, chances)))

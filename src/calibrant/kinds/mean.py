"""Forecasts of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.kinds.kind import ColumnsOfRows, OfNumbers
from calibrant.kinds.scale import Scale
from calibrant.kinds.vocabulary import Vocabulary, of_numbers

WORDS = of_numbers("forecasts of the mean", "mean", ratio="A/E")


@dataclass(frozen=True, slots=True)
class Mean(OfNumbers):
    """The mean: V = z - y, squared error."""

    loss_name = "mean squared error"

    @property
    def name(self) -> str:
        """How users name it."""
        return "mean"

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats."""
        return WORDS

    def residuals(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return outcome minus forecast."""
        return outcome - prediction

    def losses(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return squared errors."""
        return np.square(outcome - prediction)

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the weighted mean."""
        return float(weight @ outcome / weight.sum())

    def forecast_and_observed(self, rows: ColumnsOfRows) -> tuple[float, float]:
        """Return the mean forecast and the mean outcome."""
        return rows.mean_of(rows.prediction), rows.mean_of(rows.outcome)

    def compares_numbers(self, scale: Scale) -> bool:
        """Whether the range of outcomes is known, so that both can be scaled to [0, 1]."""
        return scale.bounded

    def has_ratio(self, rows: ColumnsOfRows) -> bool:
        """Whether forecasts and outcomes are not negative, and not all forecasts are 0."""
        least = min(float(rows.prediction.min()), float(rows.outcome.min()))
        return least >= 0 and bool((rows.weights * rows.prediction).any())

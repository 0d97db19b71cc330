"""Forecasts of a quantile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Flags, Floats
from calibrant._base.words import number_text, percent_text
from calibrant.kinds.kind import OfShares, weighted_quantile
from calibrant.kinds.vocabulary import Vocabulary, of_shares


@dataclass(frozen=True)
class Quantile(OfShares):
    """The quantile of a level: V = 1(y <= z) - level, pinball loss."""

    level: float
    loss_name = "pinball loss"

    @property
    def name(self) -> str:
        """How users name it."""
        return f"quantile={number_text(self.level)}"

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats."""
        return of_shares(f"forecasts of the {percent_text(self.level)} quantile", "at or below")

    def covered(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Flags:
        """Whether each outcome lies at or below the forecast."""
        return np.asarray(outcome <= prediction)

    def losses(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return pinball losses, which at the level 1/2 are half the absolute error."""
        return np.asarray(((outcome <= prediction) - self.level) * (prediction - outcome))

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Return the smallest number with enough weight at or below it."""
        return weighted_quantile(outcome, weight, self.level)

"""Forecasts of an expectile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import number_text
from calibrant.kinds.kind import OfNumbers
from calibrant.kinds.vocabulary import Vocabulary, of_numbers


@dataclass(frozen=True)
class Expectile(OfNumbers):
    """The expectile of a level: V = `2 |1(y <= z) - level| (z - y)`, asymmetric squared error."""

    level: float
    loss_name = "asymmetric squared error"

    @property
    def name(self) -> str:
        """How users name it."""
        return f"expectile={number_text(self.level)}"

    @property
    def words(self) -> Vocabulary:
        """Nouns and number formats."""
        return of_numbers(f"forecasts of the expectile {number_text(self.level)}", "expectile")

    @property
    def heaviest(self) -> float:  # type: ignore[override]
        """Twice the level, or twice what it lacks to one."""
        return 2 * max(self.level, 1 - self.level)

    @property
    def side(self) -> float:  # type: ignore[override]
        """What residuals of outcomes above the forecast are weighed by."""
        return self.level

    def residuals(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return outcome minus forecast, weighed by its side; the mean's at the level 1/2."""
        return 2 * self._asymmetry(prediction, outcome) * (outcome - prediction)

    def losses(
        self,
        prediction: Floats,
        outcome: Floats,
        upper: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Return squared errors weighed by their side; those of the mean at the level 1/2."""
        return 2 * self._asymmetry(prediction, outcome) * np.square(outcome - prediction)

    def best(self, outcome: Floats, weight: Floats) -> float:
        """Find the root of the residuals, which are linear between neighbouring outcomes."""
        order = np.argsort(outcome)
        y, w = outcome[order], weight[order]
        below_w, below_wy = np.cumsum(w), np.cumsum(w * y)
        above_w, above_wy = below_w[-1] - below_w, below_wy[-1] - below_wy
        # At z = y[i]: level * sum above (y - z) - (1 - level) * sum below (z - y), decreasing.
        at = self.level * (above_wy - above_w * y) - (1 - self.level) * (below_w * y - below_wy)
        first = max(int(np.searchsorted(-at, 0.0, side="left")) - 1, 0)
        up, down = self.level, 1 - self.level
        return float(
            (up * above_wy[first] + down * below_wy[first])
            / (up * above_w[first] + down * below_w[first])
        )

    def _asymmetry(self, prediction: Floats, outcome: Floats) -> Floats:
        return np.where(outcome <= prediction, 1 - self.level, self.level)

"""The rule by which a map is chosen: the simplest of the best, if it gains more than noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import Score
from calibrant.repair.folds import Units
from calibrant.repair.row_losses import finite, loss_table

# A gain of fewer standard errors leaves forecasts alone: calibrated ones reach it by luck in one
# sample of twenty, were there but one map to try.
CLEARLY = 1.645


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean loss saved per row, out of sample, with the ends of a normal interval.

    Where forecasts of exactly 0 or 1 failed the log score is infinite: so are then what a map
    saves and both ends, or all are NaN if the score stays infinite.
    """

    value: float
    low: float
    high: float
    standard_error: float

    def told(self, before: float, after: float) -> Gain:
        """Return what the mean scores before and after say, if one of them is infinite."""
        if np.isfinite(before) and np.isfinite(after):
            return self
        value = np.nan if before == after else before - after
        return Gain(value, value, value, np.nan)

    def as_dict(self) -> dict[str, float | None]:
        """Return plain data; what is infinite or not defined is None."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}

    def text(self, score: str, confidence: float) -> str:
        """Say what is saved."""
        if np.isposinf(self.value):
            return f"an infinite {score} score"
        if np.isnan(self.value):
            return f"something of the {score} score, which stays infinite"
        sure = f"between {self.low:.2g} and {self.high:.2g} with {confidence * 100:.3g} %"
        return f"{self.value:.2g} of the {score} score per row ({sure} confidence)"


def simplest_of_the_best(units: Units, lost: dict[str, Floats]) -> tuple[str, dict[str, float]]:
    """First map whose loss is within one standard error of the best; how far each is behind."""
    best = min(lost, key=lambda name: float(units.weight @ lost[name]))
    behind = {}
    for name, values in lost.items():
        difference = gain_of(units, values - lost[best], 0.95)
        error = difference.standard_error
        behind[name] = difference.value / error if error > 0 else 0.0
    return next(name for name in lost if behind[name] <= 1), behind


def is_clear(gain: Gain, units: Units, score: Score, first: Floats, repaired: Floats) -> bool:
    """Whether a gain is beyond noise: of the sample, or of one in which the first were right."""
    noise = max(gain.standard_error, _luck(units, score, first, repaired))
    return gain.value > CLEARLY * noise


def gain_of(units: Units, saved: Floats, confidence: float) -> Gain:
    """Mean of what is saved, with a normal interval that is robust to clusters."""
    from scipy.special import ndtri

    cases = units.cases(units.prediction)
    total = float(units.weight.sum())
    mean = float(cases.total(saved)) / total
    if cases.cluster is not None and not cases.cluster.max():
        return Gain(mean, -np.inf, np.inf, np.inf)  # one cluster says nothing of others
    variance = float(cases.covariance((saved - mean)[:, np.newaxis])[0, 0])
    error = float(np.sqrt(variance)) / total
    reach = float(ndtri((1 + confidence) / 2)) * error
    return Gain(mean, mean - reach, mean + reach, error)


def _luck(units: Units, score: Score, first: Floats, repaired: Floats) -> float:
    """Spread of the mean gain if the first forecasts were right: few events may not show it."""
    saved = loss_table(score, first, cut=True) - loss_table(score, repaired, cut=True)
    chance = first if first.ndim == 2 else np.column_stack([1 - first, first])
    mean = (chance * saved).sum(axis=1, keepdims=True)
    variance = (chance * (saved - mean) ** 2).sum(axis=1)
    return float(np.sqrt(units.square @ variance) / units.weight.sum())

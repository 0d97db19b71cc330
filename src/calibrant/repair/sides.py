"""Gains by one score and by another: log loss and Brier score stand side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import Score
from calibrant.inference import Settings
from calibrant.repair.choice_rule import LEAVE, Gain, gain_after_choice, gain_of
from calibrant.repair.folds import Units
from calibrant.repair.row_losses import loss_table, losses, mean_loss


def told_gains(gains: Mapping[str, Gain], scores: Mapping[str, float]) -> dict[str, Gain]:
    """Gains as they are told: infinite where scores are."""
    return {
        name: gain if name == LEAVE else gain.told(scores[LEAVE], scores[name])
        for name, gain in gains.items()
    }


@dataclass(frozen=True, slots=True)
class GainsByScore:
    """What all maps gain by one score, each as if it alone had been tried."""

    gains: dict[str, Gain]
    """By losses that are cut."""
    told: dict[str, Gain]

    @classmethod
    def of(
        cls, seen: Units, score: Score, moved: dict[str, Floats], confidence: float
    ) -> GainsByScore:
        """Judge predictions of the rows by maps that had not seen them."""
        gains = {
            name: gain_between(seen, score, moved[LEAVE], values, confidence)
            for name, values in moved.items()
        }
        scores = {name: mean_loss(seen, score, values) for name, values in moved.items()}
        return cls(gains, told_gains(gains, scores))


def after_choice(
    seen: Units, score: Score, repaired: Floats, alone: Gain, settings: Settings
) -> Gain:
    """Gain of a choice by a score, on rows that had no say in it."""
    saved = losses(score, seen, seen.prediction) - losses(score, seen, repaired)
    gain = gain_after_choice(seen, saved, alone, settings.confidence)
    gain = with_unseen(gain, seen, score, (seen.prediction, repaired), settings.confidence)
    scores = (mean_loss(seen, score, values) for values in (seen.prediction, repaired))
    return gain.told(*scores)


def gain_between(
    seen: Units, score: Score, before: Floats, after: Floats, confidence: float
) -> Gain:
    """Mean of what the rows save by one forecast for another, with an interval."""
    saved = losses(score, seen, before) - losses(score, seen, after)
    gain = gain_of(seen, saved, confidence)
    return with_unseen(gain, seen, score, (before, after), confidence)


def with_unseen(
    gain: Gain, seen: Units, score: Score, forecasts: tuple[Floats, Floats], confidence: float
) -> Gain:
    """Widen the interval of a gain for outcomes that were never seen, where but one was.

    Rows that are all alike have no spread. But others may happen as often as leaves a chance of
    (1 - confidence) / 2 that none of so many rows shows it, and each saves what the forecasts
    before and after say.
    """
    if np.ptp(seen.outcome) > 0:
        return gain
    before, after = (loss_table(score, prediction, cut=True) for prediction in forecasts)
    unseen = np.delete(before - after, int(seen.outcome[0]), axis=1)
    rows = float(seen.weight.sum()) ** 2 / float(seen.square.sum())
    if seen.cluster is not None:
        rows = min(rows, float(np.unique(seen.cluster).size))
    share = 1 - ((1 - confidence) / 2) ** (1 / rows)
    ends = [
        (1 - share) * gain.value + share * float(np.average(some, weights=seen.weight))
        for some in (unseen.min(axis=1), unseen.max(axis=1))
    ]
    return replace(gain, low=min(gain.low, *ends), high=max(gain.high, *ends))


def gain_columns(name: str, gains: Mapping[str, Gain]) -> dict[str, list[float]]:
    """Columns of a table: a gain of each map with the ends of its interval."""
    return {
        name: [gain.value for gain in gains.values()],
        f"{name}_low": [gain.low for gain in gains.values()],
        f"{name}_high": [gain.high for gain in gains.values()],
    }

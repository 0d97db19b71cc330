"""Outcomes redrawn from the predictions: samples of J^p."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.errors import InferenceRefusedError

if TYPE_CHECKING:
    from calibrant.joint.joint import Joint
    from calibrant.joint.sums import LevelSums


def refuse_mean_outcomes(joint: Joint | LevelSums) -> None:
    """Redrawing needs rows that are coins; mean outcomes do not say how many they average."""
    if not joint.binary:
        raise InferenceRefusedError(
            "redrawing outcomes needs outcomes 0 and 1",
            "mean outcomes",
            "say how many rows each mean stands for: Joint.from_counts(prediction, count, "
            "positives)",
        )


def exact_levels(joint: Joint | LevelSums) -> npt.NDArray[np.bool_]:
    """Whether all rows of a level weigh the same, so that its sum is a scaled binomial."""
    same = np.isclose(joint.weight_squares * joint.rows, joint.weight**2, rtol=1e-9, atol=0)
    return np.asarray(same)


def draw_positives(joint: Joint | LevelSums, rng: np.random.Generator, draws: int) -> Floats:
    """Draw the weight with outcome 1 of every level, `draws` times, under perfect calibration.

    A level whose rows weigh the same is a scaled binomial, which is exact. A level of rows with
    different weights is drawn as a normal with the exact mean and variance v (1 - v) sum w^2,
    which is approximate.
    """
    refuse_mean_outcomes(joint)
    coins = draw_binomials(joint.rows.astype(np.int64), joint.prediction, draws, rng)
    positives = coins * (joint.weight / joint.rows)
    mixed = ~exact_levels(joint)
    if mixed.any():
        chance = joint.prediction[mixed]
        mean = joint.weight[mixed] * chance
        deviation = np.sqrt(chance * (1 - chance) * joint.weight_squares[mixed])
        positives[:, mixed] = rng.normal(mean, deviation, size=(draws, mixed.sum()))
    return positives


def draw_binomials(
    count: npt.NDArray[np.int64], chance: Floats, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw a binomial number for every count, `draws` times: one row per draw."""
    ones = np.empty((count.size, draws))
    single = count == 1
    ones[single] = rng.random((int(single.sum()), draws)) < chance[single, np.newaxis]
    several = (count[~single, np.newaxis], chance[~single, np.newaxis])
    # Draws of one binomial in a row let numpy prepare it once.
    ones[~single] = rng.binomial(*several, size=(int((~single).sum()), draws))
    return np.ascontiguousarray(ones.T)

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
    different weights is drawn as if its effective number of rows, (sum w)^2 / sum w^2, weighed the
    same: mean and variance v (1 - v) sum w^2 are exact, and few events are skewed as they must be.
    """
    refuse_mean_outcomes(joint)
    mixed = ~exact_levels(joint)
    rows = joint.rows.astype(np.int64)
    rows[mixed] = np.maximum(1, np.rint(joint.weight**2 / joint.weight_squares))[mixed]
    coins = draw_binomials(rows, joint.prediction, draws, rng)
    positives = coins * (joint.weight / rows)
    if mixed.any():
        mean = (joint.weight * joint.prediction)[mixed]
        each = np.sqrt(joint.weight_squares / rows)[mixed]
        positives[:, mixed] = mean + (coins - rows * joint.prediction)[:, mixed] * each
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

"""Outcomes redrawn from the predictions: samples of J^p."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant.errors import InferenceRefusedError

if TYPE_CHECKING:
    from calibrant.joint.joint import Joint
    from calibrant.joint.sums import LevelSums

# Standard deviations that the table of a binomial distribution spans, and entries of it that take
# as long as drawing a number without it.
TABLE, DRAWS_FOR_AN_ENTRY = 18, 6


def refuse_mean_outcomes(joint: Joint | LevelSums) -> None:
    """Redrawing needs outcomes 0 and 1; mean outcomes do not say how many they average."""
    if not joint.binary:
        raise InferenceRefusedError(
            "redrawing outcomes needs outcomes 0 and 1",
            "mean outcomes",
            "say how many rows each mean stands for, with @count and @positives, or judge them as "
            "continuous outcomes, with @kind 'mean' and @range",
        )


def exact_levels(joint: Joint | LevelSums) -> npt.NDArray[np.bool_]:
    """Whether all rows of a level weigh the same, so that its sum is a scaled binomial."""
    if joint.weight is joint.rows and joint.weight_squares is joint.rows:
        return np.ones(joint.rows.size, dtype=bool)
    same = np.isclose(joint.weight_squares * joint.rows, joint.weight**2, rtol=1e-9, atol=0)
    return np.asarray(same)


def draw_positives(joint: Joint | LevelSums, rng: np.random.Generator, draws: int) -> Floats:
    """Draw the weight with outcome 1 of every level, `draws` times, under perfect calibration.

    A level whose rows weigh the same is a scaled binomial, which is exact. Of a level of rows with
    different weights only their sum and that of their squares are known: the number of its rarer
    outcomes is drawn, and each weighs an inverse Gaussian number with the mean and the variance of
    the weights. Mean and variance v (1 - v) sum w^2 are exact; the skewness lies between those of
    weights with gamma and with log-normal laws.
    """
    refuse_mean_outcomes(joint)
    mixed = ~exact_levels(joint)
    rarer = np.where(mixed, np.minimum(joint.prediction, 1 - joint.prediction), joint.prediction)
    rarer_counts = draw_binomials(joint.rows.astype(np.int64), rarer, draws, rng)
    positives = rarer_counts * (joint.weight / joint.rows)
    if mixed.any():
        weighed = _weighed(joint, mixed, rarer_counts[:, mixed], rarer[mixed], rng)
        swapped = joint.prediction[mixed] > rarer[mixed]
        positives[:, mixed] = np.where(swapped, joint.weight[mixed] - weighed, weighed)
    return positives


def _weighed(
    joint: Joint | LevelSums,
    mixed: npt.NDArray[np.bool_],
    rarer_counts: Floats,
    chance: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Weight of so many outcomes at levels of mixed weights, as sums of inverse Gaussian numbers.

    The sum of k of them is one as well, with k times the mean and k^2 times the shape.
    """
    rows, weight, squares = (
        column[mixed] for column in (joint.rows, joint.weight, joint.weight_squares)
    )
    each = weight / rows
    # Variance of the weights, in units of their squared mean.
    spread = squares / weight * rows / weight - 1
    some = np.maximum(rarer_counts, 1)
    drawn = np.where(rarer_counts > 0, rng.wald(some, some**2 / spread), 0.0)
    # Weights that are drawn anew vary more than those of the rows: bring the variance back.
    narrower = np.sqrt((1 - chance) * (1 + spread) / (1 + spread - chance))
    return np.asarray(each * (rows * chance + (drawn - rows * chance) * narrower))


def draw_binomials(
    count: npt.NDArray[np.int64], chance: Floats, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw a binomial number for every count, `draws` times: one row per draw."""
    # A table has about as many entries as this is often the standard deviation.
    spread = TABLE * TABLE * count * chance * (1 - chance)
    wide = (count > 1) & (spread > (DRAWS_FOR_AN_ENTRY * draws) ** 2)
    tabled = np.where(wide, 0, count) if wide.any() else count
    ones = kernels.binomials(rng.random((count.size, draws)), tabled, chance)
    if wide.any():
        some = (count[wide, np.newaxis], chance[wide, np.newaxis])
        ones[:, wide] = rng.binomial(*some, size=(int(wide.sum()), draws)).T
    return ones

"""Outcomes redrawn from the predictions: samples of J^p."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.joint.gate import Floats

if TYPE_CHECKING:
    from calibrant.joint.joint import Joint

# Draws are made in parts of about this many numbers.
NUMBERS_AT_ONCE = 2**22


def generator_of(rng: object) -> np.random.Generator:
    """Return a source of randomness: a Generator as it is, or a new one from a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    seed = rng is None or isinstance(rng, np.random.SeedSequence)
    whole = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (seed or whole):
        raise InvalidOptionError(
            "rng must be a numpy Generator, a whole number from 0 on, or None", repr(rng)
        )
    return np.random.default_rng(rng)  # type: ignore[arg-type]


def refuse_mean_outcomes(joint: Joint) -> None:
    """Redrawing needs rows that are coins; mean outcomes do not say how many they average."""
    if not joint.binary:
        raise InferenceRefusedError(
            "redrawing outcomes needs outcomes 0 and 1",
            "mean outcomes",
            "say how many rows each mean stands for: Joint.from_counts(prediction, count, "
            "positives)",
        )


def exact_levels(joint: Joint) -> npt.NDArray[np.bool_]:
    """Whether all rows of a level weigh the same, so that its sum is a scaled binomial."""
    same = np.isclose(joint.weight_squares * joint.rows, joint.weight**2, rtol=1e-9, atol=0)
    return np.asarray(same)


def null_parts(joint: Joint, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw outcomes under perfect calibration, in parts of bounded memory."""
    part = max(1, NUMBERS_AT_ONCE // len(joint))
    for done in range(0, draws, part):
        yield draw_positives(joint, rng, min(part, draws - done))


def draw_positives(joint: Joint, rng: np.random.Generator, draws: int) -> Floats:
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

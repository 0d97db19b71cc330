"""What forecasts could have been: the rows of a Joint, pooled and given their mean outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.binning import Pooling, bins_between, isotonic, uniform_bins
from calibrant.decisions.scores import Score
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import warn_of_single_rows

AnyPooling = str | int | Sequence[float] | Pooling


@dataclass(frozen=True, slots=True)
class RecalibratedJoint:
    """Pools of rows of a Joint; each row is forecast the mean outcome of its pool."""

    name: str
    weight: Floats
    positives: Floats
    find_outcomes: Callable[[], Floats]

    @property
    def pools(self) -> tuple[Floats, Floats]:
        """Weight and positives of the pools, as kernels take them."""
        return self.weight, self.positives

    @property
    def outcome(self) -> Floats:
        """Mean outcome of each pool; redrawn outcomes of unequal weights may lie beyond [0, 1]."""
        return np.clip(self.positives / self.weight, 0.0, 1.0)

    def mean_loss(self, score: Score) -> float:
        """Mean loss of the recalibrated forecasts: each pool is forecast as it turned out."""
        losses = score.expected(self.outcome, self.outcome)
        return float(np.sum(losses * self.weight)) / float(self.weight.sum())

    def at_levels(self) -> Floats:
        """Mean outcome of the pool of each level of the Joint."""
        return self.find_outcomes()


def recalibrated_joint(joint: Joint, pooling: AnyPooling) -> RecalibratedJoint:
    """Pool the rows of a Joint and let each pool be forecast its mean outcome.

    Parameters
    ----------
    joint : Joint
        The rows.
    pooling : {"levels", "isotonic"}, int, sequence of float, or Pooling
        Exact levels (the definition), isotonic regression, a number of bins of equal width, edges
        of bins, or pools made before.
    """
    if isinstance(pooling, str) and pooling == "levels":
        return RecalibratedJoint(
            "levels", joint.weight, joint.positives, lambda: np.clip(joint.outcome, 0.0, 1.0)
        )
    name, pools = _pooling_of(joint, pooling)
    return RecalibratedJoint(
        name, pools.joint.weight, pools.joint.positives, partial(_spread, joint, pools)
    )


def warn_of_levels(joint: Joint, pooling: AnyPooling) -> None:
    """Warn where exact levels are meaningless: to recalibrate a single row is to know its outcome.

    Called by public functions, so that the warning points to the line that called them.
    """
    if isinstance(pooling, str) and pooling == "levels":
        warn_of_single_rows(
            joint,
            "recalibrating them level by level knows the outcomes and says nothing about "
            "calibration; use pooling='isotonic'",
            stacklevel=4,
        )


def keep_constant(joint: Joint) -> RecalibratedJoint:
    """Let every row be forecast the base rate."""
    return RecalibratedJoint(
        "base rate",
        np.array([joint.total]),
        np.array([joint.positives.sum()]),
        lambda: np.full(len(joint), joint.base_rate),
    )


def _pooling_of(joint: Joint, pooling: AnyPooling) -> tuple[str, Pooling]:
    if isinstance(pooling, Pooling):
        if pooling.joint.row_count != joint.row_count:
            raise InvalidOptionError(
                "a Pooling must hold the rows it is used for",
                f"{pooling.joint.row_count} rows for {joint.row_count}",
            )
        return f"{len(pooling)} pools", pooling
    if isinstance(pooling, str):
        if pooling == "isotonic":
            return "isotonic", isotonic(joint)
        raise InvalidOptionError(
            "pooling must be 'levels', 'isotonic', a number of bins, edges or a Pooling",
            repr(pooling),
        )
    if not isinstance(pooling, Sequence) and np.ndim(pooling) == 0:
        return f"{pooling} bins", uniform_bins(joint, pooling)
    return f"{len(pooling) - 1} bins", bins_between(joint, pooling)  # type: ignore[arg-type]


def _spread(joint: Joint, pools: Pooling) -> Floats:
    index = np.searchsorted(pools.occupied, pools.pool_of(joint.prediction))
    return pools.joint.outcome[index]

"""Isotonic pooling: the runs of levels that a monotone recalibration makes equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant.binning.bins import pooling_at
from calibrant.binning.pools import Pooling
from calibrant.joint import Joint


def isotonic(source: Joint) -> Pooling:
    """Pool levels until the mean outcome increases with the prediction.

    The mean outcomes of the pools are the isotonic regression of outcomes on predictions
    (pool-adjacent-violators), the basis of CORP reliability diagrams.

    Parameters
    ----------
    source : Joint
        What to pool.

    Returns
    -------
    Pooling

    Examples
    --------
    >>> joint = Joint.from_counts([0.1, 0.2, 0.9], [10, 10, 10], [4, 2, 8])
    >>> isotonic(joint).joint.outcome
    array([0.3, 0.8])

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8).
    """
    return pooling_at(source, kernels.isotonic_pools(source.weight, source.positives))


@dataclass(frozen=True, slots=True)
class MonotonePools:
    """The same pools as plain sums, without their Joint, which takes longer."""

    first: npt.NDArray[np.int64]
    """First level of each pool."""
    weight: Floats
    positives: Floats
    levels: int

    @classmethod
    def of(cls, joint: Joint) -> MonotonePools:
        """Pool the levels of a Joint."""
        first = kernels.isotonic_pools(joint.weight, joint.positives)
        weight, positives = (np.add.reduceat(c, first) for c in (joint.weight, joint.positives))
        return cls(first, weight, positives, len(joint))

    def at_levels(self) -> Floats:
        """Mean outcome of the pool of each level."""
        size = np.diff(np.append(self.first, self.levels))
        return np.repeat(self.positives / self.weight, size)

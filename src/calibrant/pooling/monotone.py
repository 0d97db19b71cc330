"""Isotonic pooling: the runs of levels that a monotone recalibration makes equal."""

from __future__ import annotations

from calibrant.joint import Joint
from calibrant.pooling.bins import pooling_at
from calibrant.pooling.pools import Pooling


def isotonic(source: Joint) -> Pooling:
    """Pool levels until the mean outcome increases with the prediction.

    The mean outcomes of the pools are the isotonic regression of outcomes on predictions
    (pool-adjacent-violators, by scipy), the basis of CORP reliability diagrams.

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
    from scipy.optimize import isotonic_regression

    blocks = isotonic_regression(source.outcome, weights=source.weight).blocks
    return pooling_at(source, blocks[:-1])

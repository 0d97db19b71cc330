"""Bins of equal width, of equal mass, or between given edges."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_BINS, refuse_unknown, whole
from calibrant.binning.pools import Pooling, pooling_of
from calibrant.data.input import read_numbers
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint, sums as row_sums
from calibrant.joint.sums import AnyRows

# Edges of so many bins are kept for the next call.
FEW_BINS = 2**10
# Shares of weight that differ by less are equal.
ROUNDING = 1e-9


def uniform_bins(source: Joint | AnyRows, n_bins: int = 15, *, closed: str = "left") -> Pooling:
    """Cut [0, 1] into bins of equal width.

    Parameters
    ----------
    source : Joint or Rows
        What to pool; rows from the gate are summed in one pass, without a sort.
    n_bins : int, default=15
        Number of bins, at most 2**20.
    closed : {"left", "right"}, default="left"
        Which end belongs to a bin: [a, b) with 1 in the last bin, or (a, b] with 0 in the first.
        Edges are the doubles nearest to j / n_bins, so that 0.3 is on the edge of ten bins.

    Returns
    -------
    Pooling

    Examples
    --------
    >>> joint = Joint.from_samples([0, 1, 1], [0.0, 0.3, 1.0])
    >>> uniform_bins(joint, 10).table["rows"]
    array([1., 0., 0., 1., 0., 0., 0., 0., 0., 1.])
    """
    count = _count(n_bins)
    cuts = _even_edges(count) if count <= FEW_BINS else _even(count)
    return _between(source, cuts, closed)


def bins_between(source: Joint | AnyRows, edges: npt.ArrayLike, *, closed: str = "left") -> Pooling:
    """Cut [0, 1] at given edges.

    Parameters
    ----------
    source : Joint or Rows
        What to pool.
    edges : array-like
        Increasing edges from 0 to 1.
    closed : {"left", "right"}, default="left"
        Which end belongs to a bin; see `uniform_bins`.

    Returns
    -------
    Pooling

    Examples
    --------
    >>> joint = Joint.from_samples([0, 1, 1], [0.1, 0.3, 0.9])
    >>> bins_between(joint, [0, 0.5, 1]).joint.prediction
    array([0.2, 0.9])
    """
    return _between(source, _edges(edges), closed)


def _between(source: Joint | AnyRows, cuts: Floats, closed: str) -> Pooling:
    refuse_unknown("closed", closed, ("left", "right"))
    start = cuts[:-1] if closed == "left" else np.nextafter(cuts[:-1], 2.0)
    start = np.concatenate([[0.0], start[1:]])
    if isinstance(source, Joint):
        sums = source.summed_by(np.searchsorted(start, source.prediction, "right") - 1, start.size)
    else:
        sums = row_sums.bins(source, cuts, closed_left=closed == "left")
    return pooling_of(sums, cuts[:-1], cuts[1:], start)


def quantile_bins(source: Joint, n_bins: int = 15) -> Pooling:
    """Cut the levels into bins of about equal weight.

    A level goes to the bin in which the middle of its weight falls, so equal predictions are
    never split; a bin may stay empty when one level is heavier than a bin.

    Parameters
    ----------
    source : Joint
        What to pool.
    n_bins : int, default=15
        Number of bins, at most; itself at most 2**20.

    Returns
    -------
    Pooling

    Examples
    --------
    >>> joint = Joint.from_samples([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4])
    >>> quantile_bins(joint, 2).joint.prediction
    array([0.15, 0.35])
    """
    middle = (np.cumsum(source.weight) - source.weight / 2) / source.total
    # A middle on an edge goes up, whatever the rounding errors of the weights' sums.
    first = np.searchsorted(middle * _count(n_bins) + ROUNDING, np.arange(n_bins))
    return pooling_at(source, np.unique(first[first < len(source)]))


def pooling_at(source: Joint, first: npt.NDArray[np.intp]) -> Pooling:
    """Pool runs of levels, given the first level of each run."""
    start = source.prediction[first]
    last = np.append(first[1:], len(source)) - 1
    sums = source.sums().without_ends().weighted().in_runs(first)
    return pooling_of(sums, start, source.prediction[last], start)


def _even(n_bins: int) -> Floats:
    cuts = np.arange(n_bins + 1) / n_bins
    cuts.setflags(write=False)
    return cuts


# The usual numbers of bins come again and again.
_even_edges = lru_cache(maxsize=16)(_even)


def _count(n_bins: int) -> int:
    return whole("n_bins", n_bins, 1, MOST_BINS)


def _edges(edges: npt.ArrayLike) -> Floats:
    cuts = read_numbers(edges, "edges")
    increasing = cuts.ndim == 1 and cuts.size >= 2 and bool((np.diff(cuts) > 0).all())
    if not increasing or cuts[0] != 0 or cuts[-1] != 1:
        raise InvalidOptionError(
            "edges must increase from 0 to 1", np.array2string(cuts, threshold=6)
        )
    return cuts

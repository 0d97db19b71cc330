"""Rows in an order that is theirs, not the caller's, and random splits that follow from it.

Whoever splits rows at random, or draws a random number for each, does so here: rows are put in an
order that depends on what they hold, and random numbers are dealt in that order. Permuted rows are
then split alike. Rows that are equal in everything are interchangeable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant.errors import InvalidForecastsError

# Fold of rows that are learned from but never judged: the first ones in time.
EARLIEST = -1
# Rows beyond so many are put in an order that is quicker to find.
MANY_ROWS = 2**20
# Constants of the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def canonical_order(*content: npt.NDArray[Any] | None) -> Indices:
    """Order rows by what they hold.

    Parameters
    ----------
    *content : array of shape (n,) or (n, k), or None
        Everything about the rows that a result may depend on: the first decides, later ones break
        ties. A table of numbers counts as one entry per row, objects as their texts. None is left
        out.

    Returns
    -------
    array of shape (n,)
        Positions of the rows; permuted rows give the same rows in the same order.

    Examples
    --------
    >>> canonical_order(np.array([0.3, 0.1, 0.3]), np.array([1, 0, 0]))
    array([1, 2, 0])
    """
    keys = [_key(part) for part in content if part is not None]
    return np.lexsort(keys[::-1])


def deal_folds(
    count: int,
    rng: np.random.Generator,
    *content: npt.NDArray[Any] | None,
    near: Floats | None = None,
) -> Indices:
    """Deal rows into folds of equal size at random.

    Parameters
    ----------
    count : int
        Number of folds.
    rng : numpy.random.Generator
        Source of the deal.
    *content : array, or None
        As for `canonical_order`.
    near : array of shape (n,), optional
        Rows that follow each other in this order go to different folds.

    Returns
    -------
    array of shape (n,)
        Number of the fold of each row. What decides about it besides chance is `near` alone: folds
        that share out outcomes evenly would let a calibrator that learns chance pass.
    """
    order = _shuffled(rng, content, near)
    fold = np.empty(order.size, dtype=np.intp)
    fold[order] = dealt(order.size, count, rng)
    return fold


def deal_clusters(cluster: Indices, count: int, rng: np.random.Generator) -> Indices:
    """Deal whole clusters, known by number, into folds, the largest first."""
    sizes = np.bincount(cluster)
    if sizes.size < 2:
        raise InvalidForecastsError("@clusters must be at least two", "one cluster")
    order = np.lexsort((rng.random(sizes.size), -sizes))
    fold = np.empty(sizes.size, dtype=np.intp)
    fold[order] = np.arange(sizes.size) % count
    return np.asarray(fold[cluster])


def deal_in_time(time: npt.NDArray[Any], count: int) -> Indices:
    """Cut time into blocks of about equal size that follow each other; equal times stay together.

    The first block is `EARLIEST`: it is used to fit and is not judged.
    """
    moments, code = np.unique(time, return_inverse=True)
    if moments.size < 2:
        raise InvalidForecastsError("@time must hold at least two times", "one")
    rows = np.bincount(code)
    middle = (np.cumsum(rows) - rows / 2) / time.size
    block = np.minimum((middle * (count + 1)).astype(np.intp), count)
    block = np.unique(block, return_inverse=True)[1]
    if block[-1] == 0:
        block = (np.arange(moments.size) == moments.size - 1).astype(np.intp)
    return np.asarray(block[code] + EARLIEST)


def hold_out(
    share: float,
    rng: np.random.Generator,
    *content: npt.NDArray[Any] | None,
    cluster: Indices | None = None,
) -> Flags:
    """Choose a share of the rows at random, whole clusters together.

    Parameters
    ----------
    share : float
        Share of the rows, or of the clusters if there are any.
    rng : numpy.random.Generator
        Source of the choice.
    *content : array, or None
        As for `canonical_order`.
    cluster : array of shape (n,), optional
        Number of the cluster of each row.

    Returns
    -------
    array of shape (n,)
        Whether each row is held out.

    Examples
    --------
    >>> rows, rng = np.array([0.2, 0.8, 0.4, 0.6]), np.random.default_rng(0)
    >>> int(hold_out(0.5, rng, rows).sum())
    2
    """
    if cluster is not None:
        names = np.arange(int(cluster.max()) + 1)
        return np.asarray(hold_out(share, rng, names)[cluster])
    order = _order_by_digest(content)
    size = 0 if order is None else order.size
    if order is None or not 0 < round(share * size) < size:
        order = _shuffled(rng, content, None)
        chosen = order[: round(share * order.size)]
    else:
        count = round(share * size)
        chosen = order[np.argpartition(rng.random(size), count)[:count]]
    held_out = np.zeros(order.size, dtype=bool)
    held_out[chosen] = True
    return held_out


def one_of_each(
    cluster: Indices, rng: np.random.Generator, *content: npt.NDArray[Any] | None
) -> Indices:
    """Draw one row of each cluster at random.

    Parameters
    ----------
    cluster : array of shape (n,)
        Number of the cluster of each row.
    rng : numpy.random.Generator
        Source of the draw.
    *content : array, or None
        As for `canonical_order`.

    Returns
    -------
    array of shape (clusters,)
        Positions of the rows that were drawn, by cluster.

    Examples
    --------
    >>> rows, rng = np.array([0.2, 0.8, 0.4]), np.random.default_rng(0)
    >>> one_of_each(np.array([1, 0, 1]), rng, rows).size
    2
    """
    order = canonical_order(cluster, *content)
    drawn = rng.random(order.size)
    order = order[np.lexsort((drawn, cluster[order]))]
    first = np.ones(order.size, dtype=bool)
    first[1:] = np.diff(cluster[order]) != 0
    return np.asarray(order[first])


def dealt(size: int, folds: int, rng: np.random.Generator) -> Indices:
    """Deal folds like cards: every so many neighbours get each fold once, in random order."""
    rounds = np.tile(np.arange(folds), (-(-size // folds), 1))
    return rng.permuted(rounds, axis=1).ravel()[:size]


def _shuffled(
    rng: np.random.Generator, content: tuple[npt.NDArray[Any] | None, ...], near: Floats | None
) -> Indices:
    """Shuffle rows, all of them or those that are equally near."""
    order = canonical_order(*content)
    drawn = rng.random(order.size)
    keys = (drawn,) if near is None else (drawn, near[order])
    return np.asarray(order[np.lexsort(keys)])


def _order_by_digest(content: tuple[npt.NDArray[Any] | None, ...]) -> Indices | None:
    """Order very many rows of numbers by a digest: any order that is theirs will do, a quick one.

    None for fewer rows, and for labels that are no numbers.
    """
    known = [part for part in content if part is not None]
    if len(known[0]) <= MANY_ROWS or any(part.dtype.kind not in "biuf" for part in known):
        return None
    found = np.zeros(len(known[0]), dtype=np.uint64)
    for part in known:
        found = _mixed(found ^ _digest(part.reshape(len(part), -1)))
    return np.argsort(found)


def _key(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if part.ndim > 1:
        return _digest(part)
    return part.astype(str) if part.dtype.kind == "O" else part


def _digest(table: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Sixty-four bits that stand for each row of a table of numbers."""
    found = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        # Adding zero makes the two zeros one; a copy lies in one piece.
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)
        found = _mixed(found + np.uint64(GOLDEN) ^ bits)
    return found


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(SECOND)
    return bits ^ (bits >> np.uint64(31))

"""Partitions of single rows with outcomes 0 and 1, such as a sequence of forecasts.

An exchange of rows between groups shows that some best partition cuts the zeros, in order of their
predictions, into runs, and the ones as well, the k-th group made of the k-th run of each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, Indices
from calibrant.joint import Joint

Flags = npt.NDArray[np.bool_]

# Dynamic programming goes through the square of (zeros times ones) cuts.
MOST_STEPS = 1.1e8


def few_enough(one: Flags) -> bool:
    """Whether the best partition can be found in about a second."""
    ones = float(one.sum())
    return ((ones + 1) * (one.size - ones + 1)) ** 2 <= MOST_STEPS


def best_sequence_partition(at: Floats, one: Flags) -> Indices:
    """Find the best partition of rows in order of prediction; the number of each row's group."""
    zeros, ones = at[~one], at[one]
    sums = [np.append(0.0, np.cumsum(side)) for side in (zeros, ones)]
    shape = (zeros.size + 1, ones.size + 1)
    rows, columns = np.indices(shape)
    taken = np.maximum(rows + columns, 1)
    # The mean outcome of a group and how many zeros and ones lie below it, by its two sizes.
    rate = columns / taken
    below = [np.searchsorted(side, rate) for side in (zeros, ones)]
    least, opened = np.zeros(shape), np.zeros((*shape, 2), dtype=np.intp)
    for i, j in zip(rows.ravel()[1:], columns.ravel()[1:], strict=True):
        here = (slice(i, None, -1), slice(j, None, -1))  # sizes of the groups that open at i', j'
        u = rate[here]
        cost = least[: i + 1, : j + 1].copy()
        for side, end, start in ((0, i, rows), (1, j, columns)):
            first = start[: i + 1, : j + 1]
            middle = np.clip(below[side][here], first, end)
            cost += u * (2 * middle - first - end)
            cost += sums[side][first] + sums[side][end] - 2 * sums[side][middle]
        cost[i, j] = np.inf
        opened[i, j] = np.unravel_index(np.argmin(cost), cost.shape)
        least[i, j] = cost[tuple(opened[i, j])]
    ends = [(zeros.size, ones.size)]
    while ends[-1] != (0, 0):
        i, j = opened[ends[-1]]
        ends.append((int(i), int(j)))
    return _grouped(one, *np.array(ends[::-1]).T)


def rounded_to_rows(calibrated: Joint, one: Flags) -> list[Indices]:
    """Round a calibrated Joint to groups of whole rows, with coarser and finer groups.

    Ones and zeros are moved to the Joint in order of their predictions; what an interval of it
    holds of each is rounded to whole rows.
    """
    of_ones = np.cumsum(calibrated.positives)
    of_zeros = np.cumsum(calibrated.weight - calibrated.positives)
    found = []
    for k in range(2, int(np.log2(one.size)) + 1):
        last = np.searchsorted(calibrated.prediction, np.arange(1, 2**k) / 2**k)
        cuts = []
        for total, rows in ((of_zeros, one.size - int(one.sum())), (of_ones, int(one.sum()))):
            share = np.append(0.0, total)[last] / max(total[-1], np.finfo(float).tiny)
            cuts.append(np.concatenate([[0], np.rint(share * rows).astype(np.intp), [rows]]))
        found.append(_grouped(one, *cuts))
    return found


def _grouped(one: Flags, zero_cuts: Indices, one_cuts: Indices) -> Indices:
    """Return each row's group, given where the runs of zeros and of ones are cut."""
    group = np.empty(one.size, dtype=np.intp)
    for side, cuts in ((~one, zero_cuts), (one, one_cuts)):
        group[side] = np.searchsorted(cuts[1:], np.arange(int(side.sum())), side="right")
    return np.unique(group, return_inverse=True)[1]

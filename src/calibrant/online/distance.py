"""True distance from calibration of a short sequence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidOptionError
from calibrant.joint.gate import Floats, Rows

MOST_ROUNDS = 128
# The finest grid that the upper bound for longer sequences tries has 2^FINEST cells.
FINEST = 16


def distance_of_sequence(outcomes: object, predictions: object) -> float:
    r"""Mean distance from the predictions of a sequence to the nearest calibrated ones.

    Rounds are individuals: two rounds with the same prediction may move apart.

    Parameters
    ----------
    outcomes : array-like of shape (n,)
        0 and 1, at most 128 of them.
    predictions : array-like of shape (n,)
        Predictions in [0, 1].

    Returns
    -------
    float
        :math:`\min_q \frac1n \sum_t |p_t - q_t|` over sequences q that are perfectly calibrated
        on these outcomes.

    Notes
    -----
    Rounds that share a value of q are a block of neighbours among the zeros and one among the
    ones, in the order of their predictions, and blocks follow each other in the same order in
    both (exchanging two rounds that cross never costs). Dynamic programming over the ends of
    the blocks takes time of order z^2 o^2 for z zeros and o ones.

    References
    ----------
    Qiao, Zheng (2024), On the distance from calibration in sequential prediction, COLT.

    Examples
    --------
    >>> distance_of_sequence([0, 1, 0, 1], [0.4, 0.6, 0.4, 0.6])
    0.1
    """
    rows = Rows.read(outcomes, predictions).cure()
    if rows.prediction.size > MOST_ROUNDS:
        raise InvalidOptionError(
            f"the true distance is computed for at most {MOST_ROUNDS} rounds",
            f"{rows.prediction.size}",
            "bracket it: half the smooth error is below it, the expected error above",
        )
    is_one = np.asarray(rows.outcome == 1)
    if not (is_one | (rows.outcome == 0)).all():
        raise InvalidOptionError("outcomes must be 0 and 1", "mean outcomes")
    zeros, ones = (np.sort(rows.prediction[part]) for part in (~is_one, is_one))
    return _least_work(zeros, ones) / rows.prediction.size


def grouped_distance(outcomes: npt.NDArray[np.int64], predictions: Floats) -> float:
    """Bound the sum of moves to calibrated predictions: neighbours move to their mean outcome.

    The best of grids of 1, 2, 4, ... cells, each also shifted by half a cell.
    """
    return min(
        _moves_to_mean(np.floor(predictions * cells + shift).astype(np.intp), outcomes, predictions)
        for cells in 2 ** np.arange(FINEST + 1)
        for shift in (0.0, 0.5)
    )


def _moves_to_mean(
    group: npt.NDArray[np.intp], outcomes: npt.NDArray[np.int64], predictions: Floats
) -> float:
    rounds = np.bincount(group)
    mean = np.bincount(group, outcomes) / np.maximum(rounds, 1)
    return float(np.abs(predictions - mean[group]).sum())


def _least_work(zeros: Floats, ones: Floats) -> float:
    """Least sum of moves that makes sorted predictions of zeros and of ones calibrated."""
    z, o = zeros.size, ones.size
    best = np.full((z + 1, o + 1), np.inf)
    best[0, 0] = 0.0
    first_zero, first_one = np.meshgrid(np.arange(z + 1), np.arange(o + 1), indexing="ij")
    zero_sums, one_sums = (np.append(0.0, np.cumsum(side)) for side in (zeros, ones))
    for i in range(z + 1):
        for j in range(o + 1):
            if i == j == 0:
                continue
            a, b = first_zero[: i + 1, : j + 1], first_one[: i + 1, : j + 1]
            size = (i - a) + (j - b)
            value = np.where(size > 0, (j - b) / np.maximum(size, 1), 0.0)
            work = _moves(zeros, zero_sums, a, i, value) + _moves(ones, one_sums, b, j, value)
            best[i, j] = np.where(size > 0, best[: i + 1, : j + 1] + work, np.inf).min()
    return float(best[z, o])


def _moves(ordered: Floats, sums: Floats, start: np.ndarray, stop: int, value: Floats) -> Floats:
    """Sum of |p - value| over the predictions start .. stop-1 of an ascending list."""
    split = np.clip(np.searchsorted(ordered, value), start, stop)
    below = value * (split - start) - (sums[split] - sums[start])
    above = (sums[stop] - sums[split]) - value * (stop - split)
    return np.asarray(below + above)

"""Distance to calibration when it is known which rows are the same individual."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_tolerance
from calibrant._base.words import count_text
from calibrant.data import canonical_order
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import RawRows
from calibrant.errors import InvalidForecastsError
from calibrant.joint import Joint, Rows
from calibrant.measures.lower_distance import lower_bracket
from calibrant.measures.measurement import Measurement
from calibrant.measures.partitions import MOST_FOR_SUBSETS, PointMasses, best_found
from calibrant.measures.witness import AssignmentWitness

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


def distance_to_calibration(
    y_true: object,
    y_proba: object,
    *,
    individuals: object = None,
    sample_weight: object = None,
    pos_label: object = None,
    tolerance: float = 1e-3,
) -> Measurement:
    r"""Mean distance from the predictions to the nearest calibrated ones for the same individuals.

    Smaller is better; 0 if and only if calibrated. If predictions move by d on average, the value
    moves by at most d. Rows of one individual move together; individuals with the same prediction
    need not. It lies between the lower and the upper distance and, unlike them, is not a function
    of predictions and outcomes alone.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    individuals : array-like of shape (n,), optional
        A label for each row; rows with the same label are one individual and must have the same
        prediction. By default every row is an individual of its own, as in a sequence of forecasts.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    tolerance : float, default=1e-3
        How closely the lower distance is computed, the lower end of `.bounds` when the value is
        not exact.

    Returns
    -------
    Measurement
        In [0, 1], attained by the witness, the calibrated prediction of each individual. Exact for
        up to 18 individuals, and for up to about 200 single rows with outcomes 0 and 1 and equal
        weights; beyond that the best found and the lower distance are the ends of `.bounds`.

    Notes
    -----
    :math:`\min E|q(x) - p(x)|` over calibrated q: the least cost of a partition of the individuals,
    each group moving to its mean outcome. For single binary outcomes an exchange of rows shows
    that zeros and ones may each be cut into runs of neighbours, so dynamic programming over both
    cuts is exact (the calibration distance of Qiao and Zheng 2024).

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC.
    Qiao, Zheng (2024), On the distance from calibration in sequential prediction, COLT. Gopalan,
    Hu (2025), Calibration through the lens of indistinguishability, Definition 6.1.

    Examples
    --------
    Four individuals of the survey's gap example: two pairs share a prediction.

    >>> y, p = [0.375, 1, 0, 0.625], [0.375, 0.375, 0.625, 0.625]
    >>> distance_to_calibration(y, p, sample_weight=[0.4, 0.1, 0.1, 0.4])
    0.025
    """
    check_tolerance(tolerance)
    refuse_other_labels(
        y_true=y_true, y_proba=y_proba, individuals=individuals, sample_weight=sample_weight
    )
    rows, joint = _read(y_true, y_proba, sample_weight, pos_label)
    crowd = _Crowd.of(rows, joint, individuals)
    q, low = _nearest(crowd.atoms, joint, tolerance)
    value = float(crowd.atoms.mass @ np.abs(crowd.atoms.at - q))
    settings: dict[str, Any] = {"individuals": len(crowd.atoms)}
    if joint.clipped:
        settings["clipped"] = joint.clipped
    return Measurement(
        value,
        "distance_to_calibration",
        settings,
        partial(_witness, crowd, q, value),
        bounds=(value if low is None else min(low, value), value),
    )


@dataclass(frozen=True, slots=True)
class _Crowd:
    """Individuals: their labels and what is known of them, in order of prediction and outcome."""

    label: npt.NDArray[Any]
    atoms: PointMasses

    @classmethod
    def of(cls, rows: Rows, joint: Joint, individuals: object) -> _Crowd:
        """Add up rows by individual; weightless rows are nobody's."""
        weight = np.ones(rows.prediction.size) if rows.weight is None else rows.weight
        kept = np.flatnonzero(weight > 0)
        labels = np.arange(weight.size)
        if individuals is not None:
            labels = read_labels(individuals, "individuals", rows.prediction.size)
        label, first, code = np.unique(labels[kept], return_index=True, return_inverse=True)
        at = rows.prediction[kept][first]
        _refuse_different(rows.prediction[kept] != at[code], labels[kept])
        mass = np.bincount(code, weight[kept]) / joint.total
        ones = np.bincount(code, weight[kept] * rows.outcome[kept]) / joint.total
        order = canonical_order(at, ones / mass, mass)
        return cls(label[order], PointMasses(at[order], mass[order], ones[order]))


def _read(
    y_true: object, y_proba: object, sample_weight: object, pos_label: object
) -> tuple[Rows, Joint]:
    if isinstance(y_true, Joint):
        raise InvalidForecastsError(
            "the true distance needs rows: a Joint forgets who is who",
            "a Joint",
            "pass outcomes and predictions, or use the lower and the upper distance",
        )
    joint, rows = Joint.checked(RawRows.read(y_true, y_proba, sample_weight, pos_label))
    return rows, joint


def _refuse_different(different: npt.NDArray[np.bool_], labels: npt.NDArray[Any]) -> None:
    if different.any():
        raise InvalidForecastsError(
            "rows of one individual must have the same prediction",
            f"two predictions for {labels[np.argmax(different)]}",
            "a forecaster who sees more of an individual sees another individual",
        )


def _nearest(atoms: PointMasses, joint: Joint, tolerance: float) -> tuple[Floats, float | None]:
    """Calibrated predictions of the atoms, and a lower bound unless they are the nearest."""
    if len(atoms) <= MOST_FOR_SUBSETS:
        return atoms.destination(best_found(atoms)), None
    one = _binary_rows(atoms)
    if one is not None and few_enough(one):
        return atoms.destination(best_sequence_partition(atoms.at, one)), None
    found = lower_bracket(joint, tolerance)
    candidates = [best_found(atoms)]
    if one is not None:
        candidates += rounded_to_rows(found.calibrated(joint), one)
    group: Indices = min(candidates, key=atoms.cost)
    return atoms.destination(group), found.low


def _binary_rows(atoms: PointMasses) -> npt.NDArray[np.bool_] | None:
    """Return which atoms have outcome 1, if all weigh the same and have outcome 0 or 1."""
    one = np.asarray(atoms.ones == atoms.mass)
    if (one | (atoms.ones == 0)).all() and np.ptp(atoms.mass) <= 1e-12 * atoms.mass[0]:
        return one
    return None


def _witness(crowd: _Crowd, q: Floats, value: float) -> AssignmentWitness:
    distance = np.abs(q - crowd.atoms.at)
    furthest = int(np.argmax(distance))
    sentence = (
        f"{count_text(int((distance > 1e-12).sum()), 'individual')} of {len(q)} move, "
        f"the furthest from {crowd.atoms.at[furthest]:.2f} to {q[furthest]:.2f}"
    )
    return AssignmentWitness(crowd.label, crowd.atoms.at, q, value, sentence)

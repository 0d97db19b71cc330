"""Upper distance to calibration: how far predictions must move if equal ones move together."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant._base.arrays import Indices
from calibrant._base.options import check_tolerance
from calibrant._base.words import count_text
from calibrant.joint import Joint
from calibrant.measures.lower_distance import lower_bracket
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    largest_mean_error,
    rounding_settings,
)
from calibrant.measures.partitions import MOST_FOR_SUBSETS, PointMasses, best_found
from calibrant.measures.regions import region_sentence
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.witness import MapWitness

NAME = "upper_distance_to_calibration"


def upper_distance_to_calibration(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    tolerance: float = 1e-3,
) -> Measurement:
    r"""Mean distance from the predictions to the nearest calibrated function of them.

    Smaller is better; 0 if and only if calibrated. The least that a calibrator can move
    forecasts and leave them perfectly calibrated on this sample. For forecasts with few distinct
    values: with one row per prediction it mostly measures noise.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
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
        In [0, 1], attained by the witness: a map of predictions with which `joint.apply(witness)`
        is calibrated. Exact with up to 18 levels; beyond that the best map found, above, and the
        lower distance, below, are the two ends of `.bounds`.

    Notes
    -----
    :math:`\min E|\kappa(p) - p|` over maps :math:`\kappa` for which :math:`\kappa(p)` is
    calibrated: the least cost of a partition of the levels, each group moving to its mean outcome.
    Groups need not be neighbours. Few levels are solved by dynamic programming over subsets, with
    at most 3^m / 2 steps and 12 bytes for each of the 2^m subsets (18 levels: 3 MB, 0.01 to 0.13 s
    in 36 cases); many by the best partition into neighbours and, up to 256 levels, by moving levels
    one by one. No exact method for many levels is offered because none that is fast is known to us.
    At most four times the root of the lower distance. Known flaw: not continuous, two levels that
    merge can multiply it.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC.
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, Theorem 6.6.

    Examples
    --------
    >>> error = upper_distance_to_calibration([0, 1, 0, 1], [0.4, 0.6, 0.1, 0.9])
    >>> error, error.witness([0.1, 0.4, 0.6, 0.9])
    (0.1, array([0. , 0.5, 0.5, 1. ]))
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    check_tolerance(tolerance)
    atoms = PointMasses.levels(joint)
    group = best_found(atoms)
    value = atoms.cost(group)
    low = value if is_exact(joint) else min(value, lower_bracket(joint, tolerance).low)
    return measured(joint, group, (low, value))


def is_exact(joint: Joint) -> bool:
    """Whether the best partition is found for certain."""
    return len(joint) <= MOST_FOR_SUBSETS


def measured(joint: Joint, group: Indices, bounds: tuple[float, float]) -> Measurement:
    """Return the upper distance for a partition and its bounds."""
    return Measurement(
        bounds[1],
        NAME,
        {"groups": int(np.unique(group).size), **rounding_settings(joint)},
        partial(_witness, joint, group),
        bounds=_cell_bounds(joint) if joint.is_rounded else bounds,
    )


def _cell_bounds(joint: Joint) -> tuple[float, float]:
    """Where the value of rows in cells lies.

    At least half of the smooth error, and at most the way to the base rate or to the frequencies.
    """
    low = float(smooth_calibration_error(joint).bounds[0]) / 2
    way = float(joint.mass @ np.abs(joint.prediction - joint.base_rate)) + joint.rounding
    return low, max(low, min(way, largest_mean_error(joint)))


def _witness(joint: Joint, group: Indices) -> MapWitness:
    value = PointMasses.levels(joint).destination(group)
    levels, groups = count_text(len(joint), "level"), count_text(np.unique(group).size, "group")
    where = region_sentence(joint, np.sign(value - joint.prediction))
    return MapWitness(joint.prediction, value, f"{levels} in {groups}; {where}")

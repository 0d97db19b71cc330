"""Expected calibration error of the exact levels."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.arrays import Floats
from calibrant.joint import Joint
from calibrant.measurement import (
    Measurement,
    as_joint,
    rounding_settings,
    warn_of_single_rows,
)
from calibrant.options import check_within
from calibrant.regions import region_sentence
from calibrant.witness import StepWitness

# Means of a higher order are the largest distance, to rounding.
MOST_ORDER = 1e15


def expected_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    order: float = 1,
) -> Measurement:
    r"""Average distance between predictions and the frequencies they had.

    Smaller is better; 0 if and only if every level is right on average. Only for forecasts with
    few distinct values: with a different prediction on every row each frequency is 0 or 1 and the
    value says nothing about calibration (a warning says so).

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
    order : float, default=1
        Order q of the mean, at least 1; `numpy.inf` gives the largest distance.

    Returns
    -------
    Measurement
        In [0, 1]; non-decreasing in `order`. The witness is the sign of the bias of each level.

    Notes
    -----
    :math:`(E |E[y|p] - p|^q)^{1/q}`; for order 1 the total variation distance between the joint
    distribution of (prediction, outcome) and that in which outcomes are drawn from the predictions.
    Not continuous: an arbitrarily small change of the predictions can change it from 0 to 1/2.

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, section 2.

    Examples
    --------
    >>> expected_calibration_error([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8])
    0.15
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    if check_within("order", order, 1, np.inf) > MOST_ORDER:
        order = np.inf
    warn_of_single_rows(
        joint,
        "this error says nothing about calibration; use smooth_calibration_error, or "
        "binned_calibration_error",
    )
    return Measurement(
        mean_distance(joint, order),
        "expected_calibration_error",
        {"order": order, **rounding_settings(joint)},
        partial(norm_witness, joint, order),
    )


def mean_distance(joint: Joint, order: float, share: Floats | None = None) -> float:
    """Return the mean of order q of the distances |outcome - prediction|.

    Levels count by their mass, or by the shares given, 0 for levels that do not count.
    """
    distance = joint.residual
    np.abs(distance, out=distance)
    if share is None:
        share = joint.mass
    else:
        distance[share <= 0] = 0.0
    if order == 1:
        distance *= share
        return float(distance.sum())
    largest = float(distance.max())
    if order == np.inf or largest == 0:
        return largest
    # Dividing by the largest distance keeps high powers from vanishing.
    return largest * float(np.sum(share * (distance / largest) ** order) ** (1 / order))


def expected_batch(joint: Joint, charges: Floats, *, order: float = 1) -> Floats:
    """Return expected errors of many signed charges (one row each) on the levels of a Joint."""
    if order == 1:
        return np.asarray(np.abs(charges).sum(axis=1))
    distance = np.abs(charges / joint.mass)
    largest = distance.max(axis=1, keepdims=True)
    if order == np.inf:
        return np.asarray(largest[:, 0])
    share = np.divide(distance, largest, out=np.zeros_like(distance), where=largest > 0)
    return np.asarray(largest[:, 0] * (share**order @ joint.mass) ** (1 / order))


def norm_witness(
    joint: Joint,
    order: float,
    low: Floats | None = None,
    high: Floats | None = None,
    share: Floats | None = None,
) -> StepWitness:
    """Find the function that attains the mean distance; for order 1 the sign of each bias.

    For order q it has norm one in the dual order, so it may exceed 1 in absolute value.
    """
    share = joint.mass if share is None else share
    residual = np.where(share > 0, joint.residual, 0.0)
    distance = np.abs(residual)
    largest = float(distance.max())
    if largest == 0:
        value = np.zeros_like(residual)
    elif order == np.inf:
        worst = int(np.argmax(distance))
        value = np.zeros_like(residual)
        value[worst] = np.sign(residual[worst]) / joint.mass[worst]
    else:
        scale = largest / mean_distance(joint, order, share)
        value = np.sign(residual) * (distance / largest * scale) ** (order - 1)
        value *= share / joint.mass
    return StepWitness(
        joint.prediction if low is None else low,
        joint.prediction if high is None else high,
        value,
        region_sentence(joint, value),
    )

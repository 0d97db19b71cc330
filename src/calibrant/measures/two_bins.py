"""Averaged two-bin error: squared biases below and above a threshold, on average over thresholds.

The paper is Hartline, Hu and Wu (2026), A perfectly truthful calibration measure. Both bins of a
threshold drawn uniformly hold two predictions p and p' together with chance 1 - |p - p'|, so the
error is the squared kernel calibration error of that kernel.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import check_flag, whole
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, rounding_settings
from calibrant.measures.regions import region_sentence
from calibrant.measures.rkhs import without_own_pairs
from calibrant.measures.witness import LinearWitness

# What moves by d on average changes the biases of both bins together by at most 3 d on average
# over thresholds: d where the threshold is beyond, and 2 where, with chance d, it lies between.
SLOPE = 3.0


def averaged_two_bin_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    order: int = 2,
    unbiased: bool = False,
) -> Measurement:
    r"""Squared bias below and above a threshold, averaged over all thresholds: cannot be gamed.

    Smaller is better; 0 if and only if calibrated. It is truthful: anybody who knows the chances of
    the outcomes gets its least expected value by forecasting just these, on every sample size.

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
    order : {2, 1}, default=2
        Power of the biases. With 1 it is on the scale of a bias, and no longer truthful.
    unbiased : bool, default=False
        Leave out pairs of a row with itself: for rows drawn independently the mean is the error of
        the population, 0 for perfect forecasts. It may be negative, and is not truthful.

    Returns
    -------
    Measurement
        In [0, 1]. The witness gains the value as a test of the predictions: it is the mean over
        thresholds of the bias of a prediction's bin (of its sign with `order=1`).

    Notes
    -----
    With a threshold q drawn uniformly from [0, 1] it is
    :math:`E_q\left[E[(y - p) 1(p < q)]^2 + E[(y - p) 1(p \ge q)]^2\right]`, which equals
    :math:`E[(y - p)(y' - p')(1 - |p - p'|)]` over pairs of rows: the squared kernel calibration
    error of the kernel 1 - ``|p - p'|``. One pass over sorted levels; from cells, `.bounds` hold
    every arrangement of the rows inside them.

    Perfect forecasts do not score 0 but the mean of p (1 - p) divided by n, exactly, on average:
    the noise floor in closed form. With the smooth error s and the value a of order 1,
    a / 2 <= s <= 3 a / 2, and the value of order 2 lies between a^2 / 2 and a. Known flaw: on the
    scale of a squared error, so that small values are not small biases; use `order=1`, or the
    smooth error, to tell how large a bias is.

    References
    ----------
    Hartline, Hu, Wu (2026), A perfectly truthful calibration measure, COLT, arXiv:2508.13100.

    Examples
    --------
    >>> averaged_two_bin_error([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    0.007
    >>> averaged_two_bin_error([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], order=1)
    0.08
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    order = whole("order", order, 1, 2)
    settings = {"order": order, "unbiased": unbiased, **rounding_settings(joint)}
    value = _error(joint, order)
    low, high = _bounds(joint, value, order)
    if check_flag("unbiased", unbiased):
        if order != 2:
            raise InvalidOptionError(
                "only the squared error has an unbiased form", f"order {order}", "use order=2"
            )
        square, value = value, without_own_pairs(joint, np.ones(len(joint)), value)
        different = joint.total - float(joint.weight_squares.sum()) / joint.total
        # Squared residuals of rows change by at most twice the way that rounding moved them.
        own = 2 * joint.rounding * float((joint.weight / joint.rows).max()) / different
        scale = joint.total / different
        low, high = value - scale * (square - low) - own, value + scale * (high - square) + own
    return Measurement(
        value,
        "averaged_two_bin_error",
        settings,
        partial(_witness, joint, order),
        bounds=(low, high),
    )


def two_bin_batch(joint: Joint, residual_masses: Floats, *, order: int = 2) -> Floats:
    """Averaged two-bin errors of residual masses (one row each) on the levels of a Joint."""
    none = np.zeros(len(joint))
    errors = kernels.two_bin_errors(joint.prediction, none, residual_masses, order == 2)
    return np.maximum(0.0, errors)


def two_bin_floor(joint: Joint, *, order: int = 2, unbiased: bool = False) -> float | None:
    """Mean error of perfect forecasts on these rows, where it is known in closed form."""
    if order != 2:
        return None
    if unbiased:
        return 0.0
    chance = joint.prediction * (1 - joint.prediction)
    return float(joint.weight_squares @ chance) / joint.total**2


def _error(joint: Joint, order: int) -> float:
    error = kernels.two_bin_error(joint.prediction, joint.weight, joint.positives, order == 2)
    return max(0.0, float(error / joint.total**order))


def _below(joint: Joint) -> Floats:
    """Residuals below each of the gaps between levels, the first and the last gap included."""
    residual_mass = (joint.positives - joint.weight * joint.prediction) / joint.total
    return np.append(0.0, np.cumsum(residual_mass))


def _biases(below: Floats, total: float, order: int) -> Floats:
    return np.asarray(np.abs(below) ** order + np.abs(total - below) ** order)


def _bounds(joint: Joint, value: float, order: int) -> tuple[float, float]:
    """Where the value of the rows lies, whatever cells they were rounded to.

    Outside the cells the residuals below a threshold are exact. Inside one they lie between what
    is below the cell less all of its zeros and plus all of its ones, and what is added up is a
    convex function of them with its least value at half of all residuals.
    """
    known = SLOPE * order * joint.inherited_rounding
    if joint.low is joint.prediction:
        return max(0.0, value - known), value + known
    below = _below(joint)
    total = float(below[-1])
    outside = np.append(joint.low, 1.0) - np.append(0.0, joint.high)
    exact = float(outside @ _biases(below, total, order))
    ones, width = joint.positives / joint.total, joint.high - joint.low
    least = below[:-1] - (joint.mass - ones) * joint.high
    most = below[:-1] + ones * (1 - joint.low)
    lowest = _biases(np.clip(total / 2, least, most), total, order)
    highest = np.maximum(_biases(least, total, order), _biases(most, total, order))
    low, high = exact + float(width @ lowest), exact + float(width @ highest)
    return max(0.0, min(low, value) - known), max(high, value) + known


def _witness(joint: Joint, order: int) -> LinearWitness:
    """Mean over thresholds of the bias of a prediction's bin, or of its sign: linear in gaps."""
    below = _below(joint)
    above = below[-1] - below
    if order == 1:
        below, above = np.sign(below), np.sign(above)
    knot = np.concatenate([[0.0], joint.prediction, [1.0]])
    gap = np.diff(knot)
    value = np.append(0.0, np.cumsum(gap * (above - below))) + gap @ below
    sentence = region_sentence(joint, value[1:-1])
    kept = np.append(True, gap > 0)
    return LinearWitness(knot[kept], value[kept], sentence)

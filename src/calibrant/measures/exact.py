"""The error of exact prediction values: the expected calibration error of the survey."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_within
from calibrant.joint import Joint
from calibrant.joint.draws import exact_levels
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    cell_bounds,
    largest_mean_error,
    rounding_settings,
    warn_of_single_rows,
)
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import StepWitness

# Means of a higher order are the largest distance, to rounding.
MOST_ORDER = 1e15
# Counts beyond which series are exact to rounding.
MOST_STEPS = 1000.0


def exact_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    order: float = 1,
) -> Measurement:
    r"""Average distance between each distinct prediction and its frequency.

    Smaller is better; 0 if and only if every level is right on average. Only for forecasts with
    few distinct values: with a different prediction on every row each frequency is 0 or 1 and the
    value says nothing about calibration (a warning says so). This is the survey's expected
    calibration error, also called as `expected_calibration_error(y, p, bins=None)`.

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
    From cells it is a lower bound; `.bounds` reach up to the mean distance of outcomes from
    predictions.

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, section 2.

    Examples
    --------
    >>> exact_calibration_error([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8])
    0.15
    """
    return measure_levels(as_joint(y_true, y_proba, sample_weight, pos_label), order)


def measure_levels(joint: Joint, order: float) -> Measurement:
    """Measure a Joint for a public function, whose caller is warned."""
    if check_within("order", order, 1, np.inf) > MOST_ORDER:
        order = np.inf
    warn_of_single_rows(
        joint,
        "this error says nothing about calibration; use smooth_calibration_error, or "
        "binned_calibration_error",
        stacklevel=4,
    )
    value = mean_distance(joint, order)
    return Measurement(
        value,
        "exact_calibration_error",
        {"order": order, **rounding_settings(joint)},
        partial(norm_witness, joint, order),
        bounds=exact_bounds(joint, value, order),
    )


def exact_bounds(joint: Joint, value: float, order: float) -> tuple[float, float]:
    """Where the error of the rows lies: merging levels lowers it, and it is at most E|y - p|."""
    low = value
    if joint.inherited_rounding > 0:
        low = max(0.0, mean_distance(joint, 1) - joint.inherited_rounding)
    return cell_bounds(joint, value, low, float(largest_mean_error(joint) ** (1 / order)))


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


def exact_batch(joint: Joint, residual_masses: Floats, *, order: float = 1) -> Floats:
    """Return expected errors of residual masses (one row each) on the levels of a Joint."""
    if order == 1:
        return np.asarray(np.abs(residual_masses).sum(axis=1))
    distance = np.abs(residual_masses / joint.mass)
    largest = distance.max(axis=1, keepdims=True)
    if order == np.inf:
        return np.asarray(largest[:, 0])
    share = np.divide(distance, largest, out=np.zeros_like(distance), where=largest > 0)
    return np.asarray(largest[:, 0] * (share**order @ joint.mass) ** (1 / order))


def exact_floor(joint: Joint, *, order: float = 1) -> float | None:
    """Mean error of perfect forecasts on these rows: mean binomial deviations, added up.

    None for other orders, and where rows of one level weigh differently.
    """
    if order != 1 or not joint.binary or not exact_levels(joint).all():
        return None
    rows, chance = joint.rows, joint.prediction
    # A Bernoulli number deviates by 2 p (1 - p) on average.
    deviation = 2 * chance * (1 - chance)
    several = np.flatnonzero((rows > 1) & (deviation > 0))
    if several.size:
        deviation[several] = _mean_deviation(rows[several], chance[several])
    return float((joint.weight / rows) @ deviation / joint.total)


def _mean_deviation(count: Floats, chance: Floats) -> Floats:
    """Mean distance of a binomial number of n trials from np, de Moivre (1730).

    2 k (1 - p) times the chance of k = [np] + 1 successes, found as Loader (2000) does, from
    what Stirling's formula lacks: logarithms of factorials would cancel.
    """
    p = np.minimum(chance, 1 - chance)
    heads = np.floor(count * p) + 1  # at most n for two coins and more
    tails = count - heads
    spread = 2 * np.pi * heads * np.maximum(tails, 1) / count
    logarithm = (
        _beyond_stirling(count) - _beyond_stirling(heads) - _beyond_stirling(tails)
        - _excess(heads, count * p) - _excess(tails, count * (1 - p))
    )  # fmt: skip
    likely = np.where(tails > 0, np.exp(logarithm) / np.sqrt(spread), p**count)
    return np.asarray(2 * heads * (1 - p) * likely)


def _beyond_stirling(n: Floats) -> Floats:
    """Logarithm of n! beyond that of Stirling's formula, (n/e)^n sqrt(2 pi n)."""
    from scipy.special import gammaln

    few = np.clip(n, 1.0, MOST_STEPS)
    exact = gammaln(few + 1) - (few + 0.5) * np.log(few) + few - 0.5 * np.log(2 * np.pi)
    many = np.maximum(n, MOST_STEPS)
    series = (1 / 12 - (1 / 360 - 1 / (1260 * many**2)) / many**2) / many
    return np.asarray(np.where(n > MOST_STEPS, series, exact))


def _excess(count: Floats, mean: Floats) -> Floats:
    """Deviance x log(x / m) + m - x of a count at most one from its mean."""
    from scipy.special import xlogy

    with np.errstate(over="ignore", invalid="ignore"):  # a series of small steps, used for those
        step = (count - mean) / mean
        series = mean * step**2 * (1 / 2 - step * (1 / 6 - step * (1 / 12 - step / 20)))
        exact = xlogy(count, count / mean) + mean - count
    return np.asarray(np.where(mean > MOST_STEPS, series, exact))


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

"""Cutoff calibration error: the largest bias over an interval of predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import refuse_unknown
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, rounding_settings
from calibrant.measures.regions import region_between, region_sentence
from calibrant.measures.witness import StepWitness

SETS = ("intervals", "thresholds", "lower", "monotone")


def cutoff_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    sets: str = "intervals",
) -> Measurement:
    r"""Largest bias, in share of all rows, over any interval of predictions.

    Smaller is better; 0 if and only if calibrated. It bounds what a decision maker who acts above
    a threshold loses against any monotone correction of the forecasts.

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
    sets : {"intervals", "thresholds", "lower", "monotone"}, default="intervals"
        All intervals; predictions below or above one cut; only those below; or monotone weights in
        [-1, 1] instead of sets.

    Returns
    -------
    Measurement
        In [0, 1]. The witness is the worst interval, with the sign of its bias; with "monotone" a
        step from -1 to 1 or back.

    Notes
    -----
    :math:`\max_I |E[(y - p) 1(p \in I)]|`, the range of the cumulative residuals in the order of
    the predictions: Kuiper's statistic (ECCE-R). With S_j the sum of the j smallest, "lower" is
    :math:`\max_j |S_j|`, the statistic of Kolmogorov and Smirnov (ECCE-MAD); "thresholds" takes
    :math:`|S_n - S_j|` as well; "monotone" is :math:`\max_j |S_n - 2 S_j|`, the error of proper
    calibration: monotone weights are mixtures of steps. Between "thresholds" and twice that lie
    both "intervals" and "monotone". Equal predictions are never separated, so the order of the
    rows does not matter; from cells, `.bounds` hold every arrangement of the rows inside them.
    Known flaw: not continuous, a small change can move predictions across a cut.

    References
    ----------
    Rossellini et al. (2025), cutoff calibration. Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu
    (2022), Metrics of calibration for probabilistic predictions, JMLR 23. Okoroafor, Kleinberg, Kim
    (2025), Near-optimal algorithms for omniprediction (proper calibration).

    Examples
    --------
    >>> error = cutoff_calibration_error([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> error
    0.15
    >>> float(error.witness.low[0]), float(error.witness.high[0])
    (0.4, 0.4)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    refuse_unknown("sets", sets, SETS)
    start, stop, value = _worst_interval(joint, sets)
    find_witness = _step_witness if sets == "monotone" else _interval_witness
    return Measurement(
        value,
        "cutoff_calibration_error",
        {"sets": sets, **rounding_settings(joint)},
        partial(find_witness, joint, start, stop),
        bounds=_bounds(joint, value, sets),
    )


def _bounds(joint: Joint, value: float, sets: str) -> tuple[float, float]:
    """Where the value of the rows lies, whatever cells they were rounded to.

    At the ends of cells the residuals below are exact, so that the value is reached. Inside a cell
    they lie between what is below it less all of its zeros and plus all of its ones, and the same
    seen from its upper end.
    """
    if joint.inherited_rounding > 0:  # predictions may have changed places
        bias = abs(joint.base_rate - joint.mean_prediction) - joint.inherited_rounding
        return max(0.0, bias), 1.0
    if not joint.is_rounded:
        return value, value
    ones, zeros = joint.positives / joint.total, joint.mass - joint.positives / joint.total
    after = np.cumsum(joint.mass * joint.residual)
    before = np.append(0.0, after[:-1])
    up, down = ones * (1 - joint.low), zeros * joint.high
    highest, lowest = np.minimum(before + up, after + down), np.maximum(before - down, after - up)
    if sets == "intervals":
        high = _widest_range(highest, lowest, np.maximum(up, down))
    else:
        ends = np.array(max(0.0, highest.max())), np.array(min(0.0, lowest.min()))
        high = float(_of_extremes(*ends, after[-1], sets))
    return value, max(value, high)


def _widest_range(highest: Floats, lowest: Floats, inside: Floats) -> float:
    """Bound the bias of intervals that end in two cells, or within one."""
    start_low = np.minimum.accumulate(np.append(0.0, lowest[:-1]))
    start_high = np.maximum.accumulate(np.append(0.0, highest[:-1]))
    between = np.maximum(highest - start_low, start_high - lowest)
    return float(max(between.max(), inside.max()))


def cutoff_batch(_: Joint, residual_masses: Floats, *, sets: str = "intervals") -> Floats:
    """Cutoff errors of residual masses (one row each) on the levels of a Joint."""
    below = np.cumsum(residual_masses, axis=1)
    highest = np.maximum(below.max(axis=1), 0.0)
    lowest = np.minimum(below.min(axis=1), 0.0)
    return _of_extremes(highest, lowest, below[:, -1], sets)


def _of_extremes(highest: Floats, lowest: Floats, total: Any, sets: str) -> Floats:
    """Errors of sums of residuals with these extremes and totals."""
    parts = {
        "intervals": [highest - lowest],
        "lower": [highest, -lowest],
        "thresholds": [highest, -lowest, total - lowest, highest - total],
        "monotone": [total - 2 * lowest, 2 * highest - total],
    }
    return np.asarray(np.max(parts[sets], axis=0))


def _worst_interval(joint: Joint, sets: str) -> tuple[int, int, float]:
    """First level, level after the last, and absolute bias of the worst interval.

    Of monotone weights: those levels have one sign and the others the other.
    """
    low_at, high_at, lowest, highest, total = kernels.cumulative_residuals(
        joint.prediction, joint.weight, joint.positives
    )
    levels = len(joint)
    cuts = {low_at: lowest, high_at: highest}
    if sets == "intervals":
        start, stop, error = min(low_at, high_at), max(low_at, high_at), highest - lowest
    elif sets == "monotone":
        error, start, stop = max((abs(total - 2 * s), 0, cut) for cut, s in cuts.items())
    else:
        candidates = [(abs(s), 0, cut) for cut, s in cuts.items()]
        if sets == "thresholds":
            candidates += [(abs(total - s), cut, levels) for cut, s in cuts.items()]
            candidates += [(abs(total), 0, levels)]
        error, start, stop = max(candidates)
    return start, stop, error / joint.total


def _interval_witness(joint: Joint, start: int, stop: int) -> StepWitness:
    if start == stop:
        return StepWitness(np.zeros(1), np.zeros(1), np.zeros(1), "no forecast is off")
    region = region_between(joint, start, stop)
    sign = 1.0 if region.outcome > region.prediction else -1.0
    return StepWitness(
        np.array([region.low]), np.array([region.high]), np.array([sign]), region.sentence
    )


def _step_witness(joint: Joint, _: int, cut: int) -> StepWitness:
    """One sign below the cut and the other above it, so that the weights gain."""
    sign = np.where(np.arange(len(joint)) < cut, -1.0, 1.0)
    if float(sign @ (joint.positives - joint.weight * joint.prediction)) < 0:
        sign = -sign
    first = np.unique([0, cut]) if cut < len(joint) else np.array([0])
    last = np.append(first[1:], len(joint)) - 1
    v = joint.prediction
    return StepWitness(v[first], v[last], sign[first], region_sentence(joint, sign))

"""Smooth calibration error and the earth mover's distance between J* and J^p."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import check_positive
from calibrant._base.parallel import thread_count
from calibrant.joint import Joint
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    rounding_bounds,
    rounding_settings,
)
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import LinearWitness


def smooth_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    lipschitz: float = 1.0,
) -> Measurement:
    r"""Largest bias that a smooth test of the predictions can find: the measure to use first.

    Smaller is better; 0 if and only if calibrated. No bins, no bandwidth, exact, and robust: if
    every prediction moves by at most d, the value moves by at most 2 d.

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
    lipschitz : float, default=1.0
        How fast the test may change with the prediction.

    Returns
    -------
    Measurement
        In [0, 1]. The witness is the test itself: positive where forecasts are too low.

    Notes
    -----
    :math:`\max_w E[w(p)(y - p)]` over functions with :math:`|w| \le 1` and Lipschitz constant
    `lipschitz`. Equal to the earth mover's distance between the joint distribution and the only
    calibrated one with the same predictions, for the metric
    ``lipschitz |p - p'| / 2 + |y - y'|``: see `earth_mover_distance`. Within a factor of two of the
    lower distance to calibration, the least that any forecaster with these predictions and outcomes
    may be away from a calibrated one; its own distance can be of the order of the root. Solved
    exactly through its dual, a flow on a path, in O(n log n). Known flaw: errors that change sign
    within a short stretch of predictions count little, and calibrated forecasts rarely score 0 on a
    sample: see `calibration_test`.

    References
    ----------
    Kakade, Foster (2008), Deterministic calibration and Nash equilibrium, JCSS 74. Blasiok,
    Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC. Hu,
    Jambulapati, Tian, Yang (2024), Testing calibration in nearly-linear time, NeurIPS.

    Examples
    --------
    >>> smooth_calibration_error([0, 1, 1, 0], [0.2, 0.8, 0.8, 0.8])
    0.15
    >>> print(smooth_calibration_error([1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3]))
    smooth calibration error 0.45 (lipschitz 1.0): forecasts of 0.30 are too low (mean forecast
    0.30, observed rate 0.75, 4 rows)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    check_positive("lipschitz", lipschitz)
    return _smooth(joint, "smooth_calibration_error", float(lipschitz), {"lipschitz": lipschitz})


def earth_mover_distance(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Least work that turns the outcomes into ones drawn from the predictions.

    Smaller is better; 0 if and only if calibrated. Between one and two times the smooth error.

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

    Returns
    -------
    Measurement
        In [0, 1]. With its witness w, the function f(p, y) = w(p) (y - 1/2) is an optimal
        potential of the transport problem.

    Notes
    -----
    Earth mover's (Wasserstein) distance between the joint distribution of (prediction, outcome)
    and that in which each outcome is drawn from its prediction, for the metric
    ``|p - p'| + |y - y'|``. Equal to the smooth error with Lipschitz constant 2:
    f(p, y) = w(p) (y - 1/2) is 1-Lipschitz for every such w with ``|w| <= 1``, and every
    1-Lipschitz f gives one as f(p, 1) - f(p, 0).

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, Lemma 3.4.

    Examples
    --------
    >>> earth_mover_distance([0, 1], [0.4, 0.6])
    0.08
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    return _smooth(joint, "earth_mover_distance", 2.0, {})


def smooth_batch(joint: Joint, residual_masses: Floats, *, lipschitz: float = 1.0) -> Floats:
    """Smooth errors of residual masses (one row each) on the levels of a Joint."""
    return kernels.smooth_errors(
        joint.prediction, np.zeros(len(joint)), residual_masses, float(lipschitz)
    )


def mover_batch(joint: Joint, residual_masses: Floats) -> Floats:
    """Earth mover's distances of residual masses on the levels of a Joint."""
    return smooth_batch(joint, residual_masses, lipschitz=2.0)


def _smooth(joint: Joint, name: str, lipschitz: float, settings: dict[str, object]) -> Measurement:
    law = joint.prediction, joint.weight, joint.positives
    error = kernels.smooth_error(*law, lipschitz, thread_count())
    value = error / joint.total
    return Measurement(
        value,
        name,
        {**settings, **rounding_settings(joint)},
        partial(_smooth_witness, joint, lipschitz),
        bounds=rounding_bounds(joint, value, lipschitz),
    )


def _smooth_witness(joint: Joint, lipschitz: float) -> LinearWitness:
    value = kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, lipschitz)
    return LinearWitness(joint.prediction, value, region_sentence(joint, value))

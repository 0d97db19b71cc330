"""Surrogate interval calibration error: grids of intervals, shifted at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, rounding_settings
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import GridWitness

# Finer grids than 2^-52 change the value by no more than their width.
FINEST = 52


def surrogate_interval_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Bias over a grid of intervals shifted at random, plus its width, for the best of the grids.

    Smaller is better; 0 if and only if calibrated. A continuous stand-in for the interval
    calibration error, never below it: if predictions move by d on average, the value moves by at
    most 3 sqrt(d) + d.

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
        In [0, 1]. The witness is the sign of the bias, averaged over the shifts; its width is that
        of the grid, 0 when the value is the expected calibration error.

    Notes
    -----
    :math:`\min_k 2^{-k} + R(2^{-k})` where R(w) is the mean of :math:`\sum_I |E[(y-p) 1(p \in I)]|`
    over shifts of the grid of width w. With C the cumulative residuals,
    :math:`R(w) = \int |C(x + w) - C(x)| dx / w`, so the mean over all shifts is exact. R grows as
    the grid becomes finer, up to the expected calibration error, its limit. Known flaw: errors
    that change sign score about the root of their smooth error.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC.

    Examples
    --------
    >>> error = surrogate_interval_calibration_error([0, 1, 1, 0], [0.4, 0.42, 0.5, 0.52])
    >>> error, error.witness.width
    (0.245, 0.125)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    value, width = _best_grid(joint)
    # Moving predictions by e moves R(w) by at most e + 2 e / w; see the modulus in the catalogue.
    slack = 3 * joint.rounding**0.5 + joint.rounding
    return Measurement(
        value,
        "surrogate_interval_calibration_error",
        {"width": width, **rounding_settings(joint)},
        partial(_witness, joint, width),
        bounds=(max(0.0, value - slack), value + slack),
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    """Biases of intervals [x, x + 1) for all x at once, in units of their width.

    The width is a power of two, so units are exact, and so is x - 1 for the finest grid.
    """

    edge: Floats
    """Where the bias changes: at every level, and one unit before."""
    bias: Floats
    """Bias from each edge to the next."""

    @classmethod
    def of(cls, joint: Joint, width: float) -> _Grid:
        position, residual_mass = joint.prediction / width, joint.mass * joint.residual
        edge = np.append(position - 1, position)
        order = np.argsort(edge, kind="stable")
        bias = np.cumsum(np.append(residual_mass, -residual_mass)[order])[:-1]
        inside = np.cumsum(np.where(order < position.size, 1, -1))[:-1]
        # An interval without levels has no bias, also where sums leave a rounding error.
        return cls(edge[order], np.where(inside > 0, bias, 0.0))

    def mean_bias(self) -> float:
        """Mean over all shifts of the sum of absolute biases."""
        return float(np.abs(self.bias) @ np.diff(self.edge))

    def mean_sign(self, position: Floats) -> Floats:
        """Mean over all shifts of the sign of the bias where each prediction is."""
        total = np.append(0.0, np.cumsum(np.sign(self.bias) * np.diff(self.edge)))
        upper, lower = (np.interp(at, self.edge, total) for at in (position, position - 1))
        return np.asarray(upper - lower)


def _best_grid(joint: Joint) -> tuple[float, float]:
    """Smallest mean bias plus width, and the width; 0 stands for the limit of finer grids."""
    value, best = float(np.abs(joint.mass * joint.residual).sum()), 0.0
    closest = float(np.min(np.diff(joint.prediction), initial=np.inf))
    for k in range(FINEST + 1):
        width = 2.0**-k
        bias = _Grid.of(joint, width).mean_bias()
        if bias + width < value:
            value, best = bias + width, width
        # A finer grid has more bias; once it parts all levels it has that of the limit.
        if bias >= value or width <= closest:
            break
    return value, best


def _witness(joint: Joint, width: float) -> GridWitness:
    if width == 0:
        sign = np.sign(joint.residual)
    else:
        sign = _Grid.of(joint, width).mean_sign(joint.prediction / width)
    return GridWitness(joint.prediction, sign, region_sentence(joint, sign), width)

"""Distances between forecasts and smoothed frequencies: ICI, E50, E90, Emax and ECI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.joint import Joint
from calibrant.measurement import as_joint
from calibrant.measures.kernel_smoothed import (
    NARROWEST_CURVE,
    kernel_smoothed_calibration_error,
    smoothed_curve,
)
from calibrant.measures.local_regression import loess, lowess
from calibrant.options import refuse_unknown
from calibrant.words import comparable_texts

SMOOTHERS = ("loess", "lowess", "kernel")


@dataclass(frozen=True, slots=True)
class CalibrationIndex:
    """How far forecasts lie from a smoothed curve of the frequencies."""

    ici: float
    """Integrated calibration index: the mean distance (val.prob calls it Eavg)."""
    e50: float
    """Median distance."""
    e90: float
    """Its 90 % quantile."""
    emax: float
    """Largest distance."""
    eci: float
    """Estimated calibration index: one hundred times the mean squared distance."""
    smoother: str
    """How frequencies were smoothed."""

    def __str__(self) -> str:
        ici, e50, e90, emax = comparable_texts(self.ici, self.e50, self.e90, self.emax)
        return f"ICI {ici}, E50 {e50}, E90 {e90}, Emax {emax} (smoothed by {self.smoother})"


def calibration_index(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    smoother: str = "loess",
) -> CalibrationIndex:
    """Measure the distance of forecasts from smoothed frequencies, as medical papers quote it.

    Smaller is better. The number depends on the smoother: name it beside the number.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; with "kernel" only.
    pos_label : object, optional
        The label that counts as outcome 1.
    smoother : {"loess", "lowess", "kernel"}, default="loess"
        "loess" is R's `loess(y ~ p)`: local parabolas over three quarters of the rows, as ICI is
        published. "lowess" is R's `lowess(p, y, iter=0)`: local lines over two thirds, as in
        `val.prob` of rms. "kernel" is the Gaussian smoother of smECE at its own width, which
        also takes weights and few forecasts.

    Returns
    -------
    CalibrationIndex

    Notes
    -----
    Both smoothers of R are computed on the levels and agree with R to rounding, the cells of loess
    and the steps of lowess included. Known flaws: the curve may leave [0, 1], as R's does; and
    perfect forecasts do not score 0, the less so the fewer the rows. An interval is offered for
    the kernel smoother alone: `classical_numbers`.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38. Van Hoorde and others (2015), A spline-based tool to assess and
    visualize the calibration of multiclass risk predictions, Journal of Biomedical Informatics 54.
    Harrell, Regression modeling strategies (`val.prob`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p**2
    >>> print(calibration_index(y, p))
    ICI 0.165, E50 0.182, E90 0.266, Emax 0.270 (smoothed by loess)
    >>> print(calibration_index(y, p, smoother="lowess"))
    ICI 0.154, E50 0.161, E90 0.242, Emax 0.248 (smoothed by lowess)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    refuse_unknown("smoother", smoother, SMOOTHERS)
    return find_index(joint, smoother)


def find_index(joint: Joint, smoother: str) -> CalibrationIndex:
    """Index of a Joint."""
    curves = {"loess": loess, "lowess": lowess, "kernel": _kernel}
    distance = np.abs(curves[smoother](joint) - joint.prediction)
    return CalibrationIndex(
        float(joint.mass @ distance),
        _quantile(distance, joint.weight, 0.5),
        _quantile(distance, joint.weight, 0.9),
        float(distance.max()),
        100 * float(joint.mass @ distance**2),
        smoother,
    )


def _kernel(joint: Joint) -> Floats:
    width = float(kernel_smoothed_calibration_error(joint))
    curve = smoothed_curve(joint, bandwidth=max(width, NARROWEST_CURVE))
    return np.interp(joint.prediction, curve["prediction"], curve["outcome"])


def _quantile(distance: Floats, weight: Floats, q: float) -> float:
    """Quantile of distances that count so many rows, between rows as R's and numpy's default."""
    order = np.argsort(distance, kind="stable")
    ends = np.cumsum(weight[order])
    place = q * (ends[-1] - 1)
    low, high = (
        float(distance[order[min(int(np.searchsorted(ends, at, side="right")), order.size - 1)]])
        for at in (np.floor(place), np.floor(place) + 1)
    )
    return low + float(place - np.floor(place)) * (high - low)

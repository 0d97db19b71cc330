"""The ECE under the name that everybody gives it: in bins, or of exact prediction values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrant._base.options import MOST_BINS, whole
from calibrant.measures.binned import binned_calibration_error
from calibrant.measures.exact import exact_calibration_error, measure_levels
from calibrant.measures.measurement import Measurement, as_joint


def expected_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    bins: int | None = 15,
    order: float = 1,
) -> Measurement:
    r"""Average distance between prediction and frequency: the ECE, in bins of equal width.

    Smaller is better. It depends on the number of bins: compare only values with the same bins,
    and do not expect 0 from perfect forecasts (the value grows with bins and falls with rows).
    `calibrant.ece` is the same function.

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
    bins : int or None, default=15
        Number of bins of equal width, at most 2**20. None compares every distinct prediction with
        its own frequency, which is meaningful only where predictions repeat (a warning says so).
    order : float, default=1
        Order q of the mean, at least 1, or `numpy.inf`.

    Returns
    -------
    Measurement
        In [0, 1]: that of `binned_calibration_error(n_bins=bins)`, which has further options, or
        with `bins=None` that of `exact_calibration_error`.

    Notes
    -----
    In bins :math:`\sum_b |E[(y - p) 1(p \in b)]|`, with bins [a, b) of which the last is closed;
    without bins :math:`E |E[y|p] - p|`, Definition 2.1 of the survey. The value in bins is never
    larger than the one without. Neither is continuous, and errors of opposite sign in one bin
    cancel.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI. Gopalan, Hu (2025), Calibration through the lens of indistinguishability,
    section 2.

    Examples
    --------
    >>> y, p = [0, 1, 1, 1], [0.81, 0.81, 0.82, 0.82]
    >>> expected_calibration_error(y, p, bins=10)
    0.065
    >>> expected_calibration_error(y, p, bins=None)
    0.245
    """
    if bins is None:
        return measure_levels(as_joint(y_true, y_proba, sample_weight, pos_label), order)
    measure, options = measure_of_bins(bins, order)
    return measure(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, **options)


ece = expected_calibration_error


def measure_of_bins(
    bins: int | None = 15, order: float = 1
) -> tuple[Callable[..., Measurement], dict[str, Any]]:
    """Return the measure of the catalogue that the ECE is with these options, and its options."""
    if bins is None:
        return exact_calibration_error, {"order": order}
    return binned_calibration_error, {"n_bins": whole("bins", bins, 1, MOST_BINS), "order": order}

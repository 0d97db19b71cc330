"""The calibration belt: where a polynomial of the log-odds may lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.options import check_flag, check_share, whole
from calibrant._base.words import number_text, percent_text, pvalue_text
from calibrant.inference.evidence import Evidence
from calibrant.inference.polynomial_fit import MOST_CELLS, PolynomialFit
from calibrant.regression import log_odds


@dataclass(frozen=True, slots=True)
class CalibrationBelt:
    """Limits of the observed rate at increasing predictions, by a polynomial of the log-odds."""

    prediction: Floats
    low: Floats
    high: Floats
    confidence: float
    degree: int
    """Degree of the polynomial, chosen forwards by likelihood."""
    statistic: float
    """Twice the log-likelihood that the polynomial gains over the forecasts."""
    pvalue: float
    """Of the GiViTI test, which knows that the degree was chosen."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def too_high(self) -> list[tuple[float, float]]:
        """Ranges of predictions above the whole belt: the forecasts promise too much there."""
        return _ranges(self.prediction, self.high - self.prediction)

    @property
    def too_low(self) -> list[tuple[float, float]]:
        """Ranges of predictions below the whole belt."""
        return _ranges(self.prediction, self.prediction - self.low)

    def __str__(self) -> str:
        texts = [
            f"{name} for forecasts from {number_text(low)} to {number_text(high)}"
            for name, ranges in (("too high", self.too_high), ("too low", self.too_low))
            for low, high in ranges
        ]
        off = "; ".join(texts) if texts else "holds the diagonal everywhere"
        return (
            f"calibration belt of degree {self.degree}, {percent_text(self.confidence)} "
            f"confidence: {off} ({pvalue_text(self.pvalue)})"
        )


def calibration_belt(
    y_true: object,
    y_proba: object = None,
    *,
    pos_label: object = None,
    confidence: float = 0.95,
    fitted_here: bool = False,
    points: int = 200,
) -> CalibrationBelt:
    r"""Calibration belt of GiViTI, as reports of intensive care quote it.

    Where the belt leaves the diagonal, forecasts are off with the confidence given.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1. Rows must not have different weights.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1, none of them 0 or 1; left out with a Joint.
    pos_label : object, optional
        The label that counts as outcome 1.
    confidence : float, default=0.95
        Confidence of the belt; papers show 0.8 and 0.95.
    fitted_here : bool, default=False
        Whether a logistic regression was fitted to these very rows ("internal"): intercept and
        slope are then right by construction, and degrees start at 2.
    points : int, default=200
        Predictions at which the belt is given, half of them evenly spaced in probability, half in
        log-odds. At most 2**12.

    Returns
    -------
    CalibrationBelt

    Notes
    -----
    The log-odds of the outcome are a polynomial of the forecast log-odds. From degree 1 on (2 if
    `fitted_here`) a degree is added, up to 4, as long as it gains :math:`k` in twice the
    log-likelihood, the 95 % quantile of chi-squared with one degree of freedom. Given degree m
    the statistic of perfect forecasts is then chi-squared with two degrees of freedom (one) plus
    m - 1 (m - 2) chi-squared numbers of one degree that are known to exceed k: the p-value and the
    reach of the belt come from that distribution. The belt holds all values of all polynomials
    whose likelihood is within that reach of the best, so it holds as a whole. Known flaws: it
    holds only if the truth is such a polynomial; it is asymptotic, and refused with fewer than ten
    of one outcome. More than 4096 different log-odds are put into as many cells.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt for the assessment of prediction models based on dichotomous outcomes, Statistics in
    Medicine 33. Nattino, Finazzi, Bertolini (2016), A new test and graphical tool to assess the
    goodness of fit of logistic regression models, Statistics in Medicine 35.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> print(calibration_belt(rng.random(500) < p**1.5, p))
    calibration belt of degree 1, 95 % confidence: too high for forecasts from 0.000301 to 0.804
    (p = 4.9e-08)
    """
    from scipy.special import expit

    check_share("confidence", confidence)
    count = whole("points", points, 2, MOST_CELLS)
    check_flag("fitted_here", fitted_here)
    joint = Evidence.read(y_true, y_proba, None, pos_label).full_joint
    fit = PolynomialFit.of(joint, 2 if fitted_here else 1)
    odds = log_odds(joint.prediction)
    spread = np.linspace(joint.prediction[0], joint.prediction[-1], count - count // 2)
    even = np.linspace(odds[0], odds[-1], count // 2)
    at = np.sort(np.concatenate([even, log_odds(spread)]))
    low, high = fit.limits(at, fit.allowed_fall(confidence))
    return CalibrationBelt(expit(at), low, high, confidence, fit.degree, fit.statistic, fit.pvalue)


def _ranges(prediction: Floats, margin: Floats) -> list[tuple[float, float]]:
    """Ranges in which a margin is negative, with ends between points by a line."""
    off = margin < 0
    found: list[tuple[float, float]] = []
    for start in np.flatnonzero(off & ~np.append(False, off[:-1])):
        stop = start + int(np.argmin(np.append(off[start:], False)))
        ends = (_crossing(prediction, margin, int(at) - 1) for at in (start, stop))
        found.append((next(ends), next(ends)))
    return found


def _crossing(prediction: Floats, margin: Floats, before: int) -> float:
    """Zero of the margin between a point and the next; the end where there is no next."""
    if before < 0 or before + 1 >= prediction.size:
        return float(prediction[0] if before < 0 else prediction[-1])
    rise = margin[before + 1] - margin[before]
    step = -margin[before] / rise * (prediction[before + 1] - prediction[before])
    return float(prediction[before] + step)

"""Area under the ROC curve, with an interval that holds for few events and for clusters."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_share
from calibrant.inference.cases import Cases
from calibrant.inference.estimates import Estimate
from calibrant.inference.evidence import Evidence

# Halvings that bring a root of the interval to the last digit.
HALVINGS = 60


def auc(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the chance that an event has a higher forecast than a non-event, with an interval.

    Between 0 and 1, larger is better; 1/2 for forecasts that tell nothing. Equal forecasts count
    half.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    Estimate
        NaN with a reason where only one outcome was seen.

    Notes
    -----
    The variance is DeLong's (with clusters Obuchowski's). The interval is Newcombe's: the values
    from which the estimate is no more than z standard errors away, with a variance that depends on
    the value, scaled up to DeLong's where that is larger. So it never leaves [0, 1], and does not
    collapse where events and others are separated. Known flaw: it sees the order of the
    forecasts alone, nothing of their calibration.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44. Newcombe (2006), Confidence intervals for an
    effect size measure based on the Mann-Whitney statistic, Statistics in Medicine 25. Obuchowski
    (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53.

    Examples
    --------
    >>> area = auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> area.value, round(area.low, 2), round(area.high, 2)
    (0.75, 0.23, 0.97)
    """
    check_share("confidence", confidence)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    return find_auc(evidence.cases(), confidence)


def find_auc(cases: Cases, confidence: float) -> Estimate:
    """Area and interval of rows that were read before."""
    from scipy.special import ndtri

    ones = np.where(cases.outcome == 1, cases.weight, 0.0)
    zeros = cases.weight - ones
    events, others = float(ones.sum()), float(zeros.sum())
    if not (events > 0 and others > 0):
        return Estimate.undefined("one outcome only")
    levels, index = np.unique(cases.prediction, return_inverse=True)
    below = _shares_below(index, levels.size, zeros) / others
    above = 1 - _shares_below(index, levels.size, ones) / events
    value = min(1.0, max(0.0, float(ones @ below) / events))
    part = np.where(cases.outcome == 1, (below - value) / events, (above - value) / others)
    alone = float(cases.square @ part**2)
    is_event = cases.outcome == 1
    counts = (
        events**2 / float(cases.square[is_event].sum()),
        others**2 / float(cases.square[~is_event].sum()),
    )
    expected = _variance(value, *counts)
    scale = max(1.0, alone / expected) if expected > 0 else 1.0
    scale *= cases.design_effect(part)
    multiplier = float(ndtri((1 + confidence) / 2)) * cases.widening(1 - confidence)
    if not np.isfinite(multiplier):
        return Estimate(value, 0.0, 1.0)
    multiplier *= np.sqrt(scale)
    low, high = (_end(value, end, multiplier, counts) for end in (0.0, 1.0))
    return Estimate(value, low, high)


def _shares_below(index: Indices, count: int, weight: Floats) -> Floats:
    """Weight of the rows on lower levels, plus half of that on the same one, for each row."""
    of_level = np.bincount(index, weight, count)
    return np.asarray((np.cumsum(of_level) - of_level / 2)[index])


def _variance(area: float, events: float, others: float) -> float:
    """Newcombe's variance of an area, from Hanley and McNeil's (1982), made symmetric."""
    both = max(0.0, (events + others) / 2 - 1)
    spread = 1 + both * (1 - area) / (2 - area) + both * area / (1 + area)
    return area * (1 - area) * spread / (events * others)


def _end(value: float, end: float, multiplier: float, counts: tuple[float, float]) -> float:
    """Find the area farthest towards an end that is `multiplier` standard errors from the value."""
    near, far = value, end
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        if (middle - value) ** 2 <= multiplier**2 * _variance(middle, *counts):
            near = middle
        else:
            far = middle
    return near

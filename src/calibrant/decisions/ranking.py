"""How well forecasts put rows in order: the ROC curve, and risk by coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.words import number_text, percent_text
from calibrant.errors import InferenceRefusedError
from calibrant.joint import Joint
from calibrant.measures.measurement import as_joint


@dataclass(frozen=True, slots=True)
class RocCurve:
    """Hits by false alarms, as the threshold falls; straight where forecasts are equal."""

    threshold: Floats
    """Rows from here on are called events, descending; the first is infinite: nobody is."""
    false_alarm_rate: Floats
    """Share of the outcomes 0 that are called events."""
    hit_rate: Floats
    """Share of the outcomes 1 that are."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def auc(self) -> float:
        """Area under the curve: the chance that an event has a higher forecast than a non-event.

        Equal forecasts count half.
        """
        middle = (self.hit_rate[1:] + self.hit_rate[:-1]) / 2
        return float(np.diff(self.false_alarm_rate) @ middle)


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Error among the rows that are answered, by the share of rows that are, surest first."""

    coverage: Floats
    """Share of the rows with a forecast from the threshold on, ascending to 1."""
    risk: Floats
    """Share of outcomes 0 among them."""
    threshold: Floats
    """Lowest forecast that is answered, descending."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def sentence(self) -> str:
        """Say what answering everything, and the surest half, would get wrong."""
        half = float(self([0.5])[0])
        return (
            f"Answering everything gets {percent_text(float(self.risk[-1]))} wrong, the surest "
            f"half {percent_text(half)}; area {number_text(self.area)}, of which "
            f"{number_text(self.excess)} for an order that is not the best."
        )

    def __call__(self, coverage: object) -> Floats:
        """Error when a share of the rows is answered; equal forecasts are answered at random."""
        at = np.asarray(coverage, dtype=np.float64)
        wrong = np.interp(at, np.append(0.0, self.coverage), np.append(0.0, self._wrong))
        found = np.full(at.shape, self.risk[0])
        np.divide(wrong, at, out=found, where=at > 0)
        return found

    @property
    def _wrong(self) -> Floats:
        return self.coverage * self.risk

    @property
    def area(self) -> float:
        """Mean risk over all coverages (AURC); smaller is better.

        Exact: where equal forecasts are answered at random, errors grow evenly with coverage.
        """
        start, wrong = np.append(0.0, self.coverage[:-1]), self._wrong
        before = np.append(0.0, wrong[:-1])
        width = self.coverage - start
        slope = np.divide(wrong - before, width, out=np.zeros_like(wrong), where=width > 0)
        ratio = np.divide(width, start, out=np.zeros_like(start), where=start > 0)
        return float(np.sum(slope * width + (before - slope * start) * np.log1p(ratio)))

    @property
    def best_area(self) -> float:
        """Least area with as many errors: all right answers come first."""
        wrong = float(self.risk[-1])
        return wrong + (1 - wrong) * float(np.log1p(-wrong)) if wrong < 1 else 1.0

    @property
    def excess(self) -> float:
        """What the order costs: the area beyond the least one (excess AURC)."""
        return max(0.0, self.area - self.best_area)


def roc_curve(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> RocCurve:
    """Return hits by false alarms at every threshold.

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
    RocCurve

    Notes
    -----
    The curve sees the order of the forecasts alone: any increasing map leaves it as it is, so it
    says nothing about calibration. `auc` has the area with an interval.

    Examples
    --------
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.auc
    0.75
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    ones, zeros = joint.positives[::-1], (joint.weight - joint.positives)[::-1]
    hits, alarms = np.cumsum(ones), np.cumsum(zeros)
    if not (hits[-1] > 0 and alarms[-1] > 0):
        raise InferenceRefusedError(
            "a ROC curve needs both outcomes", f"a base rate of {joint.base_rate:g}"
        )
    return RocCurve(
        np.append(np.inf, joint.low[::-1]),
        np.append(0.0, alarms / alarms[-1]),
        np.append(0.0, hits / hits[-1]),
    )


def risk_coverage_curve(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> RiskCoverage:
    """Return the error among answered rows by the share that is answered, surest first.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or whether each answer was right.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Confidence in each answer; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as right.

    Returns
    -------
    RiskCoverage
        Its `area` is the AURC, `excess` what the order of the answers adds to the least area that
        so many errors allow.

    Notes
    -----
    The area is the integral over coverage, which is what the usual sum over rows converges to (they
    differ by about log(n) / n times the risk of the surest rows). Equal confidences are answered in
    random order. Known flaw: the area is dominated by the error rate itself; compare `excess`
    across models of different accuracy. To act on a threshold, certify it: `certified_threshold`.

    References
    ----------
    El-Yaniv, Wiener (2010), On the foundations of noise-free selective classification, JMLR 11.
    Geifman, Uziel, El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural
    classifiers, ICLR.

    Examples
    --------
    >>> curve = risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6])
    >>> curve.risk
    array([0.        , 0.        , 0.33333333, 0.25      ])
    >>> round(curve.area, 4), round(curve.excess, 4)
    (0.1192, 0.0849)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    return find_risk_coverage(joint)


def find_risk_coverage(joint: Joint) -> RiskCoverage:
    """Risk by coverage of a Joint."""
    weight = np.cumsum(joint.weight[::-1])
    wrong = np.cumsum((joint.weight - joint.positives)[::-1])
    return RiskCoverage(weight / weight[-1], np.clip(wrong / weight, 0.0, 1.0), joint.low[::-1])

"""Third step of an audit: the object that users hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.inference import Verdict
from calibrant.inference.evidence import Evidence, check_draws, check_share
from calibrant.measurement import Measurement
from calibrant.report.summary import Summary, summarise
from calibrant.report.text import render_text


@dataclass(frozen=True, slots=True)
class Audit:
    """How far forecasts can be trusted; `print` it to read it."""

    summary: Summary
    """Everything the audit found, as plain data."""

    def __str__(self) -> str:
        return render_text(self.summary)

    @property
    def verdict(self) -> Verdict:
        """Whether the smooth error is within the tolerance, beyond it, or cannot be judged yet."""
        return self.summary.verdict

    @property
    def measures(self) -> dict[str, Measurement]:
        """Every measure of the catalogue, by name."""
        return self.summary.measures


def audit(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    tolerance: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = 0,
) -> Audit:
    """Tell how far forecasts can be trusted.

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
    tolerance : float, optional
        Smooth error that is small enough. By default 0.02, or a tenth of the share of the rarer
        outcome if that is less.
    confidence : float, default=0.95
        Confidence of the interval that decides.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: patients, questions, games.
    draws : int, default=999
        How often outcomes are redrawn to find what a perfect forecaster would have scored.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that an audit says the same again.

    Returns
    -------
    Audit

    Examples
    --------
    >>> result = audit([1] * 30 + [0] * 10, [0.5] * 40)
    >>> print(result.verdict)
    Miscalibrated: the smooth calibration error is at least 0.0925 (95 % confidence), beyond the
    tolerance of 0.02.
    """
    check_draws(draws)
    check_share("confidence", confidence)
    if tolerance is not None:
        check_share("tolerance", tolerance)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    return Audit(summarise(evidence, tolerance, confidence, draws, rng))

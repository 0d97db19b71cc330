"""Third step of an audit: the object that users hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.inference import CalibrationTest
from calibrant.measurement import Measurement, as_joint
from calibrant.report.summary import Summary, summarise
from calibrant.report.text import render_text, verdict_sentence


@dataclass(frozen=True, slots=True)
class Audit:
    """How far forecasts can be trusted; `print` it to read it."""

    summary: Summary
    """Everything the audit found, as plain data."""

    def __str__(self) -> str:
        return render_text(self.summary)

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        return verdict_sentence(self.summary)

    @property
    def measures(self) -> dict[str, Measurement]:
        """Every measure of the catalogue, by name."""
        return self.summary.measures

    @property
    def test(self) -> CalibrationTest:
        """The smooth error beside what a perfect forecaster would have scored."""
        return self.summary.test


def audit(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    draws: int = 199,
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
    draws : int, default=199
        How often outcomes are redrawn to find what a perfect forecaster would have scored.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that an audit says the same again.

    Returns
    -------
    Audit

    Examples
    --------
    >>> result = audit([1] * 30 + [0] * 10, [0.5] * 40)
    >>> result.sentence
    'The forecasts are not calibrated: forecasts of 0.50 are too low: they say 0.50 on average and
    0.75 happened (40 rows).'
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    return Audit(summarise(joint, draws, rng))

"""Numbers with intervals and tests with p-values, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with a confidence interval, or the reason why there is none."""

    value: float
    low: float
    high: float
    reason: str = ""

    @classmethod
    def undefined(cls, reason: str) -> Estimate:
        """Return no number, and why."""
        return cls(np.nan, np.nan, np.nan, reason)


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """A test statistic with its two-sided p-value, or the reason why there is none."""

    statistic: float
    pvalue: float
    reason: str = ""

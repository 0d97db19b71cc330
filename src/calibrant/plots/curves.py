"""Curves of observed frequencies over forecasts, as tables of their vertices."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.inference import Band
from calibrant.joint import Joint
from calibrant.measures.kernel_smoothed import smoothed_curve
from calibrant.plots.display import Columns
from calibrant.pooling import isotonic

# A kernel curve is not drawn where the density of forecasts is below this share of the highest.
THIN_DENSITY = 1e-3


def isotonic_steps(joint: Joint) -> Columns:
    """Find the ends of the steps of the isotonic curve."""
    pools = isotonic(joint)
    ends = np.column_stack([pools.low, pools.high]).ravel()
    return {"prediction": ends, "outcome": np.repeat(pools.joint.outcome, 2)}


def kernel_curve(joint: Joint, bandwidth: float | None) -> Columns:
    """Smoothed frequencies between the outermost forecasts, NaN where there are next to none."""
    found = smoothed_curve(joint, bandwidth=bandwidth)
    at, density = found["prediction"], found["density"]
    seen = density >= THIN_DENSITY * density.max()
    outcome = np.where(seen, np.clip(found["outcome"], 0, 1), np.nan)
    inside = (at >= joint.prediction[0]) & (at <= joint.prediction[-1])
    return {"prediction": at[inside], "outcome": outcome[inside]}


def beyond(curve: Floats, band: Band) -> Floats:
    """Frequencies of a curve that lie outside a band."""
    return curve[(curve < band.low - 1e-12) | (curve > band.high + 1e-12)]

"""What becomes of single forecasts: in words, and the threshold that does what another did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant._base.options import check_share
from calibrant.errors import InvalidOptionError
from calibrant.recalibration.export import LOGIT, PERCENT
from calibrant.recalibration.forms import Form, Logistic, LogOddsCurve

if TYPE_CHECKING:
    from calibrant.recalibration.base import Calibrator

# Forecasts whose recalibrated values are reported.
EXAMPLES = (0.1, 0.5, 0.9)


def examples_text(fitted: Calibrator) -> str:
    """Say what becomes of 0.1, 0.5 and 0.9, in a sentence that follows another; none of classes."""
    if fitted.classes_ is not None:
        return ""
    recalibrated = fitted.form_(np.array(EXAMPLES))
    parts = [
        f"{before:g} becomes {after:.3f}"
        for before, after in zip(EXAMPLES, recalibrated, strict=True)
    ]
    return f" So {parts[0]}, {parts[1]}, {parts[2]}."


def increases(form: Form) -> bool:
    """Whether a form never falls."""
    if isinstance(form, Logistic):
        return form.low >= 0 and form.high >= 0
    return isinstance(form, LogOddsCurve) or bool((np.diff(form.value) >= 0).all())


def inverse_threshold(fitted: Calibrator, threshold: float) -> float:
    """Find the least prediction that becomes a threshold or more: halving, down to one double."""
    from calibrant.recalibration.base import form_of_two
    from calibrant.recalibration.group_calibrator import GroupCalibrator

    check_share("threshold", threshold)
    if isinstance(fitted, GroupCalibrator):
        raise InvalidOptionError(
            "a calibrator with patches has no one threshold",
            fitted.title,
            "use that of its base calibrator",
        )
    form = form_of_two(fitted)
    if not increases(form):
        raise InvalidOptionError(
            "a threshold can be translated by calibrators that increase",
            fitted.title,
            "use one of platt, beta, spline and isotonic",
        )

    def value(prediction: float) -> float:
        return float(form(np.array([prediction]))[0])

    low, high = 0.0, 1.0
    if value(low) >= threshold:
        return _in_units(low, fitted.scale_)
    if value(high) < threshold:
        raise InvalidOptionError(
            "the threshold must be one that some forecast reaches",
            f"{threshold:g}, where the largest is {value(high):.4g}",
        )
    while True:
        middle = (low + high) / 2
        if middle in {low, high}:
            return _in_units(high, fitted.scale_)
        if value(middle) >= threshold:
            high = middle
        else:
            low = middle


def _in_units(prediction: float, scale: str) -> float:
    """Write a probability in the units that a calibrator takes."""
    if scale == LOGIT:
        with np.errstate(divide="ignore"):
            return float(np.log(prediction) - np.log1p(-prediction))
    return prediction * 100.0 if scale == PERCENT else prediction

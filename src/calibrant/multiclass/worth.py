"""What forecasts of classes are worth as they are: losses, accuracy, smooth errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.decisions import as_score
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass.reductions import ClassWise, class_wise
from calibrant.recalibration import losses, units_of


@dataclass(frozen=True, slots=True)
class ClassJudgement:
    """What forecasts of classes are worth."""

    log_loss: float
    """Mean of minus the log of the chance given to what happened; at most 37 for each row."""
    brier: float
    """Mean sum of squared errors over the classes."""
    accuracy: float
    top_label_error: float
    """Smooth error of the confidence."""
    worst_class_error: float
    """Largest smooth error of a class."""


def judge(forecasts: ClassForecasts, by_class: ClassWise | None = None) -> ClassJudgement:
    """Judge forecasts as they are; smooth errors by class may be known before."""
    by_class = class_wise(forecasts) if by_class is None else by_class
    hit = forecasts.probability.argmax(axis=1) == forecasts.label
    mass = forecasts.mass
    units = units_of(forecasts.probability, forecasts.label, forecasts.weight, forecasts.classes)
    return ClassJudgement(
        log_loss=float(mass @ losses(as_score("log"), units, units.prediction)),
        brier=float(mass @ losses(as_score("brier"), units, units.prediction)),
        accuracy=float(np.average(hit, weights=forecasts.weight)),
        top_label_error=float(
            smooth_calibration_error(Joint.from_rows(forecasts.top_label_rows()))
        ),
        worst_class_error=by_class.worst,
    )

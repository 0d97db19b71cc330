"""Forecasts of more than two classes."""

from calibrant.multiclass.forecasts import ClassForecasts
from calibrant.multiclass.projected import SubsetWitness, projected_smooth_calibration_error
from calibrant.multiclass.reductions import (
    ClassWise,
    class_wise,
    pairwise,
    subset,
    top_k,
    top_label,
)

__all__ = [
    "ClassForecasts",
    "ClassWise",
    "SubsetWitness",
    "class_wise",
    "pairwise",
    "projected_smooth_calibration_error",
    "subset",
    "top_k",
    "top_label",
]

"""Forecasts of more than two classes."""

from calibrant.multiclass.canonical import CanonicalWitness, canonical_calibration_error
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
from calibrant.multiclass.test import calibration_test

__all__ = [
    "CanonicalWitness",
    "ClassForecasts",
    "ClassWise",
    "SubsetWitness",
    "calibration_test",
    "canonical_calibration_error",
    "class_wise",
    "pairwise",
    "projected_smooth_calibration_error",
    "subset",
    "top_k",
    "top_label",
]

"""Forecasts of more than two classes."""

from calibrant.multiclass.forecasts import ClassForecasts
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
    "class_wise",
    "pairwise",
    "subset",
    "top_k",
    "top_label",
]

"""Families of tests for `weighted_calibration_error`."""

from calibrant.measures.families import (
    Bounded,
    BoundedVariation,
    Dictionary,
    Family,
    Intervals,
    KernelBall,
    LearnedFamily,
    Lipschitz,
    Polynomials,
    Thresholds,
)

__all__ = [
    "Bounded",
    "BoundedVariation",
    "Dictionary",
    "Family",
    "Intervals",
    "KernelBall",
    "LearnedFamily",
    "Lipschitz",
    "Polynomials",
    "Thresholds",
]

"""How far predicted probabilities can be trusted."""

from calibrant import datasets, errors, families, pooling
from calibrant.catalogue import CATALOGUE
from calibrant.inference import (
    CalibrationTest,
    ConfidenceInterval,
    Verdict,
    calibration_test,
    confidence_interval,
    verdict,
)
from calibrant.joint import Joint
from calibrant.measurement import Measurement
from calibrant.measures import (
    DistanceBracket,
    binned_calibration_error,
    cutoff_calibration_error,
    distance_bracket,
    distance_to_calibration,
    earth_mover_distance,
    expected_calibration_error,
    interval_calibration_error,
    kernel_calibration_error,
    kernel_smoothed_calibration_error,
    low_degree_calibration_error,
    lower_distance_to_calibration,
    smooth_calibration_error,
    smoothed_curve,
    surrogate_interval_calibration_error,
    upper_distance_to_calibration,
    weighted_calibration_error,
)
from calibrant.report import Audit, audit

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "Audit",
    "CalibrationTest",
    "ConfidenceInterval",
    "DistanceBracket",
    "Joint",
    "Measurement",
    "Verdict",
    "audit",
    "binned_calibration_error",
    "calibration_test",
    "confidence_interval",
    "cutoff_calibration_error",
    "datasets",
    "distance_bracket",
    "distance_to_calibration",
    "earth_mover_distance",
    "errors",
    "expected_calibration_error",
    "families",
    "interval_calibration_error",
    "kernel_calibration_error",
    "kernel_smoothed_calibration_error",
    "low_degree_calibration_error",
    "lower_distance_to_calibration",
    "pooling",
    "smooth_calibration_error",
    "smoothed_curve",
    "surrogate_interval_calibration_error",
    "upper_distance_to_calibration",
    "verdict",
    "weighted_calibration_error",
]

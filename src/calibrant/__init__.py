"""How far predicted probabilities can be trusted."""

from calibrant import datasets, errors, families, pooling
from calibrant.catalogue import CATALOGUE
from calibrant.inference import (
    CalibrationMonitor,
    CalibrationTest,
    ClassicalNumbers,
    Comparison,
    ConfidenceInterval,
    Verdict,
    calibration_test,
    classical_numbers,
    compare,
    confidence_band,
    confidence_interval,
    consistency_band,
    rows_needed,
    verdict,
    verdict_chances,
)
from calibrant.joint import Joint
from calibrant.measurement import Measurement
from calibrant.measures import (
    binned_calibration_error,
    cutoff_calibration_error,
    earth_mover_distance,
    expected_calibration_error,
    kernel_calibration_error,
    kernel_smoothed_calibration_error,
    low_degree_calibration_error,
    smooth_calibration_error,
    smoothed_curve,
    weighted_calibration_error,
)
from calibrant.report import Audit, audit

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "Audit",
    "CalibrationMonitor",
    "CalibrationTest",
    "ClassicalNumbers",
    "Comparison",
    "ConfidenceInterval",
    "Joint",
    "Measurement",
    "Verdict",
    "audit",
    "binned_calibration_error",
    "calibration_test",
    "classical_numbers",
    "compare",
    "confidence_band",
    "confidence_interval",
    "consistency_band",
    "cutoff_calibration_error",
    "datasets",
    "earth_mover_distance",
    "errors",
    "expected_calibration_error",
    "families",
    "kernel_calibration_error",
    "kernel_smoothed_calibration_error",
    "low_degree_calibration_error",
    "pooling",
    "rows_needed",
    "smooth_calibration_error",
    "smoothed_curve",
    "verdict",
    "verdict_chances",
    "weighted_calibration_error",
]

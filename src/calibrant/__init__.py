"""How far predicted probabilities can be trusted."""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from calibrant import datasets, decisions, errors, families, pooling
from calibrant.catalogue import CATALOGUE
from calibrant.decisions import (
    DecisionTask,
    calibration_decision_loss,
    decision_loss_curve,
    fixed_decision_loss,
    murphy_curve,
    net_benefit,
    post_processing_gap,
    promised_and_received,
    randomised_response,
    score_decomposition,
    u_calibration_error,
)
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
    "CalibrationMonitor",
    "CalibrationTest",
    "ClassicalNumbers",
    "Comparison",
    "ConfidenceInterval",
    "DecisionTask",
    "DistanceBracket",
    "Joint",
    "Measurement",
    "Verdict",
    "audit",
    "binned_calibration_error",
    "calibration_decision_loss",
    "calibration_test",
    "classical_numbers",
    "compare",
    "confidence_band",
    "confidence_interval",
    "consistency_band",
    "cutoff_calibration_error",
    "datasets",
    "decision_loss_curve",
    "decisions",
    "distance_bracket",
    "distance_to_calibration",
    "earth_mover_distance",
    "errors",
    "expected_calibration_error",
    "families",
    "fixed_decision_loss",
    "interval_calibration_error",
    "kernel_calibration_error",
    "kernel_smoothed_calibration_error",
    "low_degree_calibration_error",
    "lower_distance_to_calibration",
    "murphy_curve",
    "net_benefit",
    "pooling",
    "post_processing_gap",
    "promised_and_received",
    "randomised_response",
    "rows_needed",
    "score_decomposition",
    "smooth_calibration_error",
    "smoothed_curve",
    "surrogate_interval_calibration_error",
    "u_calibration_error",
    "upper_distance_to_calibration",
    "verdict",
    "verdict_chances",
    "weighted_calibration_error",
]

# Rooms that are not needed to measure are opened when they are asked for.
_ON_REQUEST = ("groups", "integrations", "plots")


def __getattr__(name: str) -> _ModuleType:
    if name in _ON_REQUEST:
        return _import_module(f"calibrant.{name}")
    raise AttributeError(f"module 'calibrant' has no attribute {name!r}")

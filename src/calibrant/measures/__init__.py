"""The measures: functions of a Joint that return a Measurement."""

from calibrant.measures.binned import binned_calibration_error
from calibrant.measures.bracket import DistanceBracket, distance_bracket
from calibrant.measures.conventions import Convention, conventions
from calibrant.measures.cutoff import cutoff_calibration_error
from calibrant.measures.exact import exact_calibration_error
from calibrant.measures.expected_error import ece, expected_calibration_error
from calibrant.measures.interval_error import interval_calibration_error
from calibrant.measures.kernel import kernel_calibration_error
from calibrant.measures.kernel_smoothed import (
    kernel_smoothed_calibration_error,
    smoothed_curve,
)
from calibrant.measures.low_degree import low_degree_calibration_error
from calibrant.measures.lower_distance import lower_distance_to_calibration
from calibrant.measures.measurement import Measurement
from calibrant.measures.smooth import earth_mover_distance, smooth_calibration_error
from calibrant.measures.surrogate import surrogate_interval_calibration_error
from calibrant.measures.true_distance import distance_to_calibration
from calibrant.measures.two_bins import averaged_two_bin_error
from calibrant.measures.upper_distance import upper_distance_to_calibration
from calibrant.measures.weighted import weighted_calibration_error

__all__ = [
    "Convention",
    "DistanceBracket",
    "Measurement",
    "averaged_two_bin_error",
    "binned_calibration_error",
    "conventions",
    "cutoff_calibration_error",
    "distance_bracket",
    "distance_to_calibration",
    "earth_mover_distance",
    "ece",
    "exact_calibration_error",
    "expected_calibration_error",
    "interval_calibration_error",
    "kernel_calibration_error",
    "kernel_smoothed_calibration_error",
    "low_degree_calibration_error",
    "lower_distance_to_calibration",
    "smooth_calibration_error",
    "smoothed_curve",
    "surrogate_interval_calibration_error",
    "upper_distance_to_calibration",
    "weighted_calibration_error",
]

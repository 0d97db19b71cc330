"""What the sample can tell: noise floor, test, interval, verdict, comparison."""

from calibrant.inference.interval import ConfidenceInterval, confidence_interval
from calibrant.inference.ratio import Ratio
from calibrant.inference.test import CalibrationTest, calibration_test, noise_floors
from calibrant.inference.verdict import Verdict, default_tolerance, verdict

__all__ = [
    "CalibrationTest",
    "ConfidenceInterval",
    "Ratio",
    "Verdict",
    "calibration_test",
    "confidence_interval",
    "default_tolerance",
    "noise_floors",
    "verdict",
]

"""What the sample can tell: the noise floor, the test of calibration, the monitor."""

from calibrant.inference.monitor import CalibrationMonitor
from calibrant.inference.test import CalibrationTest, calibration_test, noise_floors

__all__ = ["CalibrationMonitor", "CalibrationTest", "calibration_test", "noise_floors"]

"""What the sample can tell: the noise floor and the test of calibration."""

from calibrant.inference.test import CalibrationTest, calibration_test, noise_floors

__all__ = ["CalibrationTest", "calibration_test", "noise_floors"]

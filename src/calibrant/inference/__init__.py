"""What the sample can tell: noise floor, test, interval, verdict, bands, comparison, power."""

from calibrant.inference.bands import Band, confidence_band, consistency_band
from calibrant.inference.classical import (
    ClassicalNumbers,
    Estimate,
    ScoreTest,
    classical_numbers,
)
from calibrant.inference.comparison import Comparison, compare
from calibrant.inference.interval import ConfidenceInterval, confidence_interval
from calibrant.inference.monte_carlo import CalibrationTest, calibration_test, noise_floors
from calibrant.inference.power import RowsNeeded, rows_needed, verdict_chances
from calibrant.inference.ratio import Ratio
from calibrant.inference.verdict import Verdict, default_tolerance, verdict

__all__ = [
    "Band",
    "CalibrationTest",
    "ClassicalNumbers",
    "Comparison",
    "ConfidenceInterval",
    "Estimate",
    "Ratio",
    "RowsNeeded",
    "ScoreTest",
    "Verdict",
    "calibration_test",
    "classical_numbers",
    "compare",
    "confidence_band",
    "confidence_interval",
    "consistency_band",
    "default_tolerance",
    "noise_floors",
    "rows_needed",
    "verdict",
    "verdict_chances",
]

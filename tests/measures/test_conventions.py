"""Binned errors as other programs compute them."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.measures.conventions import conventions


def test_conventions_of_other_programs():
    """p = 1 alone in torchmetrics; the last hundred rows of the exam's script are dropped."""
    y = np.array([1] * 130 + [0] * 130 + [1] * 70)
    p = np.array([0.95] * 260 + [1.0] * 70)
    found = {c.program: c for c in conventions(cal.Joint.from_samples(y, p))}
    together = abs((130 - 0.95 * 260) + 0) / 330
    assert found["torchmetrics, BinaryCalibrationError"].value == pytest.approx(together)
    assert found["netcal, ECE(10)"].value == pytest.approx(abs(200 - 0.95 * 260 - 70) / 330)
    exam = found["the script of Humanity's Last Exam"]
    assert "drops the last 130 rows" in exam.how
    gap = 0.5 - 0.95
    assert exam.value == pytest.approx(np.sqrt(200 / 330 * gap**2))

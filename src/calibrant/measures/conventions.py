"""A Rosetta stone: the "ECE" of other programs on the same data, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.joint import Joint
from calibrant.measures.binned import binned_calibration_error
from calibrant.words import count_text

# The published script of "Humanity's Last Exam" sorts rows and cuts them every hundred.
ROWS_PER_CUT = 100


@dataclass(frozen=True, slots=True)
class Convention:
    """What a program calls calibration error, its value here, and what makes it differ."""

    program: str
    value: float
    how: str


def conventions(joint: Joint) -> tuple[Convention, ...]:
    """Evaluate the conventions that users are most likely to meet."""
    found = [
        Convention(
            "scikit-learn, calibration_curve",
            float(binned_calibration_error(joint, n_bins=5, closed="right")),
            "5 bins of equal width (a, b], weighted by their rows",
        ),
        Convention(
            "netcal, ECE(10)",
            float(binned_calibration_error(joint, n_bins=10)),
            "10 bins of equal width [a, b), the last one closed",
        ),
        Convention(
            "torchmetrics, BinaryCalibrationError",
            _with_one_alone(joint),
            "15 bins of equal width [a, b); forecasts of exactly 1 in a bin of their own"
            + _certain(joint),
        ),
        Convention(
            "equal-mass bins, 15",
            float(binned_calibration_error(joint, strategy="quantile")),
            "bins of equal weight that never split equal forecasts",
        ),
    ]
    chunks = _chunks(joint)
    if chunks is not None:
        found.append(chunks)
    return tuple(found)


def _with_one_alone(joint: Joint) -> float:
    """Fifteen bins [a, b) and one for 1."""
    at_one = joint.prediction == 1
    group = np.minimum((joint.prediction * 15).astype(np.intp), 14) + at_one
    charge = joint.mass * joint.residual
    return float(np.abs(np.bincount(group, charge)).sum())


def _certain(joint: Joint) -> str:
    certain = int(joint.rows[joint.prediction == 1].sum())
    return f" ({count_text(certain, 'row')} here)" if certain else ""


def _chunks(joint: Joint) -> Convention | None:
    """Root mean square over chunks of a hundred sorted rows, the last chunk left out.

    The script cuts through equal forecasts, so its value depends on the order of the rows; here
    the outcomes of equal forecasts are spread evenly.
    """
    if not np.array_equal(joint.weight, joint.rows) or joint.row_count < 2 * ROWS_PER_CUT:
        return None
    ends = np.cumsum(joint.rows)
    cuts = np.arange(0, joint.row_count + 1, ROWS_PER_CUT)[: joint.row_count // ROWS_PER_CUT]
    said = np.interp(
        cuts, np.append(0, ends), np.append(0, np.cumsum(joint.rows * joint.prediction))
    )
    happened = np.interp(cuts, np.append(0, ends), np.append(0, np.cumsum(joint.positives)))
    gaps = (np.diff(happened) - np.diff(said)) / ROWS_PER_CUT
    dropped = joint.row_count - int(cuts[-1])
    return Convention(
        "the script of Humanity's Last Exam",
        float(np.sqrt(np.sum(ROWS_PER_CUT / joint.row_count * gaps**2))),
        f"root mean square over chunks of 100 sorted rows; drops the last {dropped} rows",
    )

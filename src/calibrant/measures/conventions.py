"""A Rosetta stone: the "ECE" of other programs on the same data, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import MOST_BINS, whole
from calibrant._base.words import count_text
from calibrant.errors import InferenceRefusedError
from calibrant.joint import Joint
from calibrant.measures.binned import binned_calibration_error
from calibrant.measures.measurement import as_joint

# The published script of "Humanity's Last Exam" sorts rows and cuts them every hundred.
ROWS_PER_CUT = 100
# Local regression on more levels than this takes cells instead.
MOST_LEVELS = 2**12


@dataclass(frozen=True, slots=True)
class Convention:
    """What a program calls calibration error, its value here, and what makes it differ."""

    program: str
    value: float
    how: str


def conventions(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    n_bins: int | None = None,
) -> tuple[Convention, ...]:
    """Evaluate the "ECE" of other programs on the same rows, and say why they differ.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; the other programs mostly take none.
    pos_label : object, optional
        The label that counts as outcome 1.
    n_bins : int, optional
        Number of bins for all of them; the default of each program if not given.

    Returns
    -------
    tuple of Convention
        With `program`, `value` and `how`.

    Notes
    -----
    Edges are those of `numpy.linspace`, as in the programs: 3/10 is there a little more than 0.3,
    so that a forecast of 0.3 falls below it. Our own edges are exact. Checked against
    scikit-learn 1.9, netcal 1.4, MAPIE 1.6 and rms 6.5; torchmetrics and the script of Humanity's
    Last Exam by reading them.

    Examples
    --------
    >>> outcomes, predictions = [0, 1, 1, 0, 1], [0.1, 0.3, 0.6, 0.7, 1.0]
    >>> for one in conventions(outcomes, predictions, n_bins=10)[:3]:
    ...     print(f"{one.program}: {one.value:.3f}")
    calibrant, binned_calibration_error: 0.380
    scikit-learn, calibration_curve: 0.380
    netcal, ECE: 0.380
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    count = None if n_bins is None else whole("n_bins", n_bins, 1, MOST_BINS)
    found = [
        _ours(joint, count or 15),
        _scikit_learn(joint, count or 5),
        _netcal(joint, count or 10),
        _torchmetrics(joint, count or 15),
        _mapie(joint, count or 50),
        Convention(
            "equal-mass bins",
            float(binned_calibration_error(joint, n_bins=count or 15, strategy="quantile")),
            f"{count or 15} bins of equal weight, which never split equal forecasts",
        ),
    ]
    others = (_chunks(joint), _val_prob(joint))
    return (*found, *(one for one in others if one is not None))


def _over(joint: Joint, cell: Indices) -> float:
    """Add up the absolute biases of bins, given that of each level."""
    return float(np.abs(np.bincount(cell, joint.mass * joint.residual)).sum())


def _ours(joint: Joint, count: int) -> Convention:
    return Convention(
        "calibrant, binned_calibration_error",
        float(binned_calibration_error(joint, n_bins=count)),
        f"{count} bins of equal width [a, b), the last one closed; edges are exact",
    )


def _scikit_learn(joint: Joint, count: int) -> Convention:
    edges = np.linspace(0, 1, count + 1)
    return Convention(
        "scikit-learn, calibration_curve",
        _over(joint, np.searchsorted(edges[1:-1], joint.prediction)),
        f"{count} bins of equal width (a, b], weighted by their rows",
    )


def _netcal(joint: Joint, count: int) -> Convention:
    edges = np.linspace(0, 1, count + 1)
    cell = np.searchsorted(edges, joint.prediction, side="right") - 1
    return Convention(
        "netcal, ECE",
        _over(joint, np.minimum(cell, count - 1)),
        f"{count} bins of equal width [a, b), the last one closed; edges of numpy.linspace",
    )


def _torchmetrics(joint: Joint, count: int) -> Convention:
    cell = np.searchsorted(_torch_edges(count), joint.prediction, side="right") - 1
    certain = int(joint.rows[joint.prediction == 1].sum())
    here = f" ({count_text(certain, 'row')} here)" if certain else ""
    return Convention(
        "torchmetrics, BinaryCalibrationError",
        _over(joint, cell),
        f"{count} bins of equal width [a, b); forecasts of exactly 1 in a bin of their own{here}",
    )


def _torch_edges(count: int) -> Floats:
    """Edges of torch.linspace, which counts from both ends."""
    step, index = 1.0 / count, np.arange(count + 1)
    return np.where(index < (count + 1) // 2, step * index, 1.0 - step * (count - index))


def _mapie(joint: Joint, count: int) -> Convention:
    edges = np.linspace(0, 1, count)
    return Convention(
        "MAPIE, expected_calibration_error",
        _over(joint, np.digitize(joint.prediction, edges, right=True)),
        f"num_bins={count} makes {count - 1} bins of equal width (a, b], and one for 0 alone",
    )


def _chunks(joint: Joint) -> Convention | None:
    """Root mean square over chunks of a hundred sorted rows, the last chunk left out.

    The script cuts through equal forecasts, so its value depends on the order of the rows; here
    the outcomes of equal forecasts are spread evenly.
    """
    joint = joint.of_mean_weight_one()
    if not joint.unweighted or joint.row_count < 2 * ROWS_PER_CUT:
        return None
    ends = np.cumsum(joint.rows)
    cuts = np.arange(0, joint.row_count + 1, ROWS_PER_CUT)[: joint.row_count // ROWS_PER_CUT]
    forecast_sums = np.interp(
        cuts, np.append(0, ends), np.append(0, np.cumsum(joint.rows * joint.prediction))
    )
    happened = np.interp(cuts, np.append(0, ends), np.append(0, np.cumsum(joint.positives)))
    gaps = (np.diff(happened) - np.diff(forecast_sums)) / ROWS_PER_CUT
    dropped = joint.row_count - int(cuts[-1])
    return Convention(
        "the script of Humanity's Last Exam",
        float(np.sqrt(np.sum(ROWS_PER_CUT / joint.row_count * gaps**2))),
        f"root mean square over chunks of 100 sorted rows; drops the last {dropped} rows",
    )


def _val_prob(joint: Joint) -> Convention | None:
    """Mean distance from the curve of `val.prob`."""
    from calibrant.measures.local_regression import lowess

    many = len(joint) > MOST_LEVELS
    rounded = joint.rounded(MOST_LEVELS) if many else joint
    try:
        distance = np.abs(lowess(rounded) - rounded.prediction)
    except InferenceRefusedError:  # weights, or mean outcomes
        return None
    cells = f", on {MOST_LEVELS} cells" if many else ""
    return Convention(
        "rms, val.prob: Eavg",
        float(rounded.mass @ distance),
        f"no bins: mean distance from lowess(p, y, iter=0), which smooths over two thirds{cells}",
    )

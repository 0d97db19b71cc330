"""How surprising the error of each class is, among the most surprising of redrawn labels."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.inference import Statistic
from calibrant.joint.classes import ClassForecasts
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.subsets import in_levels
from calibrant.multiclass.redraws import redraws_in_parts

# Errors of redrawn labels, and those they are compared with, are measured on so many cells.
CELLS = 2**7


def class_pvalues(forecasts: ClassForecasts, draws: int, rng: np.random.Generator) -> Floats:
    """For each class the chance that the worst class of perfect forecasts surprises as much.

    Labels are redrawn from their rows, for all classes at once, and the largest surprise over the
    classes is what each class is compared with. So the chance that any p-value is at most a is at
    most a if all rows are right, for every sample size and any weights. If some classes are
    wrong, the labels of the others are still distributed as drawn (a row's chances of the other
    classes determine it), and their largest surprise is at most that of all classes: each of them
    keeps the same protection (Westfall, Young, 1993, Resampling-based multiple testing).
    """
    observed = _surprises(forecasts, forecasts.label[np.newaxis, :])[0]
    parts = redraws_in_parts(forecasts, draws, rng)
    largest = np.concatenate([_surprises(forecasts, labels).max(axis=1) for labels in parts])
    # Equal surprises may differ in their last digits: a tie speaks for the forecaster.
    below = np.searchsorted(np.sort(largest), observed * (1 - 1e-9))
    return np.asarray((1 + draws - below) / (1 + draws))


def _surprises(forecasts: ClassForecasts, labels: Indices) -> Floats:
    """Surprise at the smooth error of each class, one row per series of labels."""
    draws, rows = labels.shape
    count = len(forecasts.classes)
    # Entries of the labels by class; sorting short integers takes linear time.
    narrow = labels.ravel().astype(np.uint16 if count <= 2**16 else np.uint32)
    order = np.argsort(narrow, kind="stable")
    ends = np.append(0, np.bincount(narrow, minlength=count).cumsum())
    weight = np.ones(rows) if forecasts.weight is None else forecasts.weight
    statistic = Statistic.of(smooth_calibration_error)
    found = np.empty((draws, count))
    for index, column in enumerate(forecasts.columns()):
        joint, level = in_levels(column, forecasts.weight, CELLS)
        draw, row = np.divmod(order[ends[index] : ends[index + 1]], rows)
        place = draw * len(joint) + level[row]
        happened = np.bincount(place, weight[row], draws * len(joint))
        charges = happened.reshape(draws, len(joint)) - joint.weight * joint.prediction
        errors = statistic.values(joint, charges / joint.total)
        found[:, index] = _exponent(errors, column, forecasts.mass)
    return found


def _exponent(errors: Floats, column: Floats, mass: Floats) -> Floats:
    """Make errors of rare and of frequent classes comparable.

    Bennett's exponent m h(x / m) with h(u) = (1 + u) log(1 + u) - u: minus the logarithm of the
    chance that counts of variance m exceed their mean by x, roughly. Any increasing function of
    the error would keep p-values valid; this one treats classes alike.
    """
    unit = float(mass @ mass)
    variance = max(float(mass**2 @ (column * (1 - column))) / unit**2, 1e-300)
    excess = errors / unit
    ratio = excess / variance
    return np.asarray((variance + excess) * np.log1p(ratio) - excess)

"""Subset calibration: correct the worst set of classes, and repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_within, whole
from calibrant._base.words import count_text
from calibrant.data import canonical_order
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.measures.subsets import MOST_TRIED, best_found, best_of_all
from calibrant.recalibration.class_forms import (
    MOST_CORRECTION,
    ClassForm,
    Corrections,
    SetCorrection,
)
from calibrant.recalibration.classes import MulticlassCalibrator
from calibrant.recalibration.forms import Lines

# Weights are rounded to functions of few lines that keep this part of the error. With the most
# cells a weight moves by at most 2^-14, less than a tenth of the least tolerance.
KEPT_PART = 0.9
FEWEST_CELLS, MOST_CELLS = 8, 2**13
LEAST_TOLERANCE = 1e-3
MOST_STEPS = 10_000
# The worst set of perfect forecasts is off by about what chance does, and rarely by so many times.
BEYOND_CHANCE = 1.5


class SubsetCalibration(MulticlassCalibrator):
    r"""Correct the worst set of classes by a smooth function of its chance, and repeat.

    It ends when no set is off by more than a tolerance: then the projected smooth calibration
    error on the rows it was fitted to is that small, and so is the smooth error of every question
    "is it one of these classes?".

    Parameters
    ----------
    tolerance : float, optional
        Stop when the error is not larger, at least 0.001. By default 1.5 times what chance alone
        does to the worst set of all rows at once: half of the expected sum of distances between
        mean forecasts of the classes and their shares, if forecasts are right.
    most_steps : int, default=50
        Stop after so many corrections; the sentence says so if the error is still larger. More than
        50 make no query of SQL, and from 15 classes on fewer do: 25 of 20 classes.

    Attributes
    ----------
    steps_ : int
        Number of corrections.
    before_, error_, tolerance_ : float
        Projected smooth calibration error of the rows it was fitted to, before and after, and the
        tolerance.

    Notes
    -----
    One step finds the set T of classes and the 1-Lipschitz weight w with the largest
    :math:`g = E[(1[y \in T] - p_T)\, w(p_T)]`, and moves p to the nearest point of the simplex to
    :math:`p + \eta\, w(p_T)\, 1_T` with :math:`\eta = g / (|a|^2 E[w^2])`, where a is :math:`1_T`
    without its mean, so that :math:`|a|^2 = |T| (K - |T|) / K \le K / 4`. No point of the simplex
    is farther from the nearest point than from the point itself, so the mean squared distance to
    the labels (the Brier score) falls by at least :math:`g^2 / (|a|^2 E[w^2]) \ge 4 g^2 / K`. It
    starts at most at 2. Weights are stored with few knots, which keep 9/10 of g: so there are at
    most :math:`0.62 K / \mathrm{tolerance}^2` steps.

    Up to 12 classes all sets are tried before it ends; beyond that sets are searched, and a worse
    one may be missed. Values stay half a row in all rows and one away from 0, which may add
    K / (n + 1) to the error. Known flaws: the order of probabilities may change, and the log loss
    may rise, because the squared loss is what falls. With the default tolerance most samples of
    perfect forecasts are left alone; below it noise is learned, and with few rows and many classes
    the error on other rows may rise. `recalibrate` tries this calibrator only where it is named.

    References
    ----------
    Gopalan, Hu, Rothblum (2024), On computationally efficient multi-class calibration, COLT.

    Examples
    --------
    >>> rows, labels = [[0.8, 0.1, 0.1]] * 80, [0, 0, 0, 0, 1, 1, 2, 2] * 10
    >>> calibrator = SubsetCalibration(tolerance=0.001).fit(rows, labels)
    >>> calibrator.transform(rows[:1]).round(2)
    array([[0.5 , 0.25, 0.25]])
    """

    method = "subset"
    title = "subset calibration"
    form_: Corrections
    on_request: ClassVar[bool] = True
    learned = ("before_", "error_", "tolerance_")

    def __init__(self, tolerance: float | None = None, most_steps: int = 50) -> None:
        self.tolerance = tolerance
        self.most_steps = most_steps

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        most = whole("most_steps", self.most_steps, 1, MOST_STEPS)
        if self.tolerance is None:
            tolerance = min(max(BEYOND_CHANCE * by_chance(forecasts), LEAST_TOLERANCE), 1.0)
        else:
            tolerance = check_within("tolerance", self.tolerance, LEAST_TOLERANCE, 1.0)
        now = pooled(forecasts)
        steps: list[SetCorrection] = []
        members, value = worst_set(now, 1.0)
        before = value
        while value > tolerance and len(steps) < most:
            steps.append(correction(now, members, value))
            now = replace(now, probability=steps[-1](now.probability))
            members, value = worst_set(now, tolerance)
        count = len(forecasts.classes)
        form = Corrections(tuple(steps), min(0.5 / (len(forecasts) + 1), 1 / count), count)
        if value > tolerance or now.probability.min() < form.least:
            # What is returned counts, and the worst set of it.
            kept = replace(form, steps=())(now.probability)
            value = worst_set(replace(now, probability=kept), 1.0)[1]
        self.before_, self.error_, self.tolerance_ = before, value, tolerance
        return form

    @property
    def steps_(self) -> int:
        """Number of corrections."""
        self._require_fitted()
        return len(self.form_.steps)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        if not self.steps_:
            return (
                f"No set of classes is off by more than {self.tolerance_:.2g}, so that rows stay "
                "as they are."
            )
        end = "" if self.error_ <= self.tolerance_ else f", still more than {self.tolerance_:.2g}"
        return (
            f"{count_text(self.steps_, 'correction')} of sets of classes: on the rows that taught "
            f"them the worst set was off by {self.before_:.2g}, now by {self.error_:.2g}{end}."
        )


def worst_set(forecasts: ClassForecasts, tolerance: float) -> tuple[Indices, float]:
    """Find a set of classes that is off by more than a tolerance, and its smooth error.

    A search comes first. If it finds none and classes are few, all sets are tried.
    """
    members, value = next(best_found(forecasts, [forecasts.label]))
    if value <= tolerance and len(forecasts.classes) <= MOST_TRIED:
        members, value = best_of_all(forecasts, 1)
    return members, value


def correction(forecasts: ClassForecasts, members: Indices, value: float) -> SetCorrection:
    """Make the step of `SubsetCalibration` for a set of classes with a smooth error.

    Between knots the weight is a line, which keeps it 1-Lipschitz.
    """
    count, mass = len(forecasts.classes), forecasts.mass
    joint = Joint.from_rows(forecasts.subset_rows(members.tolist()))
    test = kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, 1.0)
    chance = forecasts.probability[:, members].sum(axis=1)
    off = mass * (np.isin(forecasts.label, members) - chance)
    cells = FEWEST_CELLS
    while True:
        knot = np.linspace(joint.prediction[0], joint.prediction[-1], cells + 1)
        line = Lines.between(knot, np.interp(knot, joint.prediction, test))
        weight = line(chance)
        kept = float(off @ weight)
        if kept >= KEPT_PART * value or cells == MOST_CELLS:
            break
        cells *= 2
    norm = members.size * (count - members.size) / count
    size = kept / (norm * float(mass @ weight**2))
    # Where the weight is almost nowhere large the best step would leave the simplex by far.
    size = min(size, MOST_CORRECTION / float(np.abs(line.value).max()))
    return SetCorrection(members, Lines(line.knot, size * line.value))


def by_chance(forecasts: ClassForecasts) -> float:
    """Find the mean error of the worst set, of all rows at once, of forecasts that are right.

    It is half of the sum of the distances of all classes; these are nearly normal.
    """
    table = forecasts.probability
    variance = forecasts.mass @ (table * (1 - table)) / len(forecasts)
    return float(np.sqrt(2 / np.pi * variance).sum() / 2)


def pooled(forecasts: ClassForecasts) -> ClassForecasts:
    """Put equal rows together, in an order that follows from what they hold."""
    table, label, weight = forecasts.probability, forecasts.label, forecasts.weight
    if weight is None:
        weight = np.ones(len(forecasts))
    order = canonical_order(label, table, weight)
    table, label, weight = table[order], label[order], weight[order]
    new = np.append(True, (np.diff(label) != 0) | (np.diff(table, axis=0) != 0).any(axis=1))
    total: Floats = np.add.reduceat(weight, np.flatnonzero(new))
    return replace(forecasts, probability=table[new], label=label[new], weight=total)

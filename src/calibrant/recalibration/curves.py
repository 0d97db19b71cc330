"""Calibrators that bend the log-odds and keep them increasing: quadratic and spline."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import whole
from calibrant.joint import Joint
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.forms import Form, LogOddsCurve
from calibrant.recalibration.parametric import INTERCEPT, PARTED, PLAIN, hindrance, noted
from calibrant.regression import (
    fit_curve,
    fit_spline,
    knots_of,
    one_class,
    platt_targets,
    solve,
)

# With more knots the exported calibrator is longer, and no sharper: the penalty rules.
MOST_KNOTS = 50


class _Bent(Calibrator):
    """A calibrator that is an increasing curve of the log-odds."""

    note_: str
    form_: LogOddsCurve

    def _curve(self, joint: Joint, knot: Floats, targets: tuple[float, float]) -> LogOddsCurve:
        raise NotImplementedError

    def _note_unit_slopes(self) -> None:
        """Remember what else is learned, where slopes are held at 1."""

    def _knots(self) -> int:
        return 2

    def _fitted(self, joint: Joint) -> Form:
        self.note_ = hindrance(joint)
        targets = platt_targets(joint) if one_class(joint) or self.note_ == PARTED else PLAIN
        if self.note_ in {"", PARTED}:
            return self._curve(joint, knots_of(joint, self._knots()), targets)
        self._note_unit_slopes()
        (shift,) = solve(joint, INTERCEPT, targets)
        return LogOddsCurve(np.array([-1.0, 1.0]), np.ones(2), shift - 1.0)


class QuadraticCalibration(_Bent):
    """Logistic regression on the log-odds and their square, kept increasing.

    The new log-odds are a quadratic function of the old ones between the predictions that have 1 %
    of the weight below and above them, and go on straight beyond. Slopes at both ends are at least
    0, and at most 100, so the calibrator increases on all of [0, 1]; the identity is among the
    calibrators.

    Attributes
    ----------
    slopes_ : array of length 2
        What log-odds are multiplied by where forecasts are lowest and highest.

    Notes
    -----
    A plain quadratic turns back somewhere, and ranks forecasts beyond that place in reverse. One
    end straight on costs nothing where the rows are, and the slope at the two ends is all that
    must be held. Predictions of fewer than three values are fitted with a line.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685 (quadratic scaling of two outcomes).

    Examples
    --------
    >>> predictions = [0.1] * 9 + [0.5] * 8 + [0.9] * 9
    >>> outcomes = [1, 0, 0] * 3 + [0, 1] * 4 + [1, 1, 0] * 3
    >>> QuadraticCalibration().fit(predictions, outcomes).transform([0.1, 0.5, 0.9])
    array([0.33333333, 0.5       , 0.66666667])
    """

    method = "quadratic"
    title = "quadratic calibration"
    learned = ("note_",)

    def _curve(self, joint: Joint, knot: Floats, targets: tuple[float, float]) -> LogOddsCurve:
        found = fit_curve(joint, knot, targets)
        return LogOddsCurve(found.knot, found.slope, found.value)

    @property
    def slopes_(self) -> Floats:
        """What log-odds are multiplied by at both ends."""
        return self.form_.slope

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return noted("An increasing parabola of the log-odds", self.note_)


class SplineCalibration(_Bent):
    """An increasing smoothing spline of the log-odds.

    A quadratic spline with a few knots, at quantiles of the predictions. Its slopes at the knots
    are at least 0, so it increases everywhere. Beside the log loss its bend is penalised (the
    integral of the squared second derivative), which pulls it towards a straight line: with few
    rows it is nearly Platt's calibrator.

    Parameters
    ----------
    knots : int, default=8
        Number of knots, 3 to 50; fewer are used where predictions are equal.

    Attributes
    ----------
    penalty_ : float
        The penalty: of 10, 1, 0.1, ..., 1e-6 the one with the least corrected AIC.
    freedom_ : float
        How many numbers it learned, in effect; a straight line has two.

    References
    ----------
    Ramsay (1988), Monotone regression splines in action, Statistical Science 3. Eilers, Marx
    (1996), Flexible smoothing with B-splines and penalties, Statistical Science 11. Hurvich,
    Simonoff, Tsai (1998), Smoothing parameter selection using an improved Akaike information
    criterion, JRSS B 60.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(20000)
    >>> y = rng.random(20000) < p**2
    >>> SplineCalibration().fit(p, y).transform([0.1, 0.5, 0.9]).round(2)
    array([0.01, 0.25, 0.81])
    """

    method = "spline"
    title = "spline calibration"
    learned = ("penalty_", "freedom_", "note_")
    penalty_: float
    freedom_: float

    def __init__(self, knots: int = 8) -> None:
        self.knots = knots

    def _knots(self) -> int:
        return whole("knots", self.knots, least=3, most=MOST_KNOTS)

    def _note_unit_slopes(self) -> None:
        self.penalty_, self.freedom_ = 0.0, 1.0

    def _curve(self, joint: Joint, knot: Floats, targets: tuple[float, float]) -> LogOddsCurve:
        found = fit_spline(joint, knot, targets, joint.row_count)
        self.penalty_, self.freedom_ = found.penalty, found.freedom
        return LogOddsCurve(found.knot, found.slope, found.value)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        text = f"An increasing curve that learned about {self.freedom_:.2g} numbers"
        return noted(text, self.note_)

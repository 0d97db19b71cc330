"""What a gentle correction of the forecasts gains: the post-processing gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant.decisions.dual_losses import SQUARED, DualLoss, as_dual_loss
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, rounding_bounds, rounding_settings
from calibrant.measures.regions import region_sentence

MOST_STEPS = 100
# Stop once the certificate is this narrow.
NARROW = 1e-10
ROUNDING = 1e-15
SHORTEST = 1e-9
# Share of the largest curvature that a Newton step assumes at least.
LEAST_CURVATURE = 1e-6


@dataclass(frozen=True, slots=True)
class CorrectionWitness:
    """The best gentle correction: a map of forecasts. Called, it says by how much it moves them."""

    knot: Floats
    """Forecasts on the scale of the loss."""
    shift: Floats
    """What is added to them there."""
    loss: DualLoss
    sentence: str

    def corrected(self, prediction: object) -> Floats:
        """Corrected forecasts."""
        at = self.loss.dual(np.asarray(prediction, dtype=np.float64))
        shifted = self.loss.mean(at + np.interp(at, self.knot, self.shift))
        return np.clip(shifted, 0.0, 1.0)

    def __call__(self, prediction: object) -> Floats:
        """Corrected forecasts less forecasts."""
        return self.corrected(prediction) - np.asarray(prediction, dtype=np.float64)

    def advantage(self, joint: Joint) -> float:
        """By how much the correction lowers the mean loss."""
        at = self.loss.dual(joint.prediction)
        return _Gain(joint, self.loss, at).of(np.interp(at, self.knot, self.shift))


def post_processing_gap(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    loss: str | DualLoss = "squared",
) -> Measurement:
    r"""Most that a gentle correction of the forecasts lowers their mean loss.

    Smaller is better; 0 if and only if calibrated. A correction adds to the forecasts something
    that changes no faster than they do. Nothing of that kind helps forecasts with a small smooth
    calibration error s: for squared loss the gap lies between s^2 and 2 s.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    loss : {"squared", "log"} or DualLoss, default="squared"
        The loss; corrections are made on the scale on which it is psi(t) - y t, for log loss the
        log-odds (those of forecasts of 0 and 1 are taken to be -30 and 30).

    Returns
    -------
    Measurement
        In the units of the loss. The witness is the best correction. Settings name the smooth
        error on the scale of the loss, which bounds the gap (see Notes).

    Notes
    -----
    :math:`\max_h E[\ell(y, t) - \ell(y, t + h(t))]` over h with Lipschitz constant 1 and
    :math:`|h| \le 1/\lambda`, for psi with second derivative at most :math:`\lambda`. With s the
    largest :math:`E[w(t)(y - p)]` over w in [-1, 1] with Lipschitz constant :math:`\lambda` the
    gap of psi(t) - y t lies between :math:`s^2 / (2 \lambda)` and :math:`s / \lambda`; squared
    loss is twice that with :math:`\lambda = 1`. Exact for squared loss, by a dynamic programme;
    otherwise Newton steps, each of which is one, with `bounds` from the dual of a linear one.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), When does optimizing a proper loss yield calibration?,
    NeurIPS.

    Examples
    --------
    >>> from calibrant import Joint
    >>> joint = Joint.from_counts([0.2, 0.5, 0.9], [20, 40, 20], [8, 20, 14])
    >>> gap = post_processing_gap(joint)
    >>> gap
    0.02
    >>> gap.witness.corrected([0.2, 0.5, 0.9])
    array([0.4, 0.5, 0.7])
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    dual = as_dual_loss(loss)
    gain = _Gain(joint, dual, dual.dual(joint.prediction))
    shift, slack = _best_shift(gain)
    value = gain.of(shift)
    smooth = gain.largest(gain.residual_mass(np.zeros(len(joint)))) * dual.smoothness
    low, high = value, value + slack
    if dual is SQUARED:
        low, high = rounding_bounds(joint, value, 4.0)
    elif joint.is_rounded:
        low, high = 0.0, np.inf
    return Measurement(
        value,
        "post_processing_gap",
        {"loss": dual.name, "smooth_error": smooth, **rounding_settings(joint)},
        partial(_correction, joint, dual, shift),
        bounds=(low, high),
    )


def _correction(joint: Joint, loss: DualLoss, shift: Floats) -> CorrectionWitness:
    sentence = region_sentence(joint, shift)
    return CorrectionWitness(loss.dual(joint.prediction), shift, loss, sentence)


@dataclass(frozen=True, slots=True)
class _Gain:
    """Fall of the mean loss as a concave function of shifts of the levels."""

    joint: Joint
    loss: DualLoss
    at: Floats

    def of(self, shift: Floats) -> float:
        """How much a shift lowers the mean loss."""
        psi = self.loss.psi
        fall = psi(self.at) - psi(self.at + shift) + self.joint.outcome * shift
        return self.loss.scale * float(np.sum(self.joint.mass * fall))

    def residual_mass(self, shift: Floats) -> Floats:
        """Slope of the gain in each level, per unit of scale."""
        return self.joint.mass * (self.joint.outcome - self.loss.mean(self.at + shift))

    def curvature(self, shift: Floats) -> Floats:
        """How fast those slopes fall."""
        curvature = self.loss.curvature(self.at + shift)
        least = LEAST_CURVATURE * self.loss.smoothness
        return self.joint.mass * np.maximum(curvature, least)

    def largest(self, residual_mass: Floats) -> float:
        """Largest sum of residual mass times an allowed shift: a smooth error on another scale."""
        smoothness = self.loss.smoothness
        weightless = np.zeros_like(residual_mass)
        error: float = kernels.smooth_error(self.at, weightless, residual_mass, smoothness)
        return error / smoothness

    def newton(self, shift: Floats) -> Floats:
        """Best shift for the gain's second-order expansion."""
        curvature = self.curvature(shift)
        linear = self.residual_mass(shift) + curvature * shift
        fit = kernels.lipschitz_fit(self.at, linear, curvature, 1 / self.loss.smoothness)
        return np.asarray(fit)


def _best_shift(gain: _Gain) -> tuple[Floats, float]:
    """Best shift, and a bound on what is still to be gained: the gain lies below its tangents."""
    shift = np.zeros(len(gain.joint))
    if gain.loss is SQUARED:
        return gain.newton(shift), 0.0
    best, least = shift, np.inf
    for _ in range(MOST_STEPS):
        residual_mass = gain.residual_mass(shift)
        slack = gain.loss.scale * max(
            0.0, gain.largest(residual_mass) - float(residual_mass @ shift)
        )
        if slack < least:
            best, least = shift, slack
        if slack <= NARROW:
            break
        step = gain.newton(shift) - shift
        # The certificate needs more digits than the gain shows: let rounding alone stop no step.
        enough = gain.of(shift) - ROUNDING
        size = 1.0
        while size > SHORTEST and gain.of(shift + size * step) < enough:
            size /= 2
        shift = shift + size * step
    return best, least

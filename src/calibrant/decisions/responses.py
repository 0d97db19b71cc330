"""Randomised responses: forecasts that everybody can act on, from a small smooth error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator, check_within
from calibrant.errors import InvalidOptionError
from calibrant.measures.measurement import as_joint
from calibrant.measures.smooth import earth_mover_distance


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """Forecasts rounded to the middle of a randomly shifted bin."""

    width: float
    """Width of the bins; 0 changes nothing."""
    distance: float
    """Bound on the distance from the forecasts to calibrated ones: the earth mover's distance."""

    @property
    def error_bound(self) -> float:
        """Bound on the expected calibration error of the rounded forecasts, mean over shifts."""
        if self.width == 0:
            return 0.0 if self.distance == 0 else 1.0
        return min(1.0, self.distance + 2 * self.distance / self.width + self.width / 4)

    @property
    def decision_bound(self) -> float:
        """Bound on what anybody with payoffs in [0, 1] loses by trusting them, mean over shifts."""
        return min(1.0, 2 * self.error_bound)

    def map(self, shift: float) -> Callable[[Floats], Floats]:
        """Return the map of predictions for one shift in [0, 1), in units of the width."""
        if not 0 <= shift < 1:
            raise InvalidOptionError("shift must be in [0, 1)", repr(shift))

        def rounded(prediction: Floats) -> Floats:
            at = np.asarray(prediction, dtype=np.float64)
            if self.width == 0:
                return at
            middle = (np.floor(at / self.width + shift) - shift + 0.5) * self.width
            return np.clip(middle, 0.0, 1.0)

        return rounded

    def __call__(self, prediction: object, rng: np.random.Generator | int | None = None) -> Floats:
        """Round predictions, all with one random shift."""
        shift = float(as_generator(rng).random())
        return self.map(shift)(np.asarray(prediction, dtype=np.float64))


def randomised_response(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    width: float | None = None,
) -> RandomisedResponse:
    r"""Turn forecasts with a small smooth calibration error into ones that everybody can act on.

    A small smooth error promises nothing to somebody with a sharp threshold: predictions may be
    wrong on both sides of it. Rounding them to the middle of bins that start at a random place
    mends that at a known price, without looking at outcomes again.

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
    width : float, optional
        Width of the bins; the one with the best bound if not given.

    Returns
    -------
    RandomisedResponse
        Call it with predictions. `error_bound` and `decision_bound` hold on average over shifts,
        for the Joint of these rows.

    Notes
    -----
    With d the distance to calibrated forecasts q the rounded forecasts have expected calibration
    error at most :math:`d + 2 d/w + w/4` on average: a row moves w/4 on average, p and q fall
    into different bins with probability at most d/w, and only such rows can bias a bin of q.
    The best width :math:`\sqrt{8 d}` gives :math:`d + \sqrt{2 d}`. As d the earth mover's
    distance is used, at most twice the smooth calibration error.

    References
    ----------
    Blasiok, Nakkiran (2024), Smooth ECE, ICLR. Hartline, Wu, Yang (2025), Smooth calibration and
    decision making.

    Examples
    --------
    >>> response = randomised_response([0, 1], [0.49, 0.51])
    >>> response.width, response.decision_bound
    (0.28, 0.2996)
    >>> response([0.49, 0.51, 0.9], rng=0)
    array([0.5217, 0.5217, 0.8017])
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    distance = float(earth_mover_distance(joint).bounds[1])
    if width is None:
        width = min(1.0, (8 * distance) ** 0.5)
    check_within("width", width)
    return RandomisedResponse(float(width), distance)

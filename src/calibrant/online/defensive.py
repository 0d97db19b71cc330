"""Defensive forecasting with the Laplace kernel: smooth calibration without a horizon."""

from __future__ import annotations

import math
from typing import Any

from calibrant.online.distribution import Distribution, certain
from calibrant.online.forecaster import Forecaster, Guarantee
from calibrant.online.laplace_tree import LaplaceTree


class DefensiveForecaster(Forecaster):
    r"""Keep the smooth calibration error small, surely: T x smCE <= sqrt(2 T) for every T.

    Deterministic, no grid, no horizon: the forecaster to use first. Its memory grows with the
    number of different predictions it has made.

    Notes
    -----
    Says a p at which :math:`h(p) = \sum_s (y_s - p_s) e^{-|p - p_s|}` is zero (0 if h(0) <= 0, 1
    if h(1) >= 0; 1/2 in the first round). Whatever the outcome, the squared norm of the residuals
    in the space of the Laplace kernel grows by at most :math:`(y - p)^2`, so T times the kernel
    calibration error is at most :math:`\sqrt{\sum (y_t - p_t)^2} \le \sqrt T`; a test that is
    1-Lipschitz and bounded by 1 has norm at most :math:`\sqrt 2` in that space. A round takes
    O(log T). Being deterministic it can be forced into the worst ECE and decision loss.

    References
    ----------
    Vovk, Takemura, Shafer (2005), Defensive forecasting, AISTATS. Blasiok, Gopalan, Hu, Nakkiran
    (2023), A unifying theory of distance from calibration, STOC (the Laplace kernel).

    Examples
    --------
    >>> forecaster = DefensiveForecaster()
    >>> said = []
    >>> for outcome in [1, 0, 0, 1, 0]:
    ...     said.append(round(forecaster.predict(), 3))
    ...     forecaster.update(outcome)
    >>> said
    [0.5, 1.0, 0.0, 0.0, 0.801]
    """

    guarantee = Guarantee(
        measure="smooth_calibration_error",
        exponent=1 / 2,
        logarithms=0,
        surely=True,
        statement="T x smooth error <= sqrt(2 T), T x Laplace kernel error <= sqrt(T)",
        source="Vovk, Takemura, Shafer (2005), with the Laplace kernel",
    )

    _stored = ("_terms",)

    def __init__(self) -> None:
        super().__init__({})
        self._tree = LaplaceTree()

    @property
    def _terms(self) -> Any:
        return self._tree.terms()

    @_terms.setter
    def _terms(self, terms: Any) -> None:
        self._tree = LaplaceTree.from_stored(terms)

    def bound(self, rounds: int) -> float:
        """Bound rounds x smooth error after so many rounds, whatever happens."""
        return math.sqrt(2 * rounds)

    def _announce(self) -> Distribution:
        return certain(self._tree.zero() if self.rounds else 0.5)

    def _learn(self, prediction: float, outcome: int) -> None:
        self._tree.add(prediction, outcome - prediction)

"""A forecaster whose bias above every cutoff stays small."""

from __future__ import annotations

import math

import numpy as np

from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import FIRST_EPOCH, GridForecaster
from calibrant.online.forecaster import Guarantee


class CutoffForecaster(GridForecaster):
    r"""Keep the bias over every interval of predictions small: of order sqrt(T log T).

    Randomised. A small cutoff error bounds what decision makers with a threshold regret against
    monotone corrections of the forecasts; proper calibration asks for at most twice as much.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the forecaster begins anew after 64, 128, ... rounds.
        At most 10**9.
    grid : int, optional
        Number K of grid steps, instead of sqrt(T). At most 2**24.
    rng : numpy.random.Generator or int, optional
        Source of its coins.

    Notes
    -----
    Exponential weights over the tests "sum of s (y - p) over predictions of at least k/K" for all
    k and both signs s: the forecaster plays where the weighted sum of these tests changes sign, a
    coin between the two neighbours, so it gains at most T/(4K) in expectation, and no single
    test is ahead by more than ln(2K + 2)/eta + eta T. With eta = sqrt(ln(2K + 2)/T) every upper
    set has a bias of at most :math:`2 \sqrt{T \ln(2K + 2)} + T/(4K)` in expectation of the
    largest; an interval is a difference of two, hence `bound` is twice that. A round takes O(K).

    References
    ----------
    Rate: Okoroafor, Kleinberg, Kim (2025), near-optimal algorithms for omniprediction (proper
    calibration). Rossellini et al. (2025), cutoff calibration.

    Examples
    --------
    >>> forecaster = CutoffForecaster(100, rng=0)
    >>> for outcome in [1, 0, 0, 1, 0, 0]:
    ...     _ = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> forecaster.forecast().support
    (0.0, 0.1)
    """

    guarantee = Guarantee(
        measure="cutoff_calibration_error",
        exponent=1 / 2,
        logarithms=1 / 2,
        surely=False,
        statement="E[T x cutoff error] <= 4 sqrt(T ln(2K + 2)) + T/(2K), of order sqrt(T log T)",
        source="rate of Okoroafor, Kleinberg, Kim (2025); exponential weights over cutoffs",
    )
    randomised = True
    _stored = ("_biases",)

    def __init__(
        self,
        horizon: int | None = None,
        *,
        grid: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(horizon, grid, rng)

    @property
    def _biases(self) -> list[int]:
        return self._above.tolist()  # type: ignore[no-any-return]

    @_biases.setter
    def _biases(self, biases: list[int]) -> None:
        self._above = np.array(biases, dtype=np.int64)

    def _first_length(self) -> int:
        # The learning rate depends on the number of rounds even where the grid is given.
        return self.horizon or FIRST_EPOCH

    def _best_grid(self, length: int) -> int:
        return math.isqrt(length)

    def _reset(self) -> None:
        # Sums of y - p over predictions of at least k/K, in units of 1/K: whole numbers.
        self._above = np.zeros(self._grid + 1, dtype=np.int64)

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        eta = _rate(grid, length or FIRST_EPOCH)
        return 2 * (math.log(2 * grid + 2) / eta + eta * played + played / (4 * grid))

    def _announce(self) -> Distribution:
        grid = self._grid
        powers = self._above * (_rate(grid, self._length or FIRST_EPOCH) / grid)
        top = np.abs(powers).max()  # a common factor that keeps the weights finite
        weights = np.cumsum(np.exp(powers - top) - np.exp(-powers - top))
        if weights[0] <= 0:
            return certain(0.0)
        if weights[-1] >= 0:
            return certain(1.0)
        at = int(np.argmax((weights[:-1] > 0) & (weights[1:] <= 0)))
        if weights[at + 1] == 0:
            return certain((at + 1) / grid)
        low = float(-weights[at + 1] / (weights[at] - weights[at + 1]))
        return Distribution((at / grid, (at + 1) / grid), (low, 1 - low))

    def _learn(self, prediction: float, outcome: int) -> None:
        at = round(prediction * self._grid)
        self._above[: at + 1] += self._grid * outcome - at


def _rate(grid: int, length: int) -> float:
    return min(1.0, math.sqrt(math.log(2 * grid + 2) / length))

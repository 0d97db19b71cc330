"""Foster's forecaster: small expected calibration error on every sequence."""

from __future__ import annotations

import math

import numpy as np

from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import GridForecaster, first_bit
from calibrant.online.forecaster import Guarantee


class FosterForecaster(GridForecaster):
    r"""Keep the expected calibration error small: T x ECE grows like T^(2/3) at most.

    Randomised, which is needed: nature forces every deterministic forecaster to an ECE of 1/2.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the forecaster begins anew after 64, 128, ... rounds.
        At most 10**9.
    grid : int, optional
        Number N of grid steps, instead of the best one for the horizon, about T^(1/3).
        At most 2**24.
    rng : numpy.random.Generator or int, optional
        Source of its coins.

    Notes
    -----
    A grid point is too high (too low) if its bias exceeds half a grid step. Say the first point
    that is neither; if there is none, some point is too low and the next one too high: toss a
    coin between the two, weighted so that the errors cannot grow in expectation. Then
    :math:`E[T\,ECE] \le T/(2N) + \sqrt{(N+1) T}`, for every T with the same N.

    References
    ----------
    Foster (1999), A proof of calibration via Blackwell's approachability theorem, Games and
    Economic Behavior 29. Foster, Vohra (1998), Asymptotic calibration, Biometrika 85.

    Examples
    --------
    >>> forecaster = FosterForecaster(grid=2, rng=1)
    >>> for outcome in [1, 1, 0]:
    ...     _ = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> forecaster.forecast()
    Distribution(support=(0.5, 1.0), probability=(0.75, 0.25))
    """

    guarantee = Guarantee(
        measure="exact_calibration_error",
        exponent=2 / 3,
        logarithms=0,
        surely=False,
        statement="E[T x ECE] <= T/(2N) + sqrt((N + 1) T) with N grid steps, "
        "about 1.5 T^(2/3) with N = T^(1/3)",
        source="Foster (1999); rate of Foster, Vohra (1998)",
    )
    randomised = True
    _stored = ("_surplus", "_sets", "_places")

    def __init__(
        self,
        horizon: int | None = None,
        *,
        grid: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(horizon, grid, rng)

    def _best_grid(self, length: int) -> int:
        return max(1, round(math.cbrt(length)))

    def _reset(self) -> None:
        # For grid point k/N with n visits and s ones, whole numbers in units of 1/(2N):
        # surplus = how far the sum of (k/N - y) exceeds n/(2N); deficit likewise below.
        self._surplus = [[0, 0] for _ in range(self._grid + 1)]
        # Sets of grid points that are neither, too high, too low, as bits of whole numbers: the
        # first of a set is its lowest bit.
        self._sets = [(1 << (self._grid + 1)) - 1, 0, 0]
        self._places = [0] * (self._grid + 1)

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        del length
        return played / (2 * grid) + math.sqrt((grid + 1) * played)

    def _announce(self) -> Distribution:
        neither, high, low = self._sets
        if neither:
            return certain(first_bit(neither) / self._grid)
        # 0 is never too high and 1 never too low, so some point is low and the next one high.
        at = first_bit(low & (high >> 1))
        deficit, surplus = self._surplus[at][1], self._surplus[at + 1][0]
        total = deficit + surplus
        return Distribution(
            (at / self._grid, (at + 1) / self._grid), (surplus / total, deficit / total)
        )

    def _learn(self, prediction: float, outcome: int) -> None:
        at = round(prediction * self._grid)
        change = 2 * (at - self._grid * outcome)
        excess = self._surplus[at]
        excess[0] += change - 1
        excess[1] -= change + 1
        number = 1 if excess[0] > 0 else 2 if excess[1] > 0 else 0
        if number != self._places[at]:
            bit = 1 << at
            self._sets[self._places[at]] ^= bit
            self._sets[number] ^= bit
            self._places[at] = number

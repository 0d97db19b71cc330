"""Kakade and Foster's forecaster: small smooth calibration error without a coin."""

from __future__ import annotations

import math

from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import GridForecaster, first_bit
from calibrant.online.forecaster import Guarantee


class KakadeFosterForecaster(GridForecaster):
    r"""Keep the smooth calibration error small without a coin: T x smCE grows like T^(2/3).

    The first deterministic forecaster with a promise of calibration. `DefensiveForecaster`
    promises sqrt(2 T) and needs no horizon: prefer it.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the forecaster begins anew after 64, 128, ... rounds.
        At most 10**9.
    grid : int, optional
        Number N of grid steps, instead of the best one for the horizon, about T^(1/3).
        At most 2**24.

    Notes
    -----
    Every round adds its residual y - p to the two grid points around p, in the shares of linear
    interpolation. The prediction is a zero of the interpolant of these sums (0 if the sum at 0
    is not positive, 1 if the sum at 1 is not negative), so their squares add up to at most T.
    A test that is 1-Lipschitz and bounded by 1 then gains at most
    :math:`\sqrt{(N+1) T} + T/(2N)` surely, for every T with the same N.

    References
    ----------
    Kakade, Foster (2008), Deterministic calibration and Nash equilibrium, JCSS 74.

    Examples
    --------
    >>> forecaster = KakadeFosterForecaster(grid=2)
    >>> said = []
    >>> for outcome in [1, 1, 0, 1]:
    ...     said.append(forecaster.predict())
    ...     forecaster.update(outcome)
    >>> said
    [0.0, 1.0, 1.0, 0.5]
    """

    guarantee = Guarantee(
        measure="smooth_calibration_error",
        exponent=2 / 3,
        logarithms=0,
        surely=True,
        statement="T x smooth error <= T/(2N) + sqrt((N + 1) T) with N grid steps, "
        "about 1.5 T^(2/3) with N = T^(1/3)",
        source="Kakade, Foster (2008)",
    )
    _stored = ("_sums", "_positive")

    def __init__(self, horizon: int | None = None, *, grid: int | None = None) -> None:
        super().__init__(horizon, grid)

    def _best_grid(self, length: int) -> int:
        return max(1, round(math.cbrt(length)))

    def _reset(self) -> None:
        self._sums = [0.0] * (self._grid + 1)
        self._positive = 0  # grid points with a positive sum, as bits

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        del length
        return played / (2 * grid) + math.sqrt((grid + 1) * played)

    def _announce(self) -> Distribution:
        sums = self._sums
        if sums[0] <= 0:
            return certain(0.0)
        if sums[-1] >= 0:
            return certain(1.0)
        at = first_bit(self._positive & ~(self._positive >> 1))
        share = sums[at] / (sums[at] - sums[at + 1])
        return certain(min((at + share) / self._grid, 1.0))

    def _learn(self, prediction: float, outcome: int) -> None:
        position = prediction * self._grid
        at = min(int(position), self._grid - 1)
        share = position - at
        residual = outcome - prediction
        self._add(at, (1 - share) * residual)
        self._add(at + 1, share * residual)

    def _add(self, at: int, residual: float) -> None:
        self._sums[at] += residual
        if self._sums[at] > 0:
            self._positive |= 1 << at
        else:
            self._positive &= ~(1 << at)

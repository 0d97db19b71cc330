"""A forecaster that no decision maker loses much by trusting."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import FIRST_EPOCH, GridForecaster, first_bit
from calibrant.online.forecaster import Guarantee

# |bias| of a grid point with n visits is at most n/(2K) + C sqrt(n L), see `bias_bound`.
C = 3 / math.sqrt(2)


class DecisionForecaster(GridForecaster):
    r"""Keep the decision loss small: anybody who trusts it regrets about sqrt(T) log T at most.

    For every decision task with payoffs in [0, 1] at once, the expected gain that any
    recalibration of the forecasts would have brought stays small. Randomised, which is needed.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the forecaster begins anew after 64, 128, ... rounds.
        At most 10**9.
    grid : int, optional
        Number K >= 5 of grid steps, instead of about 4 sqrt(T) / ln(T). At most 2**24.
    rng : numpy.random.Generator or int, optional
        Source of its coins.

    Notes
    -----
    For grid point k/K with n visits, G+ and G- are the sums of (y - k/K) and of (k/K - y), each
    less n/(2K). Weights W+ and W- average :math:`\lambda \exp(\lambda G - \lambda^2 n)` over
    lambda = 1/2, 1/4, ..., about 1/sqrt(T). The forecaster plays where W+ - W- changes sign, a
    coin between the two neighbours. Then the sum of all :math:`\exp(\lambda G - \lambda^2 n)` is
    a supermartingale, and with chance 1 - d, at all times, every grid point has a bias of at
    most `bias_bound(n, d)`, which is at most n/(2K) + C sqrt(n L) with :math:`C = 3/\sqrt 2` and
    L = ln(2 (K+1) J / d) for J values of lambda. A point at distance D from a decision maker's
    threshold then costs at most :math:`2 (n/(2K) + C \sqrt{n L} - n D)`: far points do little harm.
    `bound` is the largest sum over all points, for d = 1/T, over all ways to divide T visits
    between them; at most two points are nearest to the threshold, two more a grid step further,
    and so on. The sum is concave in the visits, so its maximum is found exactly. It is less than
    :math:`2 [T/(2K) + C \sqrt{2 T L} + C^2 L K (1 + \ln(K/2))] + 1`, of order sqrt(T) log T. Below
    about 6 000 rounds the bound exceeds T and says nothing; measured losses are far below it.

    References
    ----------
    Rate: Hu, Wu (2024), Predict to minimize swap regret for all payoff-bounded tasks, FOCS. The
    method here is a self-normalised form of Foster's forecaster with a proof of its own.

    Examples
    --------
    >>> forecaster = DecisionForecaster(grid=5, rng=0)
    >>> for outcome in [1, 0, 0, 1, 0, 0]:
    ...     _ = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> forecaster.forecast().support
    (0.2, 0.4)
    >>> round(forecaster.bias_bound(visits=50), 1)
    46.4
    """

    guarantee = Guarantee(
        measure="calibration_decision_loss",
        exponent=1 / 2,
        logarithms=1,
        surely=False,
        statement="E[T x decision loss] = O(sqrt(T) log T) for all tasks with payoffs in [0, 1]",
        source="rate of Hu, Wu (2024); self-normalised form of Foster (1999)",
    )
    randomised = True
    _stored = ("_biases", "_visits", "_weights", "_positive")

    def __init__(
        self,
        horizon: int | None = None,
        *,
        grid: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(horizon, grid, rng, least_grid=5)

    def bias_bound(self, visits: int, failure: float = 0.01) -> float:
        """Bound the bias of a grid point with so many visits, in this epoch.

        Parameters
        ----------
        visits : int
            How often the grid point was said.
        failure : float, default=0.01
            Chance that some grid point exceeds its bound at some time.

        Returns
        -------
        float
            With chance 1 - failure, the size of the sum of (y - p) is at most this for all grid
            points, at all times of the epoch.
        """
        scales = _scales(self._length or FIRST_EPOCH)
        size = math.log(2 * (self._grid + 1) * len(scales) / failure)
        return visits / (2 * self._grid) + min(size / s + s * visits for s in scales)

    def _first_length(self) -> int:
        # The scales depend on the number of rounds even where the grid is given.
        return self.horizon or FIRST_EPOCH

    def _best_grid(self, length: int) -> int:
        # An even number, so that 1/2 can be said; the factor 4 is the best of those tried.
        return max(6, 2 * round(2 * math.sqrt(length) / math.log(length + 1)))

    def _reset(self) -> None:
        # Sums of 2 (K y - k), the residuals in units of 1/(2K): whole numbers.
        self._biases = [0] * (self._grid + 1)
        self._visits = [0] * (self._grid + 1)
        self._weights = [-math.inf] * (self._grid + 1)  # log |W+ - W-|
        self._positive = 0  # grid points with W+ > W-, as bits

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        scales = _scales(length or FIRST_EPOCH)
        size = math.log(2 * (grid + 1) * len(scales) * played)
        return min(float(played), 2 * _largest_harm(grid, C * math.sqrt(size), played) + 1)

    def _announce(self) -> Distribution:
        grid, biases = self._grid, self._biases
        if biases[0] <= 0:
            return certain(0.0)
        if biases[-1] >= 0:
            return certain(1.0)
        at = first_bit(self._positive & ~(self._positive >> 1))
        ratio = math.exp(min(self._weights[at + 1] - self._weights[at], 700.0))
        if ratio == 0:
            return certain((at + 1) / grid)
        low = ratio / (1 + ratio)
        return Distribution((at / grid, (at + 1) / grid), (low, 1 - low))

    def _learn(self, prediction: float, outcome: int) -> None:
        at = round(prediction * self._grid)
        self._visits[at] += 1
        self._biases[at] += 2 * (self._grid * outcome - at)
        bias = self._biases[at]
        self._weights[at] = self._log_weight(bias, self._visits[at])
        if bias > 0:
            self._positive |= 1 << at
        else:
            self._positive &= ~(1 << at)

    def _log_weight(self, bias: int, visits: int) -> float:
        """Log of |W+ - W-|; W grows with G, so its sign is that of the bias."""
        if bias == 0:
            return -math.inf
        unit = 2 * self._grid
        larger, smaller = (abs(bias) - visits) / unit, (-abs(bias) - visits) / unit
        scales = _scales(self._length or FIRST_EPOCH)
        tops = [s * larger - s * s * visits for s in scales]
        top = max(tops)
        weight = sum(
            s * (math.exp(t - top) - math.exp(s * smaller - s * s * visits - top))
            for s, t in zip(scales, tops, strict=True)
        )
        return top + math.log(weight)


def _largest_harm(grid: int, spread: float, visits: int) -> float:
    """Maximise the sum of spread sqrt(n) - n (D - 1/(2 grid)) over visits n that sum to `visits`.

    Two points have D = 0, two D = 1/grid, and so on. With a price m per visit the best n is
    (spread / (2 (D - 1/(2 grid) + m)))^2; the price at which all visits are taken is between the
    one at which a single point takes as many and the one at which all points are the nearest.
    """
    from scipy.optimize import brentq

    points = grid + 1
    slope = (np.repeat(np.arange((points + 1) // 2), 2)[:points] - 0.5) / grid

    def best(price: float) -> Floats:
        return np.asarray((spread / (2 * (slope + price))) ** 2)

    nearest = spread / (2 * math.sqrt(visits))
    low, high = 1 / (2 * grid) + nearest, 1 / (2 * grid) + nearest * math.sqrt(points)
    price = float(brentq(lambda m: best(m).sum() - visits, low * (1 - 1e-9), high * (1 + 1e-9)))
    taken = best(price)
    return float((spread * np.sqrt(taken) - taken * slope).sum())


@cache
def _scales(length: int) -> tuple[float, ...]:
    """1/2, 1/4, ..., down to about 1/sqrt(length)."""
    return tuple(2.0**-j for j in range(1, max(1, math.ceil(math.log2(length) / 2)) + 1))

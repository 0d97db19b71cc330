"""A forecaster that no decision maker loses much by trusting."""

from __future__ import annotations

import math
from functools import cache
from typing import ClassVar

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import FIRST_EPOCH, GridForecaster, first_bit
from calibrant.online.forecaster import Guarantee


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
    coin between the two neighbours. Then :math:`\exp(\lambda G - \lambda^2 n)`, averaged over the
    J values of lambda and summed over grid points and signs, is a supermartingale that begins at
    2 (K+1). With chance 1 - d, at all times, every grid point has a bias of at most
    `bias_bound(n, d)`, which is at most n/(2K) + C sqrt(n L) with :math:`C = 3/\sqrt 2` and
    L = ln(2 (K+1) J / d).

    `bound` is for the expected loss. By :math:`e^z \ge r (1 + z - \ln r)` with
    :math:`r = \rho / \lambda`, the bias of a grid point is, for each lambda and every
    :math:`\rho > 0`, at most :math:`n/(2K) + \lambda n + (\ln(\rho/\lambda) - 1)/\lambda` plus
    :math:`1/\rho` of its :math:`\exp(\lambda G - \lambda^2 n)`; and it is at most n. All those
    exponentials sum to at most 2 J (K+1) in expectation. A point at distance D from a decision
    maker's threshold costs at most 2 (bias - n D): far points do little harm. Between two
    neighboring points the cost is convex in the threshold, so it is largest at a grid point: one
    point has D = 0, two have D = 1/K, two 2/K, and so on. The sum is piecewise linear and concave
    in the visits, so its largest value over all ways to divide T visits is found exactly;
    :math:`4 J (K+1)/\rho` is added, and the rho that makes the result least is chosen. The order
    is sqrt(T) log T. Below 313 rounds that exceeds T, and the bound is T, which is trivial.
    Measured losses are far below it.

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
    _stored: ClassVar[tuple[str, ...]] = ("_biases", "_visits", "_weights", "_positive")

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
        scales = scales_for(self._length or FIRST_EPOCH)
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
        scales = scales_for(length or FIRST_EPOCH)
        return min(float(played), expected_harm(grid, scales, played, 2 * (grid + 1)))

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
        scales = scales_for(self._length or FIRST_EPOCH)
        tops = [s * larger - s * s * visits for s in scales]
        top = max(tops)
        weight = sum(
            s * (math.exp(t - top) - math.exp(s * smaller - s * s * visits - top))
            for s, t in zip(scales, tops, strict=True)
        )
        return top + math.log(weight)


def expected_harm(grid: int, scales: tuple[float, ...], visits: int, potential: float) -> float:
    """Bound the expected decision loss, given the first value of the supermartingale.

    The least of valid bounds, one for each rho.
    """
    from scipy.optimize import minimize_scalar

    budget = 2 * len(scales) * potential

    def bound(log_rho: float) -> float:
        rho = math.exp(log_rho)
        return 2 * _largest_harm(grid, scales, rho, visits) + budget / rho

    found = minimize_scalar(bound, bounds=(0.5, 12.0), method="bounded", options={"xatol": 1e-3})
    return float(found.fun)


def _largest_harm(grid: int, scales: tuple[float, ...], rho: float, visits: int) -> float:
    """Maximize the sum over grid points of bias - n D, over visits n that sum to `visits`.

    The bias is the least of the lines n and n/(2 grid) + s n + (ln(rho/s) - 1)/s, one for each
    scale s that makes it positive: concave in n, so visits go where the next one costs most. One
    point has D = 0, two have D = 1/grid, and so on; a point need not be visited.
    """
    lines = [(1 / (2 * grid) + s, (math.log(rho / s) - 1) / s) for s in scales if rho > math.e * s]
    slopes, lengths = _lower_envelope([(1.0, 0.0), *lines], visits)
    distance = (np.arange(grid + 1) + 1) // 2 / grid
    gain = (slopes - distance[:, np.newaxis]).ravel()
    room = np.tile(lengths, grid + 1)
    best = np.argsort(-gain, kind="stable")
    gain, room = np.maximum(gain[best], 0.0), room[best]
    taken = np.diff(np.minimum(np.cumsum(room), visits), prepend=0.0)
    return float(gain @ taken)


def _lower_envelope(lines: list[tuple[float, float]], end: float) -> tuple[Floats, Floats]:
    """Slopes and lengths of the least of some lines (slope, intercept) on [0, end]."""
    at, slope, intercept = 0.0, *min(lines, key=lambda line: (line[1], line[0]))
    slopes, lengths = [], []
    while at < end:
        cuts = [((c - intercept) / (slope - k), k, c) for k, c in lines if k < slope]
        to, *line = min(cuts, default=(float(end), slope, intercept))
        slopes.append(slope)
        lengths.append(min(to, end) - at)
        at, (slope, intercept) = to, line
    return np.array(slopes), np.array(lengths)


@cache
def scales_for(length: int) -> tuple[float, ...]:
    """1/2, 1/4, ..., down to about 1/sqrt(length)."""
    return tuple(2.0**-j for j in range(1, max(1, math.ceil(math.log2(length) / 2)) + 1))

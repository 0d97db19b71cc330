"""Almost one step ahead: a deterministic forecaster close to a calibrated one."""

from __future__ import annotations

import math

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.stored import Stored
from calibrant.errors import InvalidStateError
from calibrant.online.distribution import Distribution, certain
from calibrant.online.epochs import GridForecaster
from calibrant.online.forecaster import Guarantee


class AlmostOneStepAhead(GridForecaster):
    r"""Stay close to a calibrated forecaster: distance to calibration at most 1.75 sqrt(T).

    Deterministic, no coin, a few additions per round. A shadow that learns each outcome a moment
    early would be calibrated up to one unit per grid point; the prediction is never more than
    one grid step away from it.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the forecaster begins anew after 64, 128, ... rounds.
        At most 10**9.
    grid : int, optional
        Number m of grid steps, instead of the best one for the horizon. At most 2**24.
    midpoint : bool, default=False
        Predict the middle between the two values the shadow may take: distance to calibration at
        most about 1.24 sqrt(T).

    Notes
    -----
    E_i is the sum of (i/m - y) over rounds whose shadow was i/m. The prediction is the first i/m
    with E_i <= 0 <= E_{i+1}; after the outcome the shadow is (i+1)/m for 1 and i/m for 0, so E_i
    stays between i/m - 1 and i/m. With step s = 1/m (1/(2m) for midpoints), rounds x distance to
    calibration is at most `rounds x s + 3 m / 4` surely: the way to the shadow, and the sum of all
    :math:`|E_i| \le \max(i, m - i)/m`. Rounds x smooth error is at most `bound`,
    `rounds x s + (m - 1)/2`. `certificate` is what the rounds so far prove of the distance. Being
    deterministic it can be forced into the worst ECE and decision loss.

    **Proof of the bound.** Let w be a test, 1-Lipschitz and within [-1, 1]. Of the rounds whose
    shadow was x = i/m let a have outcome 1 and b outcome 0, let u and v be the values of w where
    these were predicted, and e = a (1 - x) - b x, so that -x <= e <= 1 - x. The rounds add
    g = a (1 - x + 1/m) u - b x v to the sum of w(p)(y - p), for midpoints
    g = a (1 - x + s) u - b (x + s) v, and u and v differ by at most 1/m. Their excess g - s (a + b)
    is at most max(0, e u) where e >= 0 and max(0, e v) where e <= 0:

    - For e >= 0 put a (1 - x) = b x + e. What is left beside e u is
      b x (u - v) - b/m - a (1 - u)/m, at most -b (1 - x)/m; for midpoints
      b x (u - v) - b s (1 + v) - a s (1 - u), where a >= b x/(1 - x). That grows with u and falls
      with v, so it is largest at v = -1 or u = 1 with u - v = 2 s: 2 b s x (s - x)/(1 - x) and
      2 b s (x + s - 1), neither positive for 1/m <= x <= 1 - 1/m.
    - For e <= 0 put b x = a (1 - x) - e. What is left beside e v is at most
      (b x + e)/m - b/m <= 0; for midpoints exchange the outcomes.
    - At x = 0 and x = 1, e is 0 and g <= s (a + b).

    So the excess at x is at most (1 - x) u if u > 0, or -x v if v < 0. Add those at x < 1/2 and at
    1 - x. With w of one sign they are at most (1 - x) + x. With two signs the values of w differ
    by at most 1 - 2 x + 1/m <= 1 - x and have weights of at most 1 - x. Either way a pair exceeds
    s times its rounds by at most 1, the middle x = 1/2 by at most 1/2, all m - 1 inner points by at
    most (m - 1)/2. If every outcome is 1 predictions climb to the last one and stay, and from
    m - 1 rounds on the error equals the bound: no smaller one holds.

    References
    ----------
    Arunachaleswaran, Collina, Roth, Shi (2025), An elementary predictor obtaining distance to
    calibration 2 sqrt(T) + 1, SODA.

    Examples
    --------
    >>> forecaster = AlmostOneStepAhead(grid=2)
    >>> said = []
    >>> for outcome in [1, 1, 0, 1, 0, 0]:
    ...     said.append(forecaster.predict())
    ...     forecaster.update(outcome)
    >>> said
    [0.0, 0.5, 0.5, 0.0, 0.5, 0.0]
    >>> forecaster.certificate
    1.5
    """

    guarantee = Guarantee(
        measure="smooth_calibration_error",
        exponent=1 / 2,
        logarithms=0,
        surely=True,
        statement="T x smooth error <= 1.5 sqrt(T) (midpoints: about 1.06 sqrt(T)), "
        "T x distance to calibration <= 1.75 sqrt(T) (midpoints: about 1.24 sqrt(T))",
        source="Arunachaleswaran, Collina, Roth, Shi (2025)",
    )
    _stored = ("_tallies", "_at", "_moves", "_past")
    _tallies: list[int]
    _at: int
    _moves: int

    def __init__(
        self, horizon: int | None = None, *, grid: int | None = None, midpoint: bool = False
    ) -> None:
        self._midpoint = bool(midpoint)
        self._past = 0.0
        super().__init__(horizon, grid, midpoint=self._midpoint)

    @property
    def certificate(self) -> float:
        """What the rounds so far prove: rounds x distance to calibration is at most this.

        The way to the shadow plus the shadow's own error, the sum of the sizes of E_i.
        """
        owed = sum(map(abs, self._tallies)) / self._grid
        return self._past + self._moves * self._step(self._grid) + owed

    def run(self, outcomes: object, coin: np.random.Generator | None = None) -> Floats:
        """Predict a recorded sequence in one pass of compiled code; as round by round, exactly."""
        del coin
        sequence = self._readable(outcomes).astype(np.uint8)
        self._announced = self._pending = None  # they follow from the state
        parts = [np.zeros(0)]
        start = 0
        while start < sequence.size:
            left = self._epoch_end - self.rounds if self._epoch_end > 0 else sequence.size
            part = sequence[start : start + left]
            predictions, self._tallies, self._at = kernels.almost_one_step_ahead(
                self._tallies, self._at, part, self._midpoint
            )
            parts.append(predictions)
            self._moves += part.size if self._midpoint else int(np.count_nonzero(part))
            self.rounds += part.size
            start += part.size
            if self.rounds == self._epoch_end:
                self._next_epoch()
        return np.concatenate(parts) if len(parts) > 2 else parts[-1]

    def _best_grid(self, length: int) -> int:
        if self._midpoint:
            return max(1, round(math.sqrt(length / 2)))
        return math.isqrt(length - 1) + 1

    def _reset(self) -> None:
        # E_i in units of 1/m: whole numbers, so nothing is ever rounded.
        self._tallies = [0] * (self._grid + 1)
        self._at = 0
        self._moves = 0

    def _prepare_for(self, state: Stored) -> None:
        super()._prepare_for(state)
        tallies = state.numbers("_tallies", shape=(self._grid + 1,))
        # The compiled pass looks for the first switch from the last one, and must find it.
        switch = (tallies[:-1] <= 0) & (tallies[1:] >= 0)
        first = int(np.argmax(switch))
        if tallies[0] or tallies[-1] or state.whole("_at", 0, self._grid - 1) != first:
            raise InvalidStateError("stored tallies must switch where the forecaster stands")

    def _step(self, grid: int) -> float:
        return 1 / (2 * grid) if self._midpoint else 1 / grid

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        del length
        return played * self._step(grid) + (grid - 1) / 2

    def _next_epoch(self) -> None:
        self._past = self.certificate
        super()._next_epoch()

    def _announce(self) -> Distribution:
        if self._midpoint:
            return certain((2 * self._at + 1) / (2 * self._grid))
        return certain(self._at / self._grid)

    def _learn(self, prediction: float, outcome: int) -> None:
        del prediction
        tallies, at = self._tallies, self._at
        if outcome:
            tallies[at + 1] += at + 1 - self._grid
            self._moves += 1
        else:
            tallies[at] += at
            self._moves += self._midpoint  # a midpoint is half a step from both
        # Only E_at and E_{at+1} can have changed: the first switch is at or after at - 1.
        at = max(at - 1, 0)
        while tallies[at] > 0 or tallies[at + 1] < 0:
            at += 1
        self._at = at

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
    r"""Stay close to a calibrated forecaster: distance to calibration at most 2 sqrt(T) + 1.

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
        Predict the middle between the two values the shadow may take: sqrt(2 T) instead of
        2 sqrt(T).

    Notes
    -----
    E_i is the sum of (i/m - y) over rounds whose shadow was i/m. The prediction is the first i/m
    with E_i <= 0 <= E_{i+1}; after the outcome the shadow is (i+1)/m for 1 and i/m for 0, so E
    stays within one. With step = 1/m (1/(2m) for midpoints), rounds x distance to calibration
    is at most `rounds x step + m - 1` surely, and rounds x smooth error at most
    `2 x rounds x step + m - 1`: `bound` gives the latter, `certificate` what the rounds so far
    prove. Being deterministic it can be forced into the worst ECE and decision loss.

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
        statement="T x distance to calibration <= 2 sqrt(T) + 1 (midpoints: about sqrt(2 T)), "
        "so T x smooth error <= 3 sqrt(T) + 2",
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
        said = [np.zeros(0)]
        start = 0
        while start < sequence.size:
            left = self._epoch_end - self.rounds if self._epoch_end > 0 else sequence.size
            part = sequence[start : start + left]
            predictions, self._tallies, self._at = kernels.almost_one_step_ahead(
                self._tallies, self._at, part, self._midpoint
            )
            said.append(predictions)
            self._moves += part.size if self._midpoint else int(np.count_nonzero(part))
            self.rounds += part.size
            start += part.size
            if self.rounds == self._epoch_end:
                self._next_epoch()
        return np.concatenate(said) if len(said) > 2 else said[-1]

    def _best_grid(self, length: int) -> int:
        if self._midpoint:
            return max(1, round(math.sqrt(length / 2)))
        return math.isqrt(length - 1) + 1

    def _reset(self) -> None:
        # E_i in units of 1/m: whole numbers, so nothing is ever rounded.
        self._tallies = [0] * (self._grid + 1)
        self._at = 0
        self._moves = 0

    def _make_room(self, state: Stored) -> None:
        super()._make_room(state)
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
        return 2 * played * self._step(grid) + grid - 1

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

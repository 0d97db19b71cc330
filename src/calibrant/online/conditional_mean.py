"""A forecaster for those who know the chance: it forecasts where biases can be worked off."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from calibrant._base.options import check_within, whole
from calibrant.online.sign_players import RecursiveLabeler
from calibrant.online.signs import MINUS, PLUS

# 1 - a - b for a labeler that leaves O(n^a t^b) signs; see `RecursiveLabeler`.
MARGIN = 0.0343
# A bias of no more than this is left alone.
SMALL = 1.0

Cell = tuple[int, int, int]
"""Level, threshold and interval."""


class ConditionalMeanForecaster:
    r"""Experimental: spread known chances over forecasts whose biases cancel.

    It must be told the chance of each outcome before it forecasts; then the chance itself would
    be a calibrated forecast. What it shows is the reduction behind T^(2/3 - a): chances are
    replaced by endpoints of intervals, chosen by a labeler of the game of signs so that later
    chances work the biases off. Nothing is promised for a number of rounds that can be played, and
    nothing without the chance: do not use it to forecast.

    Parameters
    ----------
    chance : callable
        `chance(outcomes)` returns the chance that the next outcome is 1, given the list of
        outcomes so far.
    horizon : int
        Number of rounds to come.

    Notes
    -----
    With T = 2^s rounds, intervals of [0, 1] have widths 1/2^(i+1) for levels i = g, ..., s - g - 1
    with g = s/(3 + 2 MARGIN), rounded down. At every level there are games of signs for even and
    for odd intervals. In each round, first: an endpoint whose bias is beyond 1 and would shrink is
    forecast. Else: of the intervals that hold the chance the first whose bias is below its
    threshold 2^(j-i) is taken; if it is empty, the labeler gives it a sign; the left endpoint is
    forecast for +, the right one for -. Else the chance is rounded to a fine grid. Biases count the
    chance minus the forecast; those of outcomes come on top, of order
    sqrt(T x number of forecasts).

    Measured: with 16 384 rounds T x ECE is within T^(2/3) = 645 for constant, drifting and uniform
    chances, as it is for `FosterForecaster`, which needs no chances.

    References
    ----------
    Dagan, Daskalakis, Fishelson, Golowich, Kleinberg, Okoroafor (2025), Breaking the T^(2/3)
    barrier for sequential calibration, STOC.

    Examples
    --------
    >>> from calibrant.online import Bernoulli, simulate
    >>> forecaster = ConditionalMeanForecaster(lambda outcomes: 0.3, horizon=1024)
    >>> game = simulate(forecaster, Bernoulli(0.3), 1024, rng=0)
    >>> game.errors(["exact_calibration_error"])["exact_calibration_error"] < 1024 ** (2 / 3)
    True
    """

    def __init__(self, chance: Callable[[list[int]], float], horizon: int) -> None:
        self.horizon = whole("horizon", horizon)
        self._chance_of = chance
        self._outcomes: list[int] = []
        size = max(3, math.ceil(math.log2(self.horizon)))
        first = max(1, int(size / (3 + 2 * MARGIN)))
        depth = size - 2 * first
        self._finest = first + depth + 1
        # Coarsest level with all thresholds, finer ones with the largest.
        self._order = [(first, j) for j in range(first + 1, first + depth + 1)]
        self._order += [(i, first + depth) for i in range(first + 1, first + depth)]
        self._labelers: dict[tuple[int, int, int], RecursiveLabeler] = {}
        self._signs: dict[Cell, str] = {}
        self._biases: dict[Cell, float] = {}
        self._next: tuple[float, float, Cell | None, str] | None = None

    def forecast(self) -> float:
        """Forecast an endpoint near the chance, or one whose bias the chance works off."""
        if self._next is None:
            chance = check_within("chance(outcomes)", self._chance_of(list(self._outcomes)))
            self._next = self._choose(chance)
        return self._next[1]

    def learn(self, prediction: Any, outcome: int) -> None:
        """Take note of the chance that was forecast for; outcomes only go to `chance`."""
        del prediction
        self.forecast()
        assert self._next is not None  # noqa: S101  # forecast() has set it
        chance, endpoint, cell, sign = self._next
        if cell is not None:
            self._signs[cell] = sign
            self._biases[cell] = self._biases.get(cell, 0.0) + chance - endpoint
            shrunk = (chance - endpoint) * (1 if sign == PLUS else -1) < 0
            if shrunk and abs(self._biases[cell]) <= SMALL:
                del self._signs[cell], self._biases[cell]
        self._outcomes.append(outcome)
        self._next = None

    def _choose(self, chance: float) -> tuple[float, float, Cell | None, str]:
        """Chance, forecast, and the cell whose bias changes with its sign."""
        for cell, sign in self._signs.items():
            endpoint = _endpoint(cell, sign)
            if abs(self._biases[cell]) > SMALL and (
                chance < endpoint if sign == PLUS else chance > endpoint
            ):
                return chance, endpoint, cell, sign
        for level, threshold in self._order:
            count = 2 ** (level + 1)
            cell = level, threshold, min(int(chance * count), count - 1)
            if abs(self._biases.get(cell, 0.0)) < 2.0 ** (threshold - level):
                sign = self._signs.get(cell) or self._label(cell)
                return chance, _endpoint(cell, sign), cell, sign
        return chance, round(chance * 2**self._finest) / 2**self._finest, None, ""

    def _label(self, cell: Cell) -> str:
        level, threshold, interval = cell
        game = level, threshold, interval % 2
        if game not in self._labelers:
            self._labelers[game] = RecursiveLabeler(2**level)
        return self._labelers[game]("", interval // 2, 0)

    def __repr__(self) -> str:
        return f"ConditionalMeanForecaster(horizon={self.horizon})"


def _endpoint(cell: Cell, sign: str) -> float:
    level, _, interval = cell
    return float(interval + (sign == MINUS)) / float(2 ** (level + 1))

"""A nature that plays the game of signs with the forecaster's biases."""

from __future__ import annotations

import numpy as np

from calibrant._base.options import check_flag, check_positive
from calibrant.online.distribution import Forecast
from calibrant.online.natures import History, Nature
from calibrant.online.sign_players import MiddlePointer
from calibrant.online.signs import EMPTY, MINUS, PLUS, SPENT, Pointer

NEAR = 1 / 8
"""A prediction belongs to a chance within this share of 1 / cells of it."""


class SignNature(Nature):
    r"""Draws outcomes at one chance until a bias has grown there, then moves on to another.

    The lower bounds T^0.528 and T^0.54389 for the expected error rest on such a nature. With
    n = T^(1/3), the cells of a game of signs stand for the chances 1/4 + j/(2n). In an epoch of at
    most n^2 rounds outcomes are drawn with the chance of the cell that the pointer chose, until
    the forecasts near it have a bias of more than `constant` x n: that is a sign on the board. A
    forecaster that forecasts elsewhere sidesteps, and no sign is written; it pays where it
    forecasts. When the pointer stops, outcomes are drawn with a chance at which the forecaster can
    work off the least.

    Parameters
    ----------
    pointer : callable, optional
        `pointer(board, epochs_left)` returns an empty cell or None; by default `MiddlePointer`.
    constant : float, default=0.3
        How large a bias must be, in units of n. By chance alone it would be about n/2.
    reuse : bool, default=False
        Whether a cell whose bias was worked off can be pointed at again.

    Notes
    -----
    A stress test, not a proof: the papers choose pointer and constants so that every forecaster
    suffers, for numbers of rounds far beyond what can be played. The board is read off the biases
    after each epoch: a cell shows the sign of a bias of more than half of what ends an epoch.

    References
    ----------
    Qiao, Valiant (2021), Stronger calibration lower bounds via sidestepping, STOC.

    Examples
    --------
    >>> from calibrant.online import ConstantForecaster, FosterForecaster, simulate
    >>> nature = SignNature()
    >>> game = simulate(FosterForecaster(1000), nature, 1000, rng=0)
    >>> len(nature.board)
    10
    """

    binary = True
    _board: str
    _cells: int

    def __init__(
        self, pointer: Pointer | None = None, *, constant: float = 0.3, reuse: bool = False
    ) -> None:
        check_positive("constant", constant)
        self.pointer = MiddlePointer() if pointer is None else pointer
        self.constant = float(constant)
        self.reuse = check_flag("reuse", reuse)

    @property
    def board(self) -> str:
        """The board after the last epoch of the last game."""
        return self._board

    def begin(self, rounds: int, rng: np.random.Generator) -> None:
        """Draw what decides the outcomes; the chances depend on the game."""
        self._rounds = rounds
        self._uniform = rng.random(rounds).tolist()
        self._cells = max(1, round(rounds ** (1 / 3)))
        self._mark = self.constant * self._cells
        self._bias = [0.0] * self._cells
        self._used: set[int] = set()
        self._board = EMPTY * self._cells
        self._cell: int | None = None
        self._ends, self._playing = 0, True

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Draw an outcome at the chance of this epoch."""
        del forecast
        if history.rounds:
            self._take_note(float(history.predictions[-1]), int(history.outcomes[-1]))
        if self._playing and (history.rounds >= self._ends or self._grown()):
            self._next_epoch(history.rounds)
        return int(self._uniform[history.rounds] < self._chance)

    def chance_of(self, cell: float) -> float:
        """Chance of outcome 1 that a cell stands for."""
        return 0.25 + cell / (2 * self._cells)

    def _take_note(self, prediction: float, outcome: int) -> None:
        position = (prediction - 0.25) * 2 * self._cells
        cell = round(position)
        if 0 <= cell < self._cells and abs(position - cell) <= 2 * NEAR:
            self._bias[cell] += outcome - prediction

    def _grown(self) -> bool:
        return self._cell is not None and abs(self._bias[self._cell]) > self._mark

    def _next_epoch(self, now: int) -> None:
        if self._cell is not None:
            self._used.add(self._cell)
        self._board = "".join(map(self._content, range(self._cells)))
        left = max(1, (self._rounds - now) // self._cells**2)
        self._cell = self.pointer(self._board, left)
        if self._cell is None:
            self._playing = False
            self._chance = self.chance_of(self._safest() - 0.5)
        else:
            self._ends = now + self._cells**2
            self._chance = self.chance_of(self._cell)

    def _content(self, cell: int) -> str:
        if abs(self._bias[cell]) > self._mark / 2:
            return PLUS if self._bias[cell] > 0 else MINUS
        return SPENT if cell in self._used and not self.reuse else EMPTY

    def _safest(self) -> int:
        """Where to draw so that pluses to the left and minuses to the right cannot be undone."""
        bias = np.array(self._bias)
        kept = np.append(0, np.maximum(bias, 0).cumsum())
        kept += np.append(np.maximum(-bias, 0)[::-1].cumsum()[::-1], 0)
        return int(kept.argmax())

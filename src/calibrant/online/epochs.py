"""Forecasters on a grid whose size depends on the number of rounds to come."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from calibrant._base.options import MOST_GRID, whole
from calibrant._base.stored import Stored
from calibrant.errors import InvalidStateError
from calibrant.online.forecaster import Forecaster

FIRST_EPOCH = 64


class GridForecaster(Forecaster):
    """A forecaster that predicts on the grid 0, 1/N, ..., 1 (or between its points).

    With a horizon N suits that many rounds. Without one the forecaster begins anew after 64,
    128, 256, ... rounds, each time with the grid for the next epoch. Rounds times a calibration
    error of a sequence are at most the sum over its parts, so this costs a constant factor. With
    a grid that the user gives there is one epoch without end.
    """

    _stored: ClassVar[tuple[str, ...]] = ("_length", "_grid")
    _grid: int
    _length: int | None

    def __init__(
        self,
        horizon: int | None,
        grid: int | None,
        rng: np.random.Generator | int | None = None,
        *,
        least_grid: int = 1,
        **further: object,
    ) -> None:
        horizon = None if horizon is None else whole("horizon", horizon)
        grid = None if grid is None else whole("grid", grid, least_grid, MOST_GRID)
        options = {"horizon": horizon, "grid": grid, **further}
        super().__init__(options, horizon=horizon, rng=rng)
        self._chosen_grid = grid
        self._begin(self._first_length())

    @abstractmethod
    def _best_grid(self, length: int) -> int:
        """Choose the number of grid steps for an epoch of this length."""

    @abstractmethod
    def _reset(self) -> None:
        """Forget all rounds; the grid has just been set."""

    @abstractmethod
    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        """Bound the error of the first rounds of an epoch."""

    def _first_length(self) -> int | None:
        """Return the rounds of the first epoch; None if it has no end."""
        if self.horizon is not None:
            return self.horizon
        return FIRST_EPOCH if self._chosen_grid is None else None

    def _grid_for(self, length: int | None) -> int:
        if self._chosen_grid is not None or length is None:
            return self._chosen_grid or 1
        return self._best_grid(length)

    def _begin(self, length: int | None) -> None:
        self._length, self._grid = length, self._grid_for(length)
        self._epoch_end = -1 if self.horizon or not length else self.rounds + length
        self._reset()

    def _next_epoch(self) -> None:
        self._begin(2 * (self._length or 1))

    def _prepare_for(self, state: Stored) -> None:
        length = None if state.get("_length") is None else state.whole("_length", 1)
        if state.whole("_grid", 1) != self._grid_for(length):
            raise InvalidStateError("a stored grid must be that of its epoch")
        self._begin(length)

    def bound(self, rounds: int) -> float:
        """Bound rounds x measure of the guarantee after so many rounds, whatever happens."""
        return sum(
            self._epoch_bound(self._grid_for(length), length, played)
            for length, played in self._epochs(rounds)
        )

    def _epochs(self, rounds: int) -> Iterator[tuple[int | None, int]]:
        """Yield length and rounds played of the epochs that so many rounds take."""
        length = self._first_length()
        while rounds > 0:
            played = rounds if length is None or self.horizon else min(rounds, length)
            yield length, played
            rounds -= played
            length = 2 * (length or 1)


def first_bit(members: int) -> int:
    """Lowest grid point of a set that is kept as the bits of a whole number.

    Examples
    --------
    >>> first_bit(0b1010_0000)
    5
    """
    return (members & -members).bit_length() - 1

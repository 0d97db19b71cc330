"""Who can play the game of signs: pointers that keep signs, labelers that wipe them out."""

from __future__ import annotations

import math

import numpy as np

from calibrant._base.options import as_generator, whole
from calibrant.online.signs import EMPTY, MINUS, MOST_SIGN_CELLS, PLUS, empty_cells


class MiddlePointer:
    """Points at the middle of the widest run of empty cells; stops when there is none.

    A heuristic without a promise: signs to the left of a plus or to the right of a minus survive
    what comes further out. Of runs of equal width the first.

    Examples
    --------
    >>> MiddlePointer()("...+..", 3)
    1
    """

    def __call__(self, board: str, left: int) -> int | None:
        """Choose a cell."""
        del left
        widest = max((run for run in _runs(board)), key=lambda run: run[1] - run[0], default=None)
        return None if widest is None else (widest[0] + widest[1] - 1) // 2

    def __repr__(self) -> str:
        return "MiddlePointer()"


class RandomPointer:
    """Points at an empty cell by chance; stops when there is none.

    Parameters
    ----------
    rng : numpy.random.Generator or int, optional
        Source of its choices.

    Examples
    --------
    >>> RandomPointer(0)("+..x", 2)
    2
    """

    def __init__(self, rng: np.random.Generator | int | None = None) -> None:
        self._rng = as_generator(rng)

    def __call__(self, board: str, left: int) -> int | None:
        """Choose a cell."""
        del left
        cells = empty_cells(board)
        return int(self._rng.choice(cells)) if cells else None

    def __repr__(self) -> str:
        return "RandomPointer()"


class RecursiveLabeler:
    r"""A labeler for any number of cells and rounds, with reuse: halves of halves, in epochs.

    Each interval of cells has a labeler that hands requests to its two halves, until both have
    been asked often enough. Then, for a while, all requests go to a fresh labeler of the whole
    interval that leans to one side, + if the last request came from the left half and - if from
    the right; and it begins anew. A single cell writes the sign of its leaning, + for none.

    One labeler plays one game.

    Parameters
    ----------
    cells : int
        Number of cells.

    Notes
    -----
    Its constants are those with which Dai and Fishelson (2026) are said to leave O(n^a t^b) signs
    of n cells in t rounds, a = 0.00825 and b = 0.95746, and hence to reach the exponent 0.66294 for
    sequential calibration. We could not verify the source, and nothing here rests on it: any
    positive constants make a valid labeler, and in games that can be played the bound exceeds the
    number of cells.

    References
    ----------
    Dagan, Daskalakis, Fishelson, Golowich, Kleinberg, Okoroafor (2025), Breaking the T^(2/3)
    barrier for sequential calibration, STOC.

    Examples
    --------
    >>> from calibrant.online import SignPreservation
    >>> game = SignPreservation(16, 40, reuse=True)
    >>> game.play(RandomPointer(0), RecursiveLabeler(16)).kept < 16
    True
    """

    def __init__(self, cells: int) -> None:
        self.cells = whole("cells", cells, 1, MOST_SIGN_CELLS)
        self._whole = _Half(0, 2 ** math.ceil(math.log2(self.cells)), 0)

    def __call__(self, board: str, cell: int, left: int) -> str:
        """Write a sign; what counts is which cells were asked for, in their order."""
        del board, left
        return self._whole.sign(cell)

    def __repr__(self) -> str:
        return f"RecursiveLabeler({self.cells})"


# How uneven the two halves may have been asked, how long the fresh labeler is asked, how often an
# interval must have been asked before: constants reported for the exponent 0.66294, not verified.
EVEN, FRESH, OFTEN = 0.0164237243, 0.4148723339, 9.4880928733


class _Half:
    """Labels an interval, epoch after epoch."""

    def __init__(self, start: int, stop: int, leaning: int) -> None:
        self.start, self.stop, self.leaning = start, stop, leaning
        self.epochs = 0
        self.epoch: _Epoch | None = None

    def sign(self, cell: int) -> str:
        if self.stop - self.start == 1:
            return PLUS if self.leaning >= 0 else MINUS
        if self.epoch is None or self.epoch.ended:
            self.epoch = _Epoch(self, self.epochs)
            self.epochs += 1
        return self.epoch.sign(cell)


class _Epoch:
    """Asks the halves first and a fresh labeler of the whole interval then."""

    def __init__(self, of: _Half, number: int) -> None:
        self.of, self.number = of, number
        self.middle = (of.start + of.stop) // 2
        self.halves = (
            _Half(of.start, self.middle, of.leaning),
            _Half(self.middle, of.stop, of.leaning),
        )
        self.queries = [0, 0]
        self.fresh: _Half | None = None
        self.left = 0

    @property
    def ended(self) -> bool:
        return self.fresh is not None and self.left == 0

    def sign(self, cell: int) -> str:
        if self.fresh is not None:
            self.left -= 1
            return self.fresh.sign(cell)
        side = int(cell >= self.middle)
        sign = self.halves[side].sign(cell)
        self.queries[side] += 1
        less, more = sorted(self.queries)
        if OFTEN * less >= self.number and EVEN * more <= less:
            leaning = self.of.leaning + (-1 if side else 1)
            self.fresh = _Half(self.of.start, self.of.stop, leaning)
            self.left = math.floor(FRESH * more)
        return sign


def _runs(board: str) -> list[tuple[int, int]]:
    """First cell of every run of empty ones, and the cell after it."""
    runs, start = [], None
    for cell, content in enumerate(board + PLUS):
        if content == EMPTY and start is None:
            start = cell
        elif content != EMPTY and start is not None:
            runs.append((start, cell))
            start = None
    return runs

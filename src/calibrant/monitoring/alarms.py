"""Bets against calibration: what the monitor's evidence is made of.

A bet of size s puts a stake u, |u| <= s, on a row with prediction v and outcome y, and multiplies
the wealth by 1 + u (y - v) - s a, where a is the allowance of the row. Stakes follow from earlier
rows and from v. If, given the past, the chance of the outcome differs from v on average by no more
than a does, the factor is at most one on average: wealth is evidence against calibration. The same
holds for outcomes between 0 and 1 whose mean is forecast, because the factor is linear in y.

Some bettors stick to one alternative each (`bettors.py`). The others learn, in eight sizes. Binned:
the residuals of a bin over their information, of all rows or of the recent ones. Isotonic and
smooth: learned from 64 cells after 16, 32, 64, ... rows. The compiled kernel plays; this file keeps
the book and learns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import ShareOfRarer, Tolerance
from calibrant._base.stored import Stored
from calibrant.binning import isotonic
from calibrant.errors import InvalidStateError
from calibrant.joint import Joint
from calibrant.joint.sums import LevelSums
from calibrant.kinds import LARGEST_TOLERANCE, TOLERATED_SHARE

CELLS = 64
# Cells have equal width in log-odds, and the outermost reach to 0 and to 1, so that forecasts of
# rare events do not all share a cell. Neighbouring cells form the bins.
LOG_ODDS: Floats = np.linspace(-8, 8, CELLS + 1)
EDGES: Floats = 1 / (1 + np.exp(-LOG_ODDS[1:-1]))
CENTRES: Floats = 1 / (1 + np.exp(-(LOG_ODDS[1:] + LOG_ODDS[:-1]) / 2))
SIZES = tuple(0.5**k for k in range(8))
CUTS = (0.5, 2.0)
SHIFTS = (1 / 32, 1 / 16, 1 / 8)
# Factors of the log-odds; their inverses are alternatives too.
SLOPES = (2**-1.0, 2**-0.5, 2**-0.25)
WAVE = 1 / 12
# A chance is at most so many times nearer to 0 or 1 than its forecast.
NEARER = 4

TOO_LOW, TOO_HIGH = "forecasts are too low", "forecasts are too high"
TOO_EXTREME, TOO_TIMID = "forecasts are too extreme", "forecasts are not extreme enough"
BY_TURNS = "forecasts are too low and too high by turns"
SOMEWHERE = "forecasts are wrong in some ranges"


@dataclass(frozen=True, slots=True)
class Bettor:
    """One of those who bet side by side."""

    part: str
    """Name of the part of the evidence."""
    kind: str
    """What is bet on, in words."""
    size: float
    """Bound on the stakes."""
    stakes: Floats | None = None
    """By cell; None for those who learn."""


def _learners() -> Iterator[Bettor]:
    """Bins with either memory, isotonic and smooth: the order of the kernel."""
    for part in ("binned", "binned", "isotonic", "smooth"):
        for size in SIZES:
            yield Bettor(part, SOMEWHERE, size)


def _alternatives() -> Iterator[Bettor]:
    for sign, kind in ((1, TOO_LOW), (-1, TOO_HIGH)):
        # A constant stake is, for small ones, a shift of the log-odds.
        for size in SIZES:
            yield Bettor("shift", kind, size, np.full(CELLS, sign * size))
        for shift in SHIFTS:
            yield from _likelihood_ratios("shift", kind, CENTRES + sign * shift)
    for slope in SLOPES:
        for by, kind in ((slope, TOO_EXTREME), (1 / slope, TOO_TIMID)):
            odds = (CENTRES / (1 - CENTRES)) ** by
            yield from _likelihood_ratios("slope", kind, odds / (1 + odds))
    # One sine over the unit interval is almost a slope.
    turn = 2 * np.pi * CENTRES
    for wave in (np.cos(turn), np.cos(2 * turn), np.sin(2 * turn), np.sin(3 * turn)):
        for sign in (1, -1):
            yield from _likelihood_ratios("wave", BY_TURNS, CENTRES + sign * WAVE * wave)


def _likelihood_ratios(part: str, kind: str, chance: Floats) -> Iterator[Bettor]:
    """Bet on a chance for each cell, in both sizes."""
    chance = np.clip(chance, CENTRES / NEARER, 1 - (1 - CENTRES) / NEARER)
    stakes = (chance - CENTRES) / (CENTRES * (1 - CENTRES))
    for size in CUTS:
        yield Bettor(part, kind, size, np.clip(stakes, -size, size))


BETTORS = (*_learners(), *_alternatives())


MIDDLES: Floats = (np.append(0.0, EDGES) + np.append(EDGES, 1.0)) / 2
FIRST_UPDATE = 16
# Information at which a learned stake is half of what was seen.
DOUBT = 1.0
SMALLEST_VARIANCE = 1e-12
PART, KIND = (np.array([getattr(b, name) for b in BETTORS]) for name in ("part", "kind"))
# Share of each part in the evidence: most streams that go wrong are too low or too high.
PARTS = {"shift": 0.25} | dict.fromkeys(("slope", "wave", "binned", "isotonic", "smooth"), 0.15)
SIZE: Floats = np.array([bettor.size for bettor in BETTORS])
# Bettors of a part share alike.
SHARE: Floats = np.array([PARTS[part] / (part == PART).sum() for part in PART.tolist()])
STAKES: Floats = np.array([bettor.stakes for bettor in BETTORS if bettor.stakes is not None])
# No row takes more than this part of the wealth, whatever happens.
MOST_LOST = 15 / 16
# The memory of the kernel: the same fields, in the same order.
BOOK = np.dtype(
    [
        ("wealth", "f8", PART.size),
        ("detector", "f8", PART.size),
        ("cell_rows", "f8", CELLS),
        ("cell_predictions", "f8", CELLS),
        ("cell_positives", "f8", CELLS),
        ("bin_residual", "f8", (2, 16)),
        ("bin_information", "f8", (2, 16)),
        ("stakes", "f8", (2, CELLS)),
    ]
)
# Wealth and counts are not negative; these may be.
SIGNED = ("bin_residual", "stakes")
COUNTS = ("rows", "peak", "contradicted", "alarm_row", "change_row")


@dataclass(slots=True)
class Bets:
    """A bettor's memory and how far the evidence has come."""

    tolerance: Tolerance | None
    """Allowance of every row; relative ones and None, the default, depend on the prediction."""
    alarm_level: float
    """Evidence that is an alarm."""
    change_level: float
    """Value of the detector that is a change."""
    between: bool = False
    """Whether outcomes may lie between 0 and 1, and forecasts are of their mean."""
    rows: int = 0
    """How many rows were played."""
    peak: float = 1.0
    """The largest evidence so far, contradictions aside."""
    contradicted: bool = False
    """Whether a forecast of 0 or 1 was contradicted while exact calibration was tested."""
    alarm_row: int | None = None
    """The row, counted from 1, at which the evidence first reached its level."""
    change_row: int | None = None
    """The row at which the detector first reached its level."""
    book: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(1, BOOK))
    """What the kernel remembers: wealth, detector, cells, bins and learned stakes."""
    sizes: Floats = field(init=False)
    """Of every bettor; less where the tolerance alone would take too much."""
    stakes: Floats = field(init=False)
    """Of the alternatives, cell by cell."""

    def __post_init__(self) -> None:
        largest = float(allowance(self.tolerance, np.array([0.5]))[0])
        most = MOST_LOST / largest if self.tolerance else np.inf
        self.sizes = np.minimum(SIZE, most)
        self.stakes = np.ravel(np.clip(STAKES, -most, most), order="F")

    def play(self, prediction: Floats, outcome: npt.NDArray[np.uint8] | Floats) -> None:
        """Bet on rows in their order, learning after 16, 32, 64, ... rows."""
        start = 0
        while start < prediction.size:
            next_update = max(FIRST_UPDATE, 1 << self.rows.bit_length())
            part = slice(start, min(start + next_update - self.rows, prediction.size))
            self._play_part(prediction[part], outcome[part])
            start = part.stop
            if self.rows == next_update:
                self._learn()

    def _play_part(self, prediction: Floats, outcome: npt.NDArray[np.uint8] | Floats) -> None:
        alarm, change, peak, contradicted = kernels.bet(
            self.book.view(np.float64),
            EDGES,
            self.sizes,
            SHARE,
            self.stakes,
            prediction,
            outcome,
            allowance(self.tolerance, prediction),
            float(self.rows),
            self.tolerance == 0,
            self.alarm_level,
            self.change_level,
        )
        if self.alarm_row is None and alarm >= 0:
            self.alarm_row = self.rows + alarm + 1
        if self.change_row is None and change >= 0:
            self.change_row = self.rows + change + 1
        self.peak = max(self.peak, peak)
        self.contradicted |= contradicted
        self.rows += prediction.size

    def _learn(self) -> None:
        """Learn stakes for the cells seen, and between them by interpolation."""
        joint = self.joint()
        rows = self.book["cell_rows"][0]
        mean = np.where(rows > 0, self.book["cell_predictions"][0] / np.maximum(rows, 1), MIDDLES)
        for row, learn in enumerate((isotonic_stakes, smooth_stakes)):
            self.book["stakes"][0, row] = np.interp(mean, joint.prediction, learn(joint))

    @property
    def evidence(self) -> float:
        """The parts together, each with its share."""
        return sum(PARTS[part] * value for part, value in self.parts.items())

    @property
    def parts(self) -> dict[str, float]:
        """Evidence of each part: mean wealth of its bettors, and what is kept for later ones."""
        if self.contradicted:
            return dict.fromkeys(PARTS, np.inf)
        wealth, later = self.book["wealth"][0], share_left(self.rows)
        return {part: float(wealth[part == PART].mean()) + later for part in PARTS}

    @property
    def kind(self) -> str:
        """What those who gained most bet on, in words."""
        kinds, kind = np.unique(KIND, return_inverse=True)
        gains = np.bincount(kind, SHARE * self.book["wealth"][0])
        return str(kinds[gains.argmax()])

    @property
    def detector(self) -> float:
        """Value of the detector of changes."""
        return np.inf if self.contradicted else float(SHARE @ self.book["detector"][0])

    def state(self) -> dict[str, Any]:
        """Everything that changes with the rows, as plain data."""
        state = {name: getattr(self, name) for name in COUNTS}
        return state | {name: self.book[name][0].tolist() for name in BOOK.names or ()}

    def restore(self, state: Stored) -> None:
        """Take back what `state` returned."""
        self.rows = state.whole("rows")
        self.peak = state.number("peak", 1.0)
        self.contradicted = state.flag("contradicted")
        self.alarm_row, self.change_row = (
            None if state.get(name) is None else state.whole(name, 1, self.rows)
            for name in ("alarm_row", "change_row")
        )
        for name in BOOK.names or ():
            shape = self.book[name][0].shape
            low = -np.inf if name in SIGNED else 0.0
            self.book[name][0] = state.numbers(name, low, np.inf, shape)
        book = self.book[0]
        rows, sums = book["cell_rows"], (book["cell_predictions"], book["cell_positives"])
        counted = (rows == np.floor(rows)).all() and rows.sum() == self.rows
        positives = self.between or (sums[1] == np.floor(sums[1])).all()
        if not (counted and positives and all((part <= rows).all() for part in sums)):
            raise InvalidStateError(f"cells of {state.what} must hold its rows", f"{self.rows}")
        if (self.alarm_row is None) != (self.peak < self.alarm_level and not self.contradicted):
            raise InvalidStateError(
                f"alarm_row of {state.what} must fit its evidence",
                f"{self.alarm_row} with {self.peak:g}",
            )

    def joint(self) -> Joint:
        """All rows played, in cells."""
        book = self.book[0]
        occupied = book["cell_rows"] > 0
        rows, positives = book["cell_rows"][occupied], book["cell_positives"][occupied]
        mean = book["cell_predictions"][occupied] / rows
        if not self.between:
            return Joint.from_counts(mean, rows, positives)
        sums = LevelSums(
            prediction=mean,
            weight=rows,
            positives=positives,
            rows=rows,
            weight_squares=rows,
            binary=False,
        )
        return Joint(sums)


def share_left(rows: int) -> float:
    """Share of the evidence that is kept for bettors who start after so many rows.

    Those of rows 2^j to 2^(j+1) - 1 have 1 / ((j + 1) (j + 2)) together, in equal parts.
    """
    if rows == 0:
        return 1.0
    block = rows.bit_length()
    first = 1 << (block - 1)
    return 1 / block - (rows - first + 1) / (block * (block + 1) * first)


def allowance(tolerance: Tolerance | None, prediction: Floats) -> Floats:
    """Tolerance of each row; where it is relative, the prediction stands for the base rate."""
    nearest = np.minimum(prediction, 1 - prediction)
    if isinstance(tolerance, ShareOfRarer):
        return tolerance.share * nearest
    if tolerance is not None:
        return np.full(prediction.size, tolerance)
    return np.minimum(LARGEST_TOLERANCE, TOLERATED_SHARE * nearest)


def isotonic_stakes(joint: Joint) -> Floats:
    """Stakes that lead from each level to its isotonic regression, less where little was seen.

    The plug-in bet of Henzi, Puke, Dimitriadis and Ziegel (2023), fitted to cells.
    """
    pools = isotonic(joint)
    pool = pools.pool_of(joint.prediction)
    variance = joint.prediction * (1 - joint.prediction)
    gap = pools.joint.outcome[pool] - joint.prediction
    information = np.bincount(pool, joint.rows * variance)[pool]
    return gap / np.maximum(variance, SMALLEST_VARIANCE) * information / (information + DOUBT)


def smooth_stakes(joint: Joint) -> Floats:
    """Stakes along the witness of the smooth error, as high as it has earned."""
    witness = witness_of(joint)
    earned = float(witness @ (joint.rows * joint.residual))
    variance = joint.prediction * (1 - joint.prediction)
    return witness * (max(0.0, earned) / (float(witness**2 @ (joint.rows * variance)) + DOUBT))


def witness_of(joint: Joint) -> Floats:
    """Witness of the smooth error at the levels."""
    return np.asarray(kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, 1.0))

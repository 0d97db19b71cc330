"""Who bets: some learn what is wrong, the others know one alternative each from the first row.

If the chance is q where the forecast says p, the likelihood ratio q^y (1 - q)^(1 - y) over
p^y (1 - p)^(1 - y) is 1 + u (y - p) with u = (q - p) / (p (1 - p)): a bet with the stake u. Stakes
are looked up by cell and cut at two sizes: the larger keeps nearly all of the ratio, the smaller
pays less for the tolerance. Any stake fixed before the outcome is fair, so cells and cuts cost
speed only. Learning takes rows, which these bettors save: a change is found sooner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats

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

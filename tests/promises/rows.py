"""The rows that an undecided verdict asks for settle it."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import find_interval
from calibrant.inference.rows_to_settle import rows_to_settle
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from promises.core import Promise
from promises.samples import FAULTS, SMOOTH

TOLERANCE = 0.02
GRID = np.arange(1, 50) / 50


def counted(rng, rows, chance):
    """Sums of rows whose forecasts lie on a grid."""
    counts = rng.multinomial(rows, np.full(GRID.size, 1 / GRID.size))
    seen = counts > 0
    ones = rng.binomial(counts, chance)
    return cal.Joint.from_counts(GRID[seen], counts[seen], ones[seen])


def fresh_rows_leave_the_error_open(share, n, rng):
    """Of samples that are undecided: a fresh one of as many rows as the upper end says."""
    statistic = Statistic.of(SMOOTH)
    chance = np.clip(GRID + share * TOLERANCE, 0, 1)

    def judged(rows):
        evidence = Evidence.of_joint(counted(rng, rows, chance))
        return evidence, find_interval(evidence, statistic, Settings.read(draws=199, rng=rng))

    while True:
        evidence, interval = judged(n)
        if not interval.low <= TOLERANCE < interval.high:
            continue
        needed = rows_to_settle(evidence, statistic, interval, TOLERANCE, rng)
        if needed is not None:
            fresh = judged(needed[1])[1]
            return fresh.low <= TOLERANCE < fresh.high


def fresh_rows_leave_the_verdict_open(fault, n, rng):
    """The same of error and gap together."""

    def judged(rows):
        return cal.verdict(
            counted(rng, rows, FAULTS[fault](GRID)), tolerance=TOLERANCE, draws=199, rng=rng
        )

    while True:
        needed = judged(n).rows_needed
        if needed is not None:
            return judged(needed[1]).state == "undecided"


def promises():
    for share, n in ((0, 300), (0.5, 300), (1.5, 300), (0, 3000), (0.75, 3000), (1.25, 3000)):
        yield Promise(
            "rows at the upper end settle the smooth error",
            f"error {share:g} times the tolerance, {n} rows seen",
            partial(fresh_rows_leave_the_error_open, share, n),
            200,
            0.2,
        )
    for fault, n in (
        ("right", 300),
        ("slope 0.6", 100),
        ("slope 1.5", 300),
        ("three waves of 0.1", 300),
        ("right", 3000),
        ("too low by 0.05", 300),
    ):
        yield Promise(
            "rows at the upper end settle error and gap",
            f"{fault}, {n} rows seen",
            partial(fresh_rows_leave_the_verdict_open, fault, n),
            200,
            0.2,
        )

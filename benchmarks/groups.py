"""What groups cost in seconds, and beside the same audit without groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.groups import Groups, Multicalibrator, audit_groups
from shapes import Floats, forecasts

HKRR_BAR, PAIRS_BAR, RATIO_BAR = 1.0, 8.0, 2.0


@dataclass(frozen=True)
class GroupWork:
    name: str
    bar: float
    call: Callable[[], Any]
    check: Callable[[Any], None]
    beside: Callable[[], Any] | None = None
    """What the time is a multiple of; without it the bar is in seconds."""


def broken_groups(n: int) -> tuple[Floats, Floats, dict[str, Any]]:
    """Ten groups that overlap, each off by a wave of its own."""
    rng = np.random.default_rng(0)
    by = {f"group {i}": rng.random(n) < 0.1 + 0.04 * i for i in range(10)}
    base = rng.beta(2, 2, n)
    waves = [
        0.08 * (-1) ** i * np.sin(6 * base + i) * inside for i, inside in enumerate(by.values())
    ]
    return rng.random(n) < np.clip(base + sum(waves), 0, 1), base, by


def judged_pairs(y: Floats, base: Floats, codes: dict[str, Any]) -> Groups:
    """Judge pairs of columns, in two threads."""
    with cal.threads(2):
        return audit_groups(y, base, codes, pairs=True, rng=0)


def check_patches(fitted: Multicalibrator) -> None:
    before, after = fitted.fit_.error or (0.0, 1.0)
    assert fitted.fit_.kept
    assert after <= before / 2
    assert all(step.decrease >= step.promised - 1e-12 for step in fitted.fit_.steps)


def check_groups(rows: int, divisions: int, groups: Groups) -> None:
    """Every row stands in one group of each division, and every interval holds its value."""
    assert sum(group.rows for group in groups) == rows * divisions
    assert all(group.low <= group.value <= group.high for group in groups)


def works() -> tuple[GroupWork, ...]:
    rng = np.random.default_rng(1)
    y, base, by = broken_groups(10**6)
    codes = {f"column {i}": rng.integers(0, 11, 10**6) for i in range(6)}
    y7, p7 = forecasts("waves", 10**7)
    labels = np.array([f"g{i}" for i in range(200)], dtype=object)[rng.integers(0, 200, 10**7)]
    one = {"label": labels}
    return (
        GroupWork(
            "Multicalibrator, hkrr, 10 groups, 1e6 rows",
            HKRR_BAR,
            lambda: Multicalibrator().fit(base, y, by),
            check_patches,
        ),
        GroupWork(
            "audit_groups, pairs of 6 columns, 1e6 rows",
            PAIRS_BAR,
            partial(judged_pairs, y, base, codes),
            partial(check_groups, 10**6, 21),
        ),
        GroupWork(
            "audit_groups, 200 groups, 1e7 rows, beside the verdict of all rows",
            RATIO_BAR,
            lambda: audit_groups(y7, p7, one, rng=0),
            partial(check_groups, 10**7, 1),
            lambda: cal.verdict(y7, p7, rng=0),
        ),
    )

"""What a promise is, how it is tried, and the table of what was found."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import calibrant as cal

HEAD = ("promise", "scenario", "may fail", "failed", "standard error", "runs")


@dataclass(frozen=True)
class Observed:
    """How often a promise was broken."""

    promise: str
    scenario: str
    nominal: float
    observed: float
    runs: int

    @property
    def error(self) -> float:
        """Standard error of the observed share, at least that of one run."""
        share = min(max(self.observed, 1 / self.runs), 1 - 1 / self.runs)
        return float(np.sqrt(share * (1 - share) / self.runs))

    @property
    def kept(self) -> bool:
        """Whether the promise was broken no more often than it may be, by four standard errors."""
        slack = 4 * np.sqrt(self.nominal * (1 - self.nominal) / self.runs)
        return bool(self.observed <= self.nominal + slack)

    @property
    def line(self) -> str:
        """Its line of the table."""
        shares = f"{self.nominal:g}", f"{self.observed:.3f}", f"{self.error:.3f}"
        return _line(self.promise, self.scenario, *shares, str(self.runs))


@dataclass(frozen=True)
class Promise:
    """Something that may fail with a known chance at most, and one trial of it."""

    promise: str
    scenario: str
    fails: Callable[[np.random.Generator], bool]
    runs: int = 400
    nominal: float = 0.05

    @property
    def name(self) -> str:
        """Both, for the name of a test."""
        return f"{self.promise}: {self.scenario}"

    def observe(self) -> Observed:
        """Try it as often as it says, from a seed of its own: alone or among others, the same."""
        rng = np.random.default_rng([2026, zlib.crc32(self.name.encode())])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            failed = np.mean([self.fails(rng) for _ in range(self.runs)])
        return Observed(self.promise, self.scenario, self.nominal, float(failed), self.runs)


def head(*columns: str) -> str:
    """Begin a table in Markdown."""
    return f"{_line(*columns)}\n{'|---' * len(columns)}|"


def table(rows: list[Observed]) -> str:
    """Write what was observed as a table in Markdown."""
    return "\n".join([head(*HEAD), *(row.line for row in rows)])


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"

"""What a judgement depends on beside the data, checked once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from calibrant._base.options import (
    ShareOfRarer,
    Tolerance,
    as_generator,
    check_positive,
    check_within,
    enough_draws,
    number_or_percent,
    tolerance_from,
)
from calibrant.joint import Joint
from calibrant.kinds import BINARY, Kind

# A typical gap of so many times the tolerance is small enough when nobody says.
GAP_TOLERANCE = 2.0


class Judgeable(Protocol):
    """Forecasts of some kind, and what a tolerance in per cent of theirs is a share of."""

    @property
    def kind(self) -> Kind:
        """What the forecasts are forecasts of."""
        ...

    @property
    def extent(self) -> float:
        """Share of the rarer outcome, or the range of outcomes."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Confidence, draws, tolerance and source of randomness of a test, interval or verdict."""

    confidence: float = 0.95
    draws: int = 999
    """Simulated outcomes, and random multipliers of residuals: as many as `confidence` needs."""
    tolerance: Tolerance | None = None
    """Largest acceptable error, perhaps relative; None where the data decide."""
    gap_tolerance: Tolerance | None = None
    """Largest acceptable typical gap, perhaps relative; None for twice the tolerance."""
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    seed: int | None = None
    """The seed of the source, if it was given as one."""

    @classmethod
    def read(
        cls,
        *,
        confidence: float = 0.95,
        draws: int = 999,
        tolerance: Tolerance | str | None = None,
        gap_tolerance: Tolerance | str | None = None,
        rng: np.random.Generator | int | None = None,
        kind: Kind = BINARY,
    ) -> Settings:
        """Check what a caller chose; tolerances are in the units of the kind."""
        draws = enough_draws(draws, confidence)
        if kind.summed:
            allowed = None if tolerance is None else tolerance_from("tolerance", tolerance)
            gap = None if gap_tolerance is None else gap_tolerance_from(gap_tolerance)
        else:
            allowed, gap = (
                None if value is None else _in_units_from(name, value)
                for name, value in (("tolerance", tolerance), ("gap_tolerance", gap_tolerance))
            )
        seed = rng if isinstance(rng, int) else None
        return cls(confidence, draws, allowed, gap, as_generator(rng), seed)

    def for_section(self) -> Settings:
        """Judge one section of an audit from where the source of randomness stands, and leave it.

        Whatever else is judged does not change its numbers: they are those of its own function
        with the same seed.
        """
        return replace(self, rng=deepcopy(self.rng))

    def again(self, seed: int) -> Settings:
        """Judge with a source of randomness that starts at a seed."""
        return replace(self, rng=np.random.default_rng(seed), seed=seed)

    def within(self, tolerance: float) -> Settings:
        """Judge by another tolerance, with the same source of randomness."""
        return replace(self, tolerance=tolerance)

    def settled(self, whole: Judgeable | Joint) -> Settings:
        """Judge parts of some forecasts by the tolerances of all of them."""
        allowed = self.allowed(whole)
        return replace(self, tolerance=allowed, gap_tolerance=self.gap_allowed(whole, allowed))

    def gap_allowed(self, whole: Judgeable | Joint, tolerance: float) -> float:
        """Largest acceptable typical gap: what was asked for, or twice the tolerance."""
        if self.gap_tolerance is None:
            kind = BINARY if isinstance(whole, Joint) else whole.kind
            return min(1.0 if kind.summed else np.inf, GAP_TOLERANCE * tolerance)
        return tolerated(self.gap_tolerance, whole)

    def allowed(self, whole: Judgeable | Joint) -> float:
        """Largest acceptable error for forecasts: what was asked for, or the default."""
        return (
            default_tolerance(whole) if self.tolerance is None else tolerated(self.tolerance, whole)
        )


def gap_tolerance_from(value: Tolerance | str) -> Tolerance:
    """Read the tolerance of the typical gap: a number in [0, 1], or relative."""
    if isinstance(value, ShareOfRarer):
        return value
    number, percent = number_or_percent("gap_tolerance", value)
    if percent:
        return tolerance_from("gap_tolerance", value)
    return check_within("gap_tolerance", number, 0, 1)


def _in_units_from(name: str, value: Tolerance | str) -> Tolerance:
    """Read a tolerance in the units of the outcome, or of probability, or in per cent."""
    if isinstance(value, ShareOfRarer):
        return value
    number, percent = number_or_percent(name, value)
    check_positive("tolerance", number)
    return ShareOfRarer(number) if percent else number


def tolerated(tolerance: Tolerance, whole: Judgeable | Joint) -> float:
    """Return a tolerance as a number: one that is relative is a share of the extent."""
    if isinstance(tolerance, ShareOfRarer):
        return tolerance.share * _kind_and_extent(whole)[1]
    return tolerance


def default_tolerance(whole: Judgeable | Joint) -> float:
    """Largest acceptable error when nobody says: 0.02, or a tenth of the rarer outcome.

    Of means 2 % of the range of outcomes.

    Examples
    --------
    >>> default_tolerance(Joint.from_counts([0.01], [1000], [10]))
    0.001
    """
    kind, extent = _kind_and_extent(whole)
    return kind.default_tolerance(extent)


def _kind_and_extent(whole: Judgeable | Joint) -> tuple[Kind, float]:
    if isinstance(whole, Joint):
        return BINARY, rarer_share(whole)
    return whole.kind, whole.extent


def rarer_share(joint: Joint) -> float:
    """Share of the rarer outcome; if only one was seen the other has one row of two more."""
    rarer = min(joint.base_rate, 1 - joint.base_rate)
    return rarer if rarer > 0 else 1 / (joint.row_count + 2)

"""What a judgement depends on beside the data, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from calibrant.options import as_generator, check_share, check_within, enough_draws


@dataclass(frozen=True, slots=True)
class Settings:
    """Confidence, draws, tolerance and source of randomness of a test, interval or verdict."""

    confidence: float = 0.95
    draws: int = 999
    """Redraws of outcomes, and random multipliers of residuals: as many as `confidence` needs."""
    tolerance: float | None = None
    """Error that is small enough; None where the data decide."""
    gap_tolerance: float | None = None
    """Typical gap that is small enough; None for twice the tolerance."""
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    seed: int | None = None
    """The seed of the source, if it was given as one."""

    @classmethod
    def read(
        cls,
        *,
        confidence: float = 0.95,
        draws: int = 999,
        tolerance: float | None = None,
        gap_tolerance: float | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> Settings:
        """Check what a caller chose."""
        draws = enough_draws(draws, confidence)
        if tolerance is not None:
            check_share("tolerance", tolerance)
        if gap_tolerance is not None:
            check_within("gap_tolerance", gap_tolerance, 0, 1)
        seed = rng if isinstance(rng, int) else None
        return cls(confidence, draws, tolerance, gap_tolerance, as_generator(rng), seed)

    def again(self, seed: int) -> Settings:
        """Judge with a source of randomness that starts at a seed."""
        return replace(self, rng=np.random.default_rng(seed), seed=seed)

    def within(self, tolerance: float) -> Settings:
        """Judge by another tolerance, with the same source of randomness."""
        return replace(self, tolerance=tolerance)

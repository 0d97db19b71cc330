"""Kaplan-Meier and Aalen-Johansen estimates from times that may be censored.

Where an event and a censoring fall on the same time, the event comes first: a row that is censored
at a time was still at risk of events at that time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats, Indices


@dataclass(frozen=True, slots=True)
class RiskTable:
    """Weights of what happened at each distinct time."""

    time: Floats
    """Increasing."""
    at_risk: Floats
    """Rows whose time is this one or later."""
    of_interest: Floats
    """Rows with the event of interest."""
    events: Floats
    """Rows with any event."""
    censored: Floats

    @classmethod
    def of(cls, duration: Floats, event: Indices, weight: Floats) -> RiskTable:
        """Count rows by their times."""
        time, place = np.unique(duration, return_inverse=True)

        def counted(which: Floats) -> Floats:
            return np.asarray(np.bincount(place, which, time.size), dtype=np.float64)

        events = counted(weight * (event > 0))
        censored = counted(weight * (event == 0))
        # Summed from the last time on, so that what is left at the end is not a rounding error.
        at_risk = np.cumsum((events + censored)[::-1])[::-1]
        return cls(time, at_risk, counted(weight * (event == 1)), events, censored)

    def uncensored_before(self) -> Floats:
        """Chance of not being censored before each time, and one more entry: after the last."""
        # From the rows that stay, not as one minus those that leave: what stays may be a tiny part.
        # Whoever is censored at the last time leaves nobody, exactly zero.
        stay = np.append(self.at_risk[1:], 0.0)
        lost = self.censored > 0
        factor = np.divide(stay, self.censored + stay, out=np.ones_like(stay), where=lost)
        return np.append(1.0, np.cumprod(factor))

    def incidence(self, horizon: float) -> tuple[float, float, float]:
        """Chance of the event of interest by a time, its variance, and who is at risk after it.

        Aalen and Johansen (1978), which is one minus Kaplan-Meier if there is but one cause. The
        variance is that of the delta method (Dinse and Larson 1986), Greenwood's for one cause.
        """
        until = int(np.searchsorted(self.time, horizon, side="right"))
        n, d, d1 = self.at_risk[:until], self.events[:until], self.of_interest[:until]
        after = np.cumprod(1 - d / n)
        before = np.append(1.0, after[:-1])[:until]
        grown = np.cumsum(before * d1 / n)
        chance = float(grown[-1]) if until else 0.0
        rest = chance - grown
        left = n * (n - d)
        # Nobody is left after the last time, and nothing of the chance either.
        first = np.divide(d, left, out=np.zeros_like(d), where=(left > 0) & (rest > 0))
        variance = (
            (rest**2 * first).sum()
            + (before**2 * d1 * (n - d1) / n**3).sum()
            - 2 * (rest * before * d1 / n**2).sum()
        )
        known = self.at_risk[until:].max(initial=0.0)
        exactly = until > 0 and self.time[until - 1] == horizon
        if exactly:
            known += self.censored[until - 1]
        return chance, max(float(variance), 0.0), float(known)

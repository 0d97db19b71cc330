"""Known universes of statements, of which some are true, and models that write them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Universe:
    """Statements 0, 1, ...; the masses of the true ones, and what was seen of them."""

    truth: np.ndarray
    """Mass of each statement; 0 for what is false."""
    seen: np.ndarray
    """How many documents state each."""

    @property
    def unseen_mass(self) -> float:
        return float(self.truth[self.seen == 0].sum())

    def falsehoods(self, model: np.ndarray) -> float:
        """How often a model states what is false."""
        return float(model[self.truth == 0].sum())

    def calibrated(self) -> np.ndarray:
        """Good and Turing's masses of facts seen up to five times, frequencies beyond.

        What was seen once says how much goes to the unseen, evenly.
        """
        n, counts = self.seen.sum(), np.bincount(self.seen, minlength=8)
        mass = self.seen / n
        for often in range(6):
            if counts[often]:
                mass[self.seen == often] = (often + 1) * counts[often + 1] / (n * counts[often])
        return mass / mass.sum()

    def memorised(self) -> np.ndarray:
        return self.seen / self.seen.sum()

    def mixed(self) -> np.ndarray:
        return 0.7 * self.memorised() + 0.3 / self.truth.size


def universe(rng, documents=1000, true=2000, false_each=99, shape="zipf") -> Universe:
    """Which statements are true is chosen at random: facts follow no rule."""
    mass = 1 / np.arange(1, true + 1) if shape == "zipf" else np.ones(true)
    truth = np.zeros(true * (1 + false_each))
    truth[rng.choice(truth.size, true, replace=False)] = mass / mass.sum()
    seen = np.bincount(rng.choice(truth.size, documents, p=truth), minlength=truth.size)
    return Universe(truth, seen)

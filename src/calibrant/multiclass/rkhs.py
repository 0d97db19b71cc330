"""Kernels between distributions over classes: all pairs exactly, or features of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Protocol

import numpy as np

from calibrant._base.arrays import NUMBERS_AT_ONCE, Floats

# Frequencies of the narrowest kernels, kept from infinity.
MOST_FREQUENT = 1e300


class ClassKernel(Protocol):
    """A kernel k(p, q) between distributions; tests are vectors of functions of its space."""

    def pairs(self, first: Floats, second: Floats) -> Floats:
        """Kernel of all pairs of rows."""
        ...

    def diagonal(self, probability: Floats) -> Floats:
        """Kernel of each row with itself."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceClassKernel:
    """exp(-TV(p, q) / bandwidth), TV half the sum of absolute differences."""

    bandwidth: float

    def pairs(self, first: Floats, second: Floats) -> Floats:
        """Kernel of all pairs of rows."""
        from scipy.spatial.distance import cdist

        distance: Floats = cdist(first, second, "cityblock")
        with np.errstate(over="ignore"):  # far apart, for the narrowest kernels
            return np.exp(distance / (-2 * self.bandwidth))

    def diagonal(self, probability: Floats) -> Floats:
        """Kernel of each row with itself: one."""
        return np.ones(probability.shape[0])

    def frequencies(self, count: int, classes: int, rng: np.random.Generator) -> Floats:
        """Random frequencies whose mean cosine is the kernel: Cauchy, one column each."""
        with np.errstate(over="ignore"):
            drawn = rng.standard_cauchy((classes, count)) / (2 * self.bandwidth)
        return np.clip(drawn, -MOST_FREQUENT, MOST_FREQUENT)


@dataclass(frozen=True, slots=True)
class MultinomialKernel:
    """Sum of <p, q>^j for j up to the degree."""

    degree: int

    def pairs(self, first: Floats, second: Floats) -> Floats:
        """Kernel of all pairs of rows."""
        return self._sum_of_powers(first @ second.T)

    def diagonal(self, probability: Floats) -> Floats:
        """Kernel of each row with itself."""
        return self._sum_of_powers(np.einsum("ij,ij->i", probability, probability))

    def feature_count(self, classes: int) -> int:
        """Count the monomials up to the degree."""
        return comb(classes + self.degree, self.degree)

    def _sum_of_powers(self, inner: Floats) -> Floats:
        total = np.ones_like(inner)
        for _ in range(self.degree):
            total = 1 + inner * total
        return total


def monomials(probability: Floats, degree: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """Every monomial up to the degree, by its classes with repetition, at each row."""
    for size in range(degree + 1):
        for chosen in combinations_with_replacement(range(probability.shape[1]), size):
            yield chosen, probability[:, list(chosen)].prod(axis=1)


def multiplicity(chosen: tuple[int, ...]) -> float:
    """Multinomial coefficient of a monomial: how often it is in a power of a sum."""
    repeats = np.unique(chosen, return_counts=True)[1] if chosen else ()
    orders = factorial(len(chosen))
    for count in repeats:
        orders //= factorial(int(count))
    return float(orders)


def exact_square(kernel: ClassKernel, probability: Floats, residual_mass: Floats) -> float:
    """Sum over all pairs of <m, m'> k(p, p'), m the residual mass, in blocks of rows."""
    rows = probability.shape[0]
    part = max(1, NUMBERS_AT_ONCE // rows)
    total = 0.0
    for start in range(0, rows, part):
        block = slice(start, start + part)
        # Rows after the block are met as its partners: each pair of blocks counts twice.
        near = kernel.pairs(probability[block], probability[block])
        total += float(np.vdot(residual_mass[block], near @ residual_mass[block]))
        if start + part < rows:
            later = kernel.pairs(probability[block], probability[start + part :])
            total += 2 * float(np.vdot(residual_mass[block], later @ residual_mass[start + part :]))
    return total


def feature_squares(frequency: Floats, probability: Floats, residual_mass: Floats) -> Floats:
    """For each random frequency the squared length of the residual mass turned by it.

    Their mean over frequencies is the sum over pairs of <m, m'> k(p, p'), m the residual mass.
    """
    rows = probability.shape[0]
    cosine = np.zeros((frequency.shape[1], residual_mass.shape[1]))
    sine = np.zeros_like(cosine)
    part = max(1, NUMBERS_AT_ONCE // frequency.shape[1])
    for start in range(0, rows, part):
        block = slice(start, start + part)
        angle = probability[block] @ frequency
        cosine += np.cos(angle).T @ residual_mass[block]
        sine += np.sin(angle).T @ residual_mass[block]
    return np.asarray((cosine**2).sum(axis=1) + (sine**2).sum(axis=1))

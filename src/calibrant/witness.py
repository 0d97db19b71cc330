"""Witnesses: the best distinguishers that measures find, as functions of the prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from calibrant.joint import Joint
from calibrant.joint.gate import Floats
from calibrant.words import region_sentence


class Witness(Protocol):
    """The best distinguisher a measure found: a function of the prediction."""

    @property
    def sentence(self) -> str:
        """What it found, in words."""
        ...

    def __call__(self, prediction: object) -> Floats:
        """Value of the distinguisher at each prediction."""
        ...

    def advantage(self, joint: Joint) -> float:
        """E[w(p) (y - p)]: how well it tells the outcomes from coins of the predicted bias."""
        ...


class _Function:
    """A function of the prediction and its advantage."""

    __slots__ = ()

    def __call__(self, prediction: object) -> Floats:
        raise NotImplementedError

    def advantage(self, joint: Joint) -> float:
        """E[w(p) (y - p)]."""
        return float(np.sum(self(joint.prediction) * joint.mass * joint.residual))


@dataclass(frozen=True, slots=True)
class LinearWitness(_Function):
    """A piecewise linear function, constant beyond its first and last knot."""

    knot: Floats
    value: Floats
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Interpolate between the knots."""
        return np.interp(np.asarray(prediction, dtype=np.float64), self.knot, self.value)


@dataclass(frozen=True, slots=True)
class LearnedWitness(LinearWitness):
    """A test learned on some rows, with its p-value on others."""

    pvalue: float


@dataclass(frozen=True, slots=True)
class StepWitness(_Function):
    """A function with one value on each of some disjoint closed intervals, zero elsewhere."""

    low: Floats
    high: Floats
    value: Floats
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Value of the interval that holds each prediction."""
        at = np.asarray(prediction, dtype=np.float64)
        index = np.maximum(np.searchsorted(self.low, at, side="right") - 1, 0)
        inside = (at >= self.low[index]) & (at <= self.high[index])
        return np.where(inside, self.value[index], 0.0)


@dataclass(frozen=True, slots=True)
class DecayWitness(_Function):
    """A sum of exponentials that decay to both sides of the knots."""

    knot: Floats
    below: Floats
    """Sum at each knot of what comes from there and below."""
    above: Floats
    """Sum at each knot of what comes from there and above."""
    bandwidth: float
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Discount the nearest knots on both sides."""
        at = np.asarray(prediction, dtype=np.float64)
        before = np.searchsorted(self.knot, at, side="right") - 1
        after = before + 1
        value = np.zeros_like(at)
        has_before, has_after = before >= 0, after < self.knot.size
        left, right = np.maximum(before, 0), np.minimum(after, self.knot.size - 1)
        value += np.where(
            has_before, self.below[left] * np.exp((self.knot[left] - at) / self.bandwidth), 0.0
        )
        return value + np.where(
            has_after, self.above[right] * np.exp((at - self.knot[right]) / self.bandwidth), 0.0
        )


@dataclass(frozen=True, slots=True)
class SeriesWitness(_Function):
    """A polynomial, by coefficients of Chebyshev polynomials on [0, 1] or of powers."""

    coefficient: Floats
    basis: str
    sentence: str

    @classmethod
    def describe(cls, joint: Joint, coefficient: Floats, basis: str = "chebyshev") -> Self:
        """Make a witness and say what it found on a Joint."""
        at_levels = cls(coefficient, basis, "")(joint.prediction)
        return cls(coefficient, basis, region_sentence(joint, at_levels))

    def __call__(self, prediction: object) -> Floats:
        """Evaluate the polynomial."""
        at = np.asarray(prediction, dtype=np.float64)
        if self.basis == "powers":
            return np.asarray(np.polynomial.polynomial.polyval(at, self.coefficient))
        return np.asarray(np.polynomial.chebyshev.chebval(2 * at - 1, self.coefficient))


@dataclass(frozen=True, slots=True)
class PairedWitness(_Function):
    """A sum of kernels at the knots."""

    knot: Floats
    weight: Floats
    kernel: Callable[[Floats, Floats], Floats]
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Add up the kernels."""
        at = np.asarray(prediction, dtype=np.float64)
        return np.asarray(self.kernel(at[..., np.newaxis], self.knot) @ self.weight)


@dataclass(frozen=True, slots=True)
class FunctionWitness(_Function):
    """A function given by somebody, with a sign."""

    function: Callable[[Floats], object]
    sign: float
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Evaluate the function."""
        at = np.asarray(prediction, dtype=np.float64)
        return self.sign * np.asarray(self.function(at), dtype=np.float64)

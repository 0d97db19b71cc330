"""Witnesses: what attains a value, as a function of the prediction.

Most are distinguishers, tests of the predictions; the distances show where predictions should move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant.joint import Joint
from calibrant.measures.regions import region_sentence


class Witness(Protocol):
    """What attains a value: the best distinguisher, or the best map of the predictions."""

    @property
    def sentence(self) -> str:
        """What it found, in words."""
        ...

    def __call__(self, prediction: object) -> Floats:
        """Value of the function at each prediction."""
        ...

    def advantage(self, joint: Joint) -> float:
        """Return what it attains: E[w(p) (y - p)] for a test, the distance moved for a map."""
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
class GridWitness(LinearWitness):
    """The sign of the bias of a prediction's interval, averaged over shifts of a grid."""

    width: float
    """Width of the intervals, a price that counts as well."""

    def advantage(self, joint: Joint) -> float:
        """E[w(p) (y - p)] plus the width."""
        return _Function.advantage(self, joint) + self.width


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


@dataclass(frozen=True, slots=True)
class PotentialWitness:
    """A game that no calibrated Joint can win: a(p) is paid for outcome 1 and b(p) for outcome 0.

    Both change by at most as much as p, and u a(u) + (1 - u) b(u) <= 0 for every u, so a Joint at
    distance d from a calibrated one gains at most d. As a function it is a - b, the stake on the
    outcome.
    """

    knot: Floats
    one: Floats
    """What is paid for outcome 1 at the knots, linear in between."""
    zero: Floats
    """What is paid for outcome 0 at the knots."""
    calibrated: Joint
    """A calibrated Joint whose distance is the value."""
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Stake on the outcome."""
        return self.payment(prediction, 1) - self.payment(prediction, 0)

    def payment(self, prediction: object, outcome: int) -> Floats:
        """Pay for an outcome at each prediction."""
        at = np.asarray(prediction, dtype=np.float64)
        return np.interp(at, self.knot, self.one if outcome else self.zero)

    def advantage(self, joint: Joint) -> float:
        """Mean payment."""
        gain = joint.outcome * self.payment(joint.prediction, 1)
        gain += (1 - joint.outcome) * self.payment(joint.prediction, 0)
        return float(gain @ joint.mass)


@dataclass(frozen=True, slots=True)
class MapWitness:
    """A map of predictions; between knots it is that of the knot below."""

    knot: Floats
    value: Floats
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Where predictions move."""
        at = np.asarray(prediction, dtype=np.float64)
        return self.value[np.maximum(np.searchsorted(self.knot, at, side="right") - 1, 0)]

    def advantage(self, joint: Joint) -> float:
        """Mean distance moved."""
        return float(np.abs(self(joint.prediction) - joint.prediction) @ joint.mass)


@dataclass(frozen=True, slots=True)
class PartitionWitness:
    """A partition into intervals; as a function, the mean outcome of each (canonical predictor)."""

    start: Floats
    """Smallest prediction of each interval, which reaches up to the next start."""
    value: Floats
    """Mean outcome in each interval."""
    width: float
    """Length of the longest interval."""
    attained: bool
    """False if only partitions ever closer to this one come ever closer to the value."""
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Mean outcome of the interval of each prediction."""
        return self.value[self.pool_of(prediction)]

    def advantage(self, joint: Joint) -> float:
        """Sum of the absolute biases of the intervals, plus the width."""
        bias = np.bincount(self.pool_of(joint.prediction), joint.mass * joint.residual)
        return float(np.abs(bias).sum()) + self.width

    def pool_of(self, prediction: object) -> Indices:
        """Index of the interval of each prediction."""
        at = np.asarray(prediction, dtype=np.float64)
        return np.maximum(np.searchsorted(self.start, at, side="right") - 1, 0)


@dataclass(frozen=True, slots=True)
class AssignmentWitness:
    """A prediction for each individual; as a function, the mean over those with a prediction."""

    individual: npt.NDArray[Any]
    """Labels of the individuals, or the numbers of the rows."""
    prediction: Floats
    """What was predicted for each, ascending."""
    value: Floats
    """Where each of them moves."""
    distance: float
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Mean of where individuals with such a prediction move."""
        first = np.flatnonzero(np.diff(self.prediction, prepend=-1.0))
        count = np.diff(np.append(first, self.prediction.size))
        mean = np.add.reduceat(self.value, first) / count
        return MapWitness(self.prediction[first], mean, self.sentence)(prediction)

    def advantage(self, joint: Joint) -> float:  # noqa: ARG002
        """Mean distance moved by the individuals it was found for, whatever the Joint."""
        return self.distance

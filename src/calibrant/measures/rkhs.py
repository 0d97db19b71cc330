"""Reproducing kernels: quadratic form, best test of norm one, and what rounding may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

import calibrant._kernels as compiled
from calibrant._base.arrays import Floats
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.draws import exact_levels, refuse_mean_outcomes
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import DecayWitness, PairedWitness, SeriesWitness, Witness

# A kernel without a fast form compares all pairs of levels.
MOST_PAIRED_LEVELS = 4096
# Sums of squared moments of the powers are as exact for any degree; this bounds time and memory.
MOST_POWERS = 1024
# Narrower Gaussian kernels would need more polynomials than this.
MOST_POLYNOMIALS = 4096


class Kernel(Protocol):
    """What the kernel calibration error needs to know of a kernel."""

    def square(self, joint: Joint) -> tuple[float, float]:
        """Squared error, and a bound on how far it is from exact."""
        ...

    def forms(self, prediction: Floats, residual_masses: Floats) -> Floats:
        """Squared errors of residual masses (one row each) at the predictions."""
        ...

    def witness(self, joint: Joint) -> Witness:
        """Best test of norm one."""
        ...

    def diagonal(self, prediction: Floats) -> Floats:
        """K(v, v)."""
        ...

    def modulus(self, rounding: float) -> float:
        """Bound on the change of the error when cell means replace predictions."""
        ...


def _residual_mass(joint: Joint) -> Floats:
    return joint.mass * joint.residual


@dataclass(frozen=True, slots=True)
class LaplaceKernel:
    """exp(-|u - v| / bandwidth)."""

    bandwidth: float

    def square(self, joint: Joint) -> tuple[float, float]:
        """Squared error, exact."""
        form = compiled.laplace_form(
            joint.prediction, joint.weight, joint.positives, self.bandwidth
        )
        return form / joint.total**2, 0.0

    def forms(self, prediction: Floats, residual_masses: Floats) -> Floats:
        """Squared errors of residual masses, exact."""
        none = np.zeros(prediction.size)
        return compiled.laplace_forms(prediction, none, residual_masses, self.bandwidth)

    def witness(self, joint: Joint) -> DecayWitness:
        """Sum of kernels at the levels: it decays from both sides between two of them."""
        below, above = compiled.laplace_sides(
            joint.prediction, joint.weight, joint.positives, self.bandwidth
        )
        scale = np.sqrt(self.square(joint)[0]) * joint.total or 1.0
        at_levels = (below + above) / scale - _residual_mass(joint) * joint.total / scale
        return DecayWitness(
            joint.prediction,
            below / scale,
            above / scale,
            self.bandwidth,
            region_sentence(joint, at_levels),
        )

    def diagonal(self, prediction: Floats) -> Floats:
        """K(v, v) = 1."""
        return np.ones_like(prediction)

    def modulus(self, rounding: float) -> float:
        """Bound the change: tests of norm one vary by at most sqrt(2 |u - v| / bandwidth)."""
        return float(np.sqrt(2 * rounding / self.bandwidth))


@dataclass(frozen=True, slots=True)
class GaussianKernel:
    """exp(-(u - v)^2 / (2 bandwidth^2)), interpolated in Chebyshev polynomials.

    Where it is too narrow for that, all pairs of levels are summed.
    """

    bandwidth: float

    def square(self, joint: Joint) -> tuple[float, float]:
        """Squared error through the Chebyshev moments of the residuals, with its error."""
        size = float(np.abs(_residual_mass(joint)).sum())
        found = self._nodes()
        if found is None:
            square = self._by_pairs(len(joint)).square(joint)[0]
            return square, _rounding_of_pairs(len(joint)) * size**2
        nodes, error = found
        residual_mass = _interpolated_residuals(joint, nodes)
        square = float(residual_mass @ self(nodes[:, np.newaxis], nodes) @ residual_mass)
        return square, (error + _rounding_error(nodes.size)) * size**2

    def forms(self, prediction: Floats, residual_masses: Floats) -> Floats:
        """Squared errors of residual masses, interpolated at the nodes."""
        found = self._nodes()
        if found is None:
            return self._by_pairs(prediction.size).forms(prediction, residual_masses)
        nodes, _ = found
        moments = residual_masses @ _chebyshev_at(prediction, nodes.size).T
        at_nodes = moments @ _interpolation(nodes)
        return np.asarray(
            np.einsum("bi,ij,bj->b", at_nodes, self(nodes[:, np.newaxis], nodes), at_nodes)
        )

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Evaluate the kernel."""
        with np.errstate(over="ignore"):  # far apart, for the narrowest kernels
            return np.exp(-(((first - second) / self.bandwidth) ** 2) / 2)

    def witness(self, joint: Joint) -> SeriesWitness | PairedWitness:
        """Sum of kernels at the levels, as a Chebyshev series where there is one."""
        found = self._nodes()
        if found is None:
            return self._by_pairs(len(joint)).witness(joint)
        nodes, _ = found
        at_nodes = self(nodes[:, np.newaxis], nodes) @ _interpolated_residuals(joint, nodes)
        scale = np.sqrt(max(0.0, self.square(joint)[0])) or 1.0
        return SeriesWitness.describe(joint, _interpolation(nodes) @ at_nodes / scale)

    def diagonal(self, prediction: Floats) -> Floats:
        """K(v, v) = 1."""
        return np.ones_like(prediction)

    def modulus(self, rounding: float) -> float:
        """Bound the change: tests of norm one have slope at most 1 / bandwidth."""
        return rounding / self.bandwidth

    def _by_pairs(self, levels: int) -> PairedKernel:
        if levels > MOST_PAIRED_LEVELS:
            raise InvalidOptionError(
                f"a Gaussian kernel this narrow takes at most {MOST_PAIRED_LEVELS} levels",
                f"bandwidth {self.bandwidth} and {levels} levels",
                "use the Laplace kernel, a bandwidth of 0.002 or more, or round the predictions "
                f"first: Joint.rounded({MOST_PAIRED_LEVELS})",
            )
        return PairedKernel(self)

    def _nodes(self) -> tuple[Floats, float] | None:
        """Chebyshev nodes on [0, 1] that interpolate the kernel to rounding, and the error.

        In the Bernstein ellipse with parameter r the kernel is at most exp(b^2 / (8 bandwidth^2))
        with b = (r - 1/r) / 2, so interpolation of degree N in one variable errs by at most
        4 exp(...) r^-N / (r - 1) (Trefethen 2013, Theorem 8.2), and in both by that times one
        plus the Lebesgue constant. None where the kernel is too narrow.
        """
        r = 1 + np.geomspace(1e-3, 1e3, 400)
        with np.errstate(over="ignore"):
            growth = ((r - 1 / r) / self.bandwidth) ** 2 / 32
        for count in (16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, MOST_POLYNOMIALS):
            exponent = np.min(growth - (count - 1) * np.log(r) - np.log(r - 1))
            if exponent > 0:
                continue
            error = float(4 * np.exp(exponent) * (2 + _lebesgue_constant(count)))
            if error <= 1e-15:
                angles = (np.arange(count) + 0.5) * np.pi / count
                return (1 + np.cos(angles)) / 2, error
        return None


@dataclass(frozen=True, slots=True)
class PolynomialKernel:
    """The sum of (u v)^j for j up to the degree: coefficients of norm one in the powers."""

    degree: int

    def square(self, joint: Joint) -> tuple[float, float]:
        """Sum of squared moments, exact."""
        moments = self._moments(joint)
        return float(moments @ moments), 0.0

    def forms(self, prediction: Floats, residual_masses: Floats) -> Floats:
        """Add up squared moments of residual masses."""
        moments = residual_masses @ np.vander(prediction, self.degree + 1)
        return np.asarray((moments**2).sum(axis=1))

    def witness(self, joint: Joint) -> SeriesWitness:
        """Polynomial with coefficients proportional to the moments."""
        moments = self._moments(joint)
        scale = np.linalg.norm(moments) or 1.0
        return SeriesWitness.describe(joint, moments / scale, basis="powers")

    def diagonal(self, prediction: Floats) -> Floats:
        """K(v, v)."""
        return np.asarray(np.polynomial.polynomial.polyval(prediction**2, np.ones(self.degree + 1)))

    def modulus(self, rounding: float) -> float:
        """Bound the change: coefficients of norm one give slope at most sqrt(sum j^2)."""
        return rounding * float(np.linalg.norm(np.arange(self.degree + 1)))

    def _moments(self, joint: Joint) -> Floats:
        return power_moments(joint, self.degree)


@dataclass(frozen=True, slots=True)
class PairedKernel:
    """Any kernel, by all pairs of levels."""

    function: Callable[[Floats, Floats], Floats]

    def square(self, joint: Joint) -> tuple[float, float]:
        """Squared error over all pairs."""
        square = float(self.forms(joint.prediction, _residual_mass(joint)[np.newaxis, :])[0])
        return max(0.0, square), 0.0

    def forms(self, prediction: Floats, residual_masses: Floats) -> Floats:
        """Squared errors of residual masses over all pairs."""
        if prediction.size > MOST_PAIRED_LEVELS:
            raise InvalidOptionError(
                f"a kernel given as a function takes at most {MOST_PAIRED_LEVELS} levels",
                f"{prediction.size}",
                "round the predictions first: Joint.rounded(4096)",
            )
        return np.asarray(
            np.sum(
                residual_masses @ self._between(prediction, prediction) * residual_masses, axis=1
            )
        )

    def witness(self, joint: Joint) -> PairedWitness:
        """Sum of kernels at the levels."""
        scale = np.sqrt(self.square(joint)[0]) or 1.0
        residual = _residual_mass(joint) / scale
        at_levels = self._between(joint.prediction, joint.prediction) @ residual
        return PairedWitness(
            joint.prediction, residual, self.function, region_sentence(joint, at_levels)
        )

    def diagonal(self, prediction: Floats) -> Floats:
        """K(v, v)."""
        return self._called(prediction, prediction)

    def modulus(self, rounding: float) -> float:
        """Nothing is known of a kernel given as a function."""
        return 0.0 if rounding == 0 else np.inf

    def _between(self, first: Floats, second: Floats) -> Floats:
        return self._called(first[:, np.newaxis], second)

    def _called(self, first: Floats, second: Floats) -> Floats:
        """Call a function that may not have been written for arrays."""
        shape = np.broadcast_shapes(first.shape, second.shape)
        try:
            values = np.asarray(self.function(first, second), dtype=np.float64)
            found = f"shape {values.shape} instead of {shape}"
        except (TypeError, ValueError) as error:
            values, found = np.empty(0), str(error)
        if values.shape != shape or not np.isfinite(values).all():
            raise InvalidOptionError(
                "kernel must be a function of two arrays that broadcasts to finite numbers",
                found if values.shape != shape else "values that are not finite",
                "wrap it: numpy.vectorize(kernel)",
            )
        return values


def without_own_pairs(joint: Joint, diagonal: Floats, square: float) -> float:
    """Leave pairs of a row with itself out of the mean over all pairs (a U-statistic).

    `diagonal` is K(v, v) at the levels, `square` the squared error with all pairs.
    """
    refuse_mean_outcomes(joint)
    if joint.row_count < 2:
        raise InferenceRefusedError("an unbiased estimate needs two rows", "one row")
    if not exact_levels(joint).all():
        raise InferenceRefusedError(
            "an unbiased estimate needs rows of one prediction to weigh the same",
            "different weights within a level",
            "leave the weights out, or use unbiased=False",
        )
    row_weight = joint.weight / joint.rows
    ones = joint.positives / row_weight
    zeros = joint.rows - ones
    v = joint.prediction
    own = row_weight**2 * (ones * (1 - v) ** 2 + zeros * v**2) * diagonal
    total = joint.total
    own_pairs, all_pairs = float(joint.weight_squares.sum()), total * total
    return (all_pairs * square - float(own.sum())) / (all_pairs - own_pairs)


def power_moments(joint: Joint, degree: int) -> Floats:
    """E[p^j (y - p)] for j = 0 .. degree."""
    moments = compiled.power_moments(joint.prediction, joint.weight, joint.positives, degree + 1)
    return moments / joint.total


def chebyshev_moments(joint: Joint, degree: int) -> Floats:
    """E[T_k(2 p - 1) (y - p)] for k = 0 .. degree."""
    moments = compiled.chebyshev_moments(
        joint.prediction, joint.weight, joint.positives, degree + 1
    )
    return moments / joint.total


def _chebyshev_at(prediction: Floats, count: int) -> Floats:
    """Chebyshev polynomials of degree below `count` (rows) at predictions (columns)."""
    return np.asarray(np.polynomial.chebyshev.chebvander(2 * prediction - 1, count - 1).T, float)


def _interpolation(nodes: Floats) -> Floats:
    """Chebyshev series (rows) of functions given by their values at the Chebyshev nodes."""
    series = _chebyshev_at(nodes, nodes.size) * (2 / nodes.size)
    series[0] /= 2
    return series


def _interpolated_residuals(joint: Joint, nodes: Floats) -> Floats:
    """Residual at each Chebyshev node after interpolation."""
    return np.asarray(chebyshev_moments(joint, nodes.size - 1) @ _interpolation(nodes))


def _lebesgue_constant(count: int) -> float:
    """Bound for Chebyshev nodes."""
    return float(1 + 2 / np.pi * np.log(count))


def _rounding_error(count: int) -> float:
    """Bound on what rounding of the moments adds to the form, per squared mass of residuals."""
    unit = 2.0**-53
    moment = (512 + 4 * count) * unit
    return 4 * _lebesgue_constant(count) * count * moment


def _rounding_of_pairs(levels: int) -> float:
    """Bound on what rounding adds to a sum over all pairs, per squared mass of residuals.

    Two sums of as many terms as there are levels, and kernels that err by a few units.
    """
    return (2 * levels + 16) * 2.0**-53

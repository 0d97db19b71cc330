"""Masses on even nodes of [0, 1], smoothed by a Gaussian that is reflected at both ends.

The cosines of a Gaussian are known, so smoothing multiplies a cosine series, term by term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant.arrays import Floats, small_product

# The first cosines of few masses are summed one by one, which takes less than a transform of all
# nodes. Both numbers are powers of two.
FIRST_COSINES, COSINE_BLOCK = 2**9, 2**6
# A series is drawn with at least so many nodes to a cosine before its sum over more is closed.
OVERSAMPLING = 16
# With fewer nodes to a cosine than this, all nodes are evaluated.
MANY_NODES = 16 * OVERSAMPLING
# Heights below this share of the largest do not show in their sum.
INVISIBLE = 1e-16
# Of a Gaussian as wide as this only the mean is left.
WIDEST = 1e3


def shared_out(mass: Floats, place: Floats, nodes: int) -> Floats:
    """Give each mass to the two nodes around its place, the nearer the more."""
    return kernels.share_out(mass, place, nodes)


def cosines_of(charge: Floats) -> Floats:
    """Sum the charges of the nodes j / n times cos(k pi j / n), for k = 0 .. n."""
    halved = charge / 2
    halved[..., [0, -1]] *= 2
    # A cosine transform is the Fourier transform of the even extension.
    even = np.concatenate([halved, halved[..., -2:0:-1]], axis=-1)
    return np.ascontiguousarray(np.fft.rfft(even).real)


def smoothed(cosines: Floats, width: float, nodes: int) -> Floats:
    """Smooth with a Gaussian reflected at 0 and 1 and evaluate at the nodes j / nodes."""
    return evaluated(damped(cosines, width, nodes), nodes)


def terms_shown(width: float) -> int:
    """Count the cosines that show: beyond exp(-40) the damped coefficients do not."""
    return int(math.sqrt(80) / (math.pi * width)) + 2


def damped(cosines: Floats, width: float, nodes: int) -> Floats:
    """Smooth with a Gaussian reflected at 0 and 1: the coefficients that show."""
    last = min(nodes, cosines.shape[-1], terms_shown(width))
    frequency = np.pi * min(width, WIDEST) * np.arange(last)
    return cosines[..., :last] * np.exp(-(frequency**2) / 2)


def evaluated(series: Floats, nodes: int) -> Floats:
    """Evaluate a cosine series at the nodes j / nodes."""
    return np.asarray(np.fft.hfft(series, 2 * nodes)[..., : nodes + 1])


def mean_height(series: Floats, nodes: int) -> float:
    """Mean absolute value of a short cosine series over many nodes, the outer ones halved.

    The mean of the series itself is its first coefficient, so that only what is negative has to be
    found. Fewer nodes show its sign; between two of them of one sign, farther from zero than twice
    what the curvature can do, it keeps that sign, and sums of cosines over a run of nodes are
    differences of sines. Between all others every node is looked at.
    """
    drawn = 1 << (OVERSAMPLING * series.size - 1).bit_length()
    step = nodes // drawn
    height = evaluated(series, drawn)
    size = np.abs(height)
    bend = np.empty(drawn + 1)  # the series is even at both ends
    bend[1:-1] = np.abs(height[2:] - 2 * height[1:-1] + height[:-2])
    bend[0], bend[-1] = 2 * np.abs(height[1] - height[0]), 2 * np.abs(height[-2] - height[-1])
    # |h - chord| <= step^2 |h''| / 8; the second differences stand for the second derivative.
    reach = np.maximum(bend[:-1], bend[1:]) / 4
    near = np.minimum(size[:-1], size[1:])
    minus = height < 0
    clear = (minus[:-1] == minus[1:]) & ((near > reach) | (near <= INVISIBLE * size.max()))
    counted = np.where(minus, height, 0.0)
    below = float(counted.sum() - (counted[0] + counted[-1]) / 2)
    angle = np.pi / nodes * np.arange(series.size)
    doubtful = np.flatnonzero(~clear)
    if doubtful.size:
        turned = np.exp(1j * np.outer(doubtful * step, angle)) * series
        within = np.exp(1j * np.outer(angle, np.arange(1, step)))
        inner = 2 * (turned.real @ within.real - turned.imag @ within.imag) - series[0]
        below += float(np.minimum(inner, 0.0).sum())
    run = np.zeros(drawn + 2, dtype=bool)
    run[1:-1] = clear & minus[:-1]
    first, last = np.flatnonzero(run[1:] != run[:-1]).reshape(-1, 2).T
    half = angle[1:] / 2
    sines = np.sin(np.outer(2 * step * last - 1, half))
    sines -= np.sin(np.outer(2 * step * first + 1, half))
    below += float((sines @ (series[1:] / np.sin(half))).sum())
    below += float(series[0] * ((last - first) * step - 1).sum())
    # Nodes that were counted before, inside runs.
    below -= float(height[1:-1][run[1:-2] & run[2:-1]].sum())
    return float(series[0]) - 2 * below / nodes


@dataclass(frozen=True, slots=True)
class Waves:
    """Cosines of few places, on the two nodes around each, as products of two small tables."""

    coarse: npt.NDArray[np.complex128]
    fine: npt.NDArray[np.complex128]
    share: Floats
    """Share of the upper node."""

    def cosines(self, mass: Floats) -> Floats:
        """Sum masses times cos(k pi j / n) of their nodes j, for the first k."""
        shared = np.concatenate([mass * (1 - self.share), mass * self.share])
        return np.ascontiguousarray(small_product(self.coarse * shared, self.fine).real.ravel())


def waves_at(prediction: Floats, nodes: int) -> Waves:
    """Prepare the first cosines of few places."""
    place = prediction * nodes
    below = np.minimum(place.astype(np.intp), nodes - 1)
    turn = np.exp((1j * np.pi / nodes) * np.concatenate([below, below + 1]))
    fine, next_power = _powers(turn, COSINE_BLOCK)
    coarse, _ = _powers(next_power, FIRST_COSINES // COSINE_BLOCK)
    return Waves(coarse, np.ascontiguousarray(fine.T), place - below)


def _powers(
    turn: npt.NDArray[np.complex128], count: int
) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
    """Powers 0 to count - 1 of turns, one row each, and the power after them."""
    powers, factor = np.ones((1, turn.size), dtype=np.complex128), turn
    while len(powers) < count:
        powers = np.concatenate([powers, powers * factor])
        factor = factor * factor
    return powers, factor

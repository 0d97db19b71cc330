"""Kernel-smoothed calibration error (smECE): the width at which smoothed residuals balance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, small_product
from calibrant._base.options import real
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint, Rows
from calibrant.joint.sums import AnyRows, levels, node_charges
from calibrant.measures.measurement import Measurement, read_source, rounding_settings
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import LinearWitness

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


def shared_out(mass: Floats, position: Floats, nodes: int) -> Floats:
    """Give each mass to the two nodes around its position, the nearer the more."""
    return kernels.share_out(mass, position, nodes)


def cosines_of(mass: Floats) -> Floats:
    """Sum the masses of the nodes j / n times cos(k pi j / n), for k = 0 .. n."""
    halved = mass / 2
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
    bend_bound = np.maximum(bend[:-1], bend[1:]) / 4
    near = np.minimum(size[:-1], size[1:])
    minus = height < 0
    clear = (minus[:-1] == minus[1:]) & ((near > bend_bound) | (near <= INVISIBLE * size.max()))
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
    """Cosines of few positions, on the two nodes around each, as products of two small tables."""

    coarse: npt.NDArray[np.complex128]
    fine: npt.NDArray[np.complex128]
    share: Floats
    """Share of the upper node."""

    def cosines(self, mass: Floats) -> Floats:
        """Sum masses times cos(k pi j / n) of their nodes j, for the first k."""
        shared = np.concatenate([mass * (1 - self.share), mass * self.share])
        return np.ascontiguousarray(small_product(self.coarse * shared, self.fine).real.ravel())


def waves_at(prediction: Floats, nodes: int) -> Waves:
    """Prepare the first cosines of few positions."""
    position = prediction * nodes
    below = np.minimum(position.astype(np.intp), nodes - 1)
    turn = np.exp((1j * np.pi / nodes) * np.concatenate([below, below + 1]))
    fine, next_power = _powers(turn, COSINE_BLOCK)
    coarse, _ = _powers(next_power, FIRST_COSINES // COSINE_BLOCK)
    return Waves(coarse, np.ascontiguousarray(fine.T), position - below)


def _powers(
    turn: npt.NDArray[np.complex128], count: int
) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
    """Powers 0 to count - 1 of turns, one row each, and the power after them."""
    powers, factor = np.ones((1, turn.size), dtype=np.complex128), turn
    while len(powers) < count:
        powers = np.concatenate([powers, powers * factor])
        factor = factor * factor
    return powers, factor


# Residuals are shared out between this many nodes and one; the bounds say what that costs.
NODES = 2**16
# The search runs on fewer nodes; its end is measured on all of them.
SEARCH_NODES, POLISHING_NODES = 2**12, 2**14
# Rows are also summed in this many cells, to say in words what was found.
DESCRIBING_CELLS = 2**12
# A Gaussian of this many steps of the nodes damps all frequencies they cannot carry.
MOST_NARROW = 4.0
NARROWEST = MOST_NARROW / NODES
# Of so few levels the first cosines are summed one by one; narrow widths need the others too.
FEW_LEVELS = 2**9
NARROWEST_OF_FEW = math.sqrt(80) / (math.pi * (FIRST_COSINES - 2))
# The smoothed curve is drawn on the nodes of the search.
NARROWEST_CURVE = MOST_NARROW / SEARCH_NODES
# Below this width the crude size of residuals that rows give is replaced by that of the levels.
TINY = 1e-4
# The search for the width starts between this, or the least width, and the largest; errors are
# thought to fall like this before two of them are known; and logarithms end this close.
START, FIRST_SLOPE, CLOSE, MOST_STEPS = 0.01, -1.25, 1e-9, 100
# Where there is less density, no bias is drawn.
VISIBLE = 1e-9
# Integral of the absolute second derivative of a Gaussian of width one, 4 phi(1).
CURVATURE = 4 / math.sqrt(2 * math.pi * math.e)


def kernel_smoothed_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Bias that remains after smoothing, at the one width that equals it (smECE).

    Smaller is better; 0 if and only if calibrated. No bins and no bandwidth to choose.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Measurement
        In [0, 1]; `.bounds` proves where the exact value lies. The witness is the smoothed sign of
        the smoothed residuals.

    Notes
    -----
    With h_s the residuals smoothed by a Gaussian of width s, reflected at 0 and 1, the integral of
    abs(h_s) falls as s grows; the value is the s at which the two are equal. Computed through the
    cosine series of the kernel from residuals on 65 537 nodes, without a sort. Known flaw: its
    scale is its own; forecasts off by d everywhere score d, but errors that change sign score
    about the root of their smooth error.

    References
    ----------
    Blasiok, Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR.

    Examples
    --------
    >>> kernel_smoothed_calibration_error([0, 1], [0.4, 0.6])
    0.173897
    """
    smoothing = _read(y_true, y_proba, sample_weight, pos_label)
    width, low, high = smoothing.fixed_point()
    if width < TINY and isinstance(smoothing.source, Rows):
        # The bounds of so small an error need the levels themselves.
        smoothing = _of_joint(Joint.from_rows(smoothing.source))
        width, low, high = smoothing.fixed_point()
    slack = 0.0
    if isinstance(smoothing.source, Joint):
        slack = _modulus(smoothing.source.rounding, width)
    return Measurement(
        width,
        "kernel_smoothed_calibration_error",
        smoothing.settings,
        partial(smoothing.witness, width),
        bounds=(max(0.0, low - slack), high + slack),
    )


def kernel_smoothed_batch(joint: Joint, residual_masses: Floats) -> Floats:
    """Smoothed errors of residual masses (one row each) on the levels of a Joint."""
    waves = waves_at(joint.prediction, NODES) if len(joint) <= FEW_LEVELS else None
    return np.array([_of_masses(joint, mass, waves).fixed_point()[0] for mass in residual_masses])


def smoothed_curve(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    bandwidth: float | None = None,
) -> dict[str, Floats]:
    """Return the smoothed residuals behind smECE as data, for diagrams.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As for `kernel_smoothed_calibration_error`.
    bandwidth : float, optional
        Width of the Gaussian, at least 0.001; the fixed point by default.

    Returns
    -------
    dict of str to array
        Columns prediction (4097 even ones), density (of the predictions), residual (density times
        bias) and outcome (smoothed frequency: prediction plus bias; NaN where there is no density).

    Examples
    --------
    >>> curve = smoothed_curve([0, 1, 1, 0], [0.2, 0.8, 0.7, 0.4], bandwidth=0.1)
    >>> float(np.abs(curve["residual"]).mean())
    0.2511
    """
    smoothing = _read(y_true, y_proba, sample_weight, pos_label)
    width = smoothing.fixed_point()[0] if bandwidth is None else real("bandwidth", bandwidth)
    if not NARROWEST_CURVE <= width < np.inf:
        raise InvalidOptionError(
            "bandwidth must be at least 0.001 and finite",
            f"{width:g}",
            "pass a bandwidth: the fixed point of these forecasts is too narrow to draw",
        )
    joint = smoothing.described()
    position = joint.prediction * SEARCH_NODES
    mass = shared_out(joint.mass, position, SEARCH_NODES)
    density = smoothed(cosines_of(mass), width, SEARCH_NODES)
    residual = smoothed(smoothing.cosines, width, SEARCH_NODES)
    prediction = np.arange(SEARCH_NODES + 1) / SEARCH_NODES
    visible = density > VISIBLE
    bias = np.divide(residual, density, out=np.full_like(density, np.nan), where=visible)
    return {
        "prediction": prediction,
        "density": density,
        "residual": residual,
        "outcome": prediction + bias,
    }


def smoothed_bias(joint: Joint, residual_masses: Floats, bandwidth: float) -> Floats:
    """Smoothed residuals over the smoothed density, at the levels of a Joint.

    Parameters
    ----------
    joint : Joint
        The levels.
    residual_masses : float array of shape (draws, levels)
        Mass times residual of each level, one row for each sample.
    bandwidth : float
        Width of the Gaussian.
    """
    position = joint.prediction * SEARCH_NODES
    below = np.minimum(position.astype(np.intp), SEARCH_NODES - 1)
    share = position - below
    first = np.flatnonzero(np.diff(below, prepend=-1))

    def shared(mass: Floats) -> Floats:
        """Give each mass to the nodes around its level; levels ascend, so nodes come in runs."""
        at_nodes = np.zeros((*mass.shape[:-1], SEARCH_NODES + 1))
        at_nodes[..., below[first]] = np.add.reduceat(mass * (1 - share), first, axis=-1)
        at_nodes[..., below[first] + 1] += np.add.reduceat(mass * share, first, axis=-1)
        return at_nodes

    density = smoothed(cosines_of(shared(joint.mass)), bandwidth, SEARCH_NODES)
    residual = smoothed(cosines_of(shared(residual_masses)), bandwidth, SEARCH_NODES)
    bias = np.divide(residual, density, out=np.zeros_like(residual), where=density > VISIBLE)
    return np.asarray(bias[:, below] * (1 - share) + bias[:, below + 1] * share)


@dataclass(frozen=True)
class Smoothing:
    """Residuals on nodes, ready to be smoothed with any width."""

    at_nodes: Callable[[], Floats]
    """The residuals, shared out between the nodes."""
    first_cosines: Floats | None
    """The first few of their cosines, where they are known already."""
    total_residual: float
    size: float
    """Bound on E|y - p|."""
    source: Joint | AnyRows
    settings: dict[str, Any]

    @cached_property
    def cosines(self) -> Floats:
        """Cosine transform of the residuals."""
        return cosines_of(self.at_nodes())

    def described(self) -> Joint:
        """Return the forecasts, exact or in cells, for words and densities."""
        if isinstance(self.source, Joint):
            return self.source
        return Joint.from_rows(self.source, DESCRIBING_CELLS)

    def error(self, width: float, nodes: int) -> float:
        """Integrate the absolute smoothed residuals by the trapezoidal rule."""
        known = self.first_cosines
        enough = known is not None and terms_shown(width) <= known.size
        series = damped(known if enough and known is not None else self.cosines, width, nodes)
        if MANY_NODES * series.size <= nodes:
            return mean_height(series, nodes)
        height = np.abs(evaluated(series, nodes))
        return float(height.sum() - (height[0] + height[-1]) / 2) / nodes

    def fixed_point(self) -> tuple[float, float, float]:
        """Return the width that equals its error, and proven bounds for the exact one."""
        lowest, highest = abs(self.total_residual), min(1.0, self.size)
        if highest - lowest <= 1e-15 or highest <= NARROWEST:
            return highest, lowest, highest
        width = self._search(max(lowest, NARROWEST), highest)
        slope = (self._coarse(width * 1.001) - self._coarse(width)) / (width * 0.001)
        damping = 1 - min(0.0, slope)
        width += (self.error(width, POLISHING_NODES) - width) / damping
        width = min(max(width, lowest), highest)
        if width <= NARROWEST:  # the fixed point may lie below what the nodes can carry
            error, bound = self.error(NARROWEST, NODES), self._error_bound(NARROWEST)
            return max(lowest, min(error, NARROWEST)), lowest, max(NARROWEST, error + bound)
        error, bound = self.error(width, NODES), self._error_bound(width)
        # The error falls as the width grows, so the fixed point lies between the two.
        low, high = min(width, error - bound), max(width, error + bound)
        width += (error - width) / damping
        return width, min(width, max(low, lowest)), max(width, min(high, highest))

    def witness(self, width: float) -> LinearWitness:
        """Smooth the sign of the smoothed residuals."""
        width = max(width, NARROWEST)
        sign = np.sign(smoothed(self.cosines, width, NODES))
        ends_halved = sign.copy()
        ends_halved[[0, -1]] /= 2
        value = smoothed(cosines_of(ends_halved / NODES), width, NODES)
        nodes = np.arange(NODES + 1) / NODES
        joint = self.described()
        at_levels = np.interp(joint.prediction, nodes, value)
        return LinearWitness(nodes, value, region_sentence(joint, at_levels))

    def _coarse(self, width: float) -> float:
        return self.error(width, SEARCH_NODES if width * SEARCH_NODES >= MOST_NARROW else NODES)

    def _search(self, lowest: float, highest: float) -> float:
        """Find the width that equals its error, on few nodes.

        The error falls as the width grows, so that the fixed point lies between a width and its
        error. Logarithms of both are nearly on a line: a secant, or the middle where it gains
        little.
        """
        low, high = math.log(lowest), math.log(highest)
        at, last = (max(low, math.log(START)) + high) / 2, None
        for _ in range(MOST_STEPS):
            error = self._coarse(math.exp(at))
            excess = math.log(max(error, lowest)) - at
            low, high = max(low, min(at, at + excess)), min(high, max(at, at + excess))
            if abs(excess) <= CLOSE or high - low <= CLOSE:
                break
            slope, slow = FIRST_SLOPE, False
            if last is not None:
                slope, slow = (excess - last[1]) / (at - last[0]), abs(excess) > abs(last[1]) / 2
            last = at, excess
            reached = (low + high) / 2 if slow or slope >= 0 else at - excess / slope
            at = min(max(reached, low), high)
        return math.exp(min(max(at, low), high))

    def _error_bound(self, width: float) -> float:
        """Bound the error of sharing out between nodes, of the trapezoidal rule, and of rounding.

        Sharing out interpolates the kernel linearly: at most step^2 / 8 times its curvature. The
        rule errs by at most step^2 / 8 times the variation of the slope of |h|, which is at most
        twice that of h: between two zeros of h its slope turns from one sign to the other.
        """
        step = 1 / NODES
        return float(3 * self.size * CURVATURE * (step / width) ** 2 / 8 + 1e-13)


def _read(y_true: object, y_proba: object, sample_weight: object, pos_label: object) -> Smoothing:
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    return _of_joint(source) if isinstance(source, Joint) else _of_rows(source)


def _of_joint(joint: Joint) -> Smoothing:
    waves = waves_at(joint.prediction, NODES) if len(joint) <= FEW_LEVELS else None
    return _of_masses(joint, joint.mass * joint.residual, waves)


def _of_masses(joint: Joint, mass: Floats, waves: Waves | None = None) -> Smoothing:
    at_nodes = partial(shared_out, mass, joint.prediction * NODES, NODES)
    first = None if waves is None else waves.cosines(mass)
    total, size = float(mass.sum()), float(np.abs(mass).sum())
    return Smoothing(at_nodes, first, total, size, joint, rounding_settings(joint))


def _of_rows(source: AnyRows) -> Smoothing:
    few = source.prediction.size <= FEW_LEVELS
    nodes, rows = (None, levels(source)[1]) if few else node_charges(source, NODES)
    total = float(rows.prediction.size) if rows.weight is None else float(rows.weight.sum())
    first: Floats | None = None
    if nodes is None:
        residual = (rows.outcome - rows.prediction) / total
        mass = residual if rows.weight is None else residual * rows.weight
        first, bias = waves_at(rows.prediction, NODES).cosines(mass), float(mass.sum())
        at_nodes = partial(shared_out, mass, rows.prediction * NODES, NODES)
    else:
        at_nodes, bias = partial(np.divide, nodes, total), float(nodes.sum()) / total
    mean = float(np.average(rows.prediction, weights=rows.weight))
    size = min(1.0, 2 * mean + bias, 2 - 2 * mean - bias)  # |y - p| <= y + p, (1 - y) + (1 - p)
    settings = {"clipped": rows.clipped} if rows.clipped else {}
    return Smoothing(at_nodes, first, bias, size, rows, settings)


def _modulus(rounding: float, width: float) -> float:
    """Bound the change of the fixed point when cell means replace predictions."""
    distance = rounding * np.sqrt(2 / np.pi)
    return (
        float(min(distance / width, np.sqrt(distance))) if width > 0 else float(np.sqrt(distance))
    )

"""Distances between forecasts and smoothed frequencies: ICI, E50, E90, Emax and ECI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, Indices, blocks, sum_of_products
from calibrant._base.options import refuse_unknown
from calibrant._base.parallel import in_threads
from calibrant._base.words import comparable_texts
from calibrant.inference.estimates import Estimate
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import upper_quantile
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import residual_mass_of
from calibrant.joint import Joint
from calibrant.measures.kernel_smoothed import (
    NARROWEST_CURVE,
    kernel_smoothed_calibration_error,
    smoothed_bias,
    smoothed_curve,
)
from calibrant.measures.local_regression import loess, lowess
from calibrant.measures.measurement import as_joint

SMOOTHERS = ("loess", "lowess", "kernel")
# Bins of distances among which a quantile is looked for.
BINS = 2**12


@dataclass(frozen=True, slots=True)
class CalibrationIndex:
    """How far forecasts lie from a smoothed curve of the frequencies."""

    ici: float
    """Integrated calibration index: the mean distance (val.prob calls it Eavg)."""
    e50: float
    """Median distance."""
    e90: float
    """Its 90 % quantile."""
    emax: float
    """Largest distance."""
    eci: float
    """Estimated calibration index: one hundred times the mean squared distance."""
    smoother: str
    """How frequencies were smoothed."""

    def __str__(self) -> str:
        ici, e50, e90, emax = comparable_texts(self.ici, self.e50, self.e90, self.emax)
        return f"ICI {ici}, E50 {e50}, E90 {e90}, Emax {emax} (smoothed by {self.smoother})"


def calibration_index(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    smoother: str = "loess",
) -> CalibrationIndex:
    """Measure the distance of forecasts from smoothed frequencies, as medical papers quote it.

    Smaller is better. The number depends on the smoother: name it beside the number.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; with "kernel" only.
    pos_label : object, optional
        The label that counts as outcome 1.
    smoother : {"loess", "lowess", "kernel"}, default="loess"
        "loess" is R's `loess(y ~ p)`: local parabolas over three quarters of the rows, as ICI is
        published. "lowess" is R's `lowess(p, y, iter=0)`: local lines over two thirds, as in
        `val.prob` of rms. "kernel" is the Gaussian smoother of smECE at its own width, which
        also takes weights and few forecasts.

    Returns
    -------
    CalibrationIndex

    Notes
    -----
    Both smoothers of R are computed on the levels and agree with R to rounding, the cells of loess
    and the steps of lowess included. Known flaws: the curve may leave [0, 1], as R's does; and
    perfect forecasts do not score 0, the less so the fewer the rows. An interval is offered for
    the kernel smoother alone: `classical_numbers`.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38. Van Hoorde and others (2015), A spline-based tool to assess and
    visualize the calibration of multiclass risk predictions, Journal of Biomedical Informatics 54.
    Harrell, Regression modeling strategies (`val.prob`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p**2
    >>> print(calibration_index(y, p))
    ICI 0.165, E50 0.182, E90 0.266, Emax 0.270 (smoothed by loess)
    >>> print(calibration_index(y, p, smoother="lowess"))
    ICI 0.154, E50 0.161, E90 0.242, Emax 0.248 (smoothed by lowess)
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    refuse_unknown("smoother", smoother, SMOOTHERS)
    return find_index(joint, smoother)


def find_index(joint: Joint, smoother: str) -> CalibrationIndex:
    """Index of a Joint."""
    if smoother == "kernel":
        return kernel_index(joint, width_of_kernel(joint))
    curve = (loess if smoother == "loess" else lowess)(joint)
    return _index(joint, np.abs(curve - joint.prediction), smoother)


def width_of_kernel(joint: Joint) -> float:
    """Width at which smECE smooths, or the narrowest that a curve is drawn with."""
    return max(float(kernel_smoothed_calibration_error(joint)), NARROWEST_CURVE)


def kernel_index(joint: Joint, width: float) -> CalibrationIndex:
    """Index of a Joint whose frequencies are smoothed by a Gaussian kernel."""
    curve = smoothed_curve(joint, bandwidth=width)
    distance = np.empty(len(joint))
    for some in blocks(len(joint)):
        smoothed = np.interp(joint.prediction[some], curve["prediction"], curve["outcome"])
        distance[some] = np.abs(smoothed - joint.prediction[some])
    return _index(joint, distance, "kernel")


def around_ici(evidence: Evidence, value: float, width: float, settings: Settings) -> Estimate:
    """Interval of the integrated calibration index, for the smoother given.

    Sample and population differ by a mean of noise: the index of the sample exceeds that of the
    population by at most the index of the noise. And its expectation is not below that of the
    population (Jensen), so only its spread is added above: the larger of those of the index with
    noise once more, and of the noise in the direction of the biases seen.
    """
    from scipy.special import ndtri

    joint, confidence = evidence.joint, settings.confidence
    estimated = smoothed_bias(joint, residual_mass_of(joint)[np.newaxis, :], width)[0]

    def indices(residual_masses: Floats) -> tuple[Floats, Floats, Floats]:
        bias = smoothed_bias(joint, residual_masses, width)
        again = np.abs(estimated + bias) @ joint.mass
        return np.abs(bias) @ joint.mass, again, bias @ (joint.mass * np.sign(estimated))

    parts = evidence.multiplied_residual_masses(settings.draws, settings.rng, confidence)
    found = zip(*in_threads(indices, parts), strict=True)
    noise, *spreads = (np.concatenate(column) for column in found)
    half = (1 + confidence) / 2
    widening = evidence.widening(1 - confidence)
    below = upper_quantile(noise, half) * widening
    spread = max(float(column.std()) for column in spreads)
    above = float(ndtri(half)) * spread * widening
    return Estimate(value, max(0.0, value - below), min(1.0, value + above))


def _index(joint: Joint, distance: Floats, smoother: str) -> CalibrationIndex:
    e50, e90 = _quantiles(joint, distance, (0.5, 0.9))
    return CalibrationIndex(
        sum_of_products(joint.weight, distance) / joint.total,
        e50,
        e90,
        float(distance.max()),
        100 * sum_of_products(joint.weight, distance**2) / joint.total,
        smoother,
    )


def _quantiles(joint: Joint, distance: Floats, shares: Sequence[float]) -> list[float]:
    """Distances that such shares of the weight do not exceed.

    Rows that weigh the same are interpolated between, as R and numpy do by default. Of others there
    is no such thing as the next row: the least distance that has so much of the weight.
    """
    each = joint.weight / joint.rows
    if np.ptp(each) > 1e-12 * each.max():
        weight = joint.weight / joint.total
        return _in_order(distance, weight, [share - 1e-12 for share in shares])
    ranks = [share * max(float(joint.row_count) - 1, 0.0) for share in shares]
    below = [float(np.floor(rank)) for rank in ranks]
    values = _in_order(distance, joint.rows, [*below, *(rank + 1 for rank in below)])
    pairs = zip(ranks, below, values[: len(ranks)], values[len(ranks) :], strict=True)
    return [low + (rank - whole) * (high - low) for rank, whole, low, high in pairs]


def _in_order(values: Floats, rows: Floats, ranks: Sequence[float]) -> list[float]:
    """Values of the rows with these ranks, from 0: only the bins that hold them are sorted."""
    largest = float(values.max())
    width = largest / BINS
    if not width > 0:
        return [largest] * len(ranks)

    def bins(some: slice) -> Indices:
        return np.minimum((values[some] / width).astype(np.intp), BINS - 1)

    sums = np.zeros(BINS)
    for some in blocks(values.size):
        sums += np.bincount(bins(some), rows[some], BINS)
    reached = np.cumsum(sums)
    last = int(np.flatnonzero(sums)[-1])
    chosen = [min(int(np.searchsorted(reached, rank, side="right")), last) for rank in ranks]
    members: dict[int, list[Indices]] = {cell: [] for cell in chosen}
    for some in blocks(values.size):
        of_block = bins(some)
        for wanted, found in members.items():
            found.append(np.flatnonzero(of_block == wanted) + some.start)
    found_values = []
    for rank, cell in zip(ranks, chosen, strict=True):
        inside = np.concatenate(members[cell])
        order = inside[np.argsort(values[inside], kind="stable")]
        before = float(reached[cell - 1]) if cell else 0.0
        position = int(np.searchsorted(before + np.cumsum(rows[order]), rank, side="right"))
        found_values.append(float(values[order[min(position, order.size - 1)]]))
    return found_values

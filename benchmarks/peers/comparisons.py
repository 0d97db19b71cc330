"""Calls of peers beside ours: what is timed, and what the value should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plain
from plain import Floats, Plain

import calibrant as cal

Rows = tuple[Any, Any]
BINNED = "Binned error, 15 bins of equal width"
DEBIASED = "Debiased binned error, order 2"
SMOOTH = "Exact smooth error"
SMOOTHED = "Kernel-smoothed error (smECE)"
CUTOFF = "Cumulative differences, beside the cutoff error"
KERNEL = "Laplace kernel error, bandwidth 0.4"


@dataclass(frozen=True)
class Comparison:
    """`load` imports the peer and returns a function of (y, p); the import is not timed."""

    peer: str
    measure: str
    call: str
    load: Callable[[], Callable[[Any, Any], float]]
    ours: Callable[[Any, Any], float]
    right: Plain | None = None
    largest: int = 10**6
    tolerance: float = 1e-6
    note: str = ""


def relplot_binned() -> Any:
    import relplot

    return lambda y, p: relplot.metrics.binnedECE(p, y, nbins=15)


def relplot_smooth() -> Any:
    import relplot

    return lambda y, p: relplot.smECE(p, y)


def relplot_kernel() -> Any:
    import relplot

    return lambda y, p: np.sqrt(0.4) * relplot.metrics.laplace_calibration_approx(p, y, theta=0.4)


def probcal_binned() -> Any:
    from probcal.metrics import ece

    return partial(ece, n_bins=15, strategy="width")


def probcal_smooth() -> Any:
    from probcal.metrics import smooth_ece

    return smooth_ece


def probcal_walk() -> Any:
    from probcal.metrics import ecce

    return lambda y, p: ecce(y, p).stat_max


def probcal_kernel() -> Any:
    from probcal.metrics.kernel import skce

    return lambda y, p: np.sqrt(skce(y, p, estimator="biased", bandwidth=0.4) / 2)


def netcal_binned() -> Any:
    from netcal.metrics import ECE

    return lambda y, p: ECE(bins=15).measure(p, y)


def netcal_kernel() -> Any:
    from netcal.metrics import MMCE

    return lambda y, p: MMCE().measure(p, y)


def torchmetrics_binned() -> Any:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    return lambda y, p: float(
        binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins=15)
    )


def mapie_binned() -> Any:
    from mapie.metrics.calibration import expected_calibration_error

    return partial(expected_calibration_error, num_bins=15, split_strategy="uniform")


def mapie_walk() -> Any:
    from mapie.metrics.calibration import kuiper_statistic, length_scale

    return lambda y, p: kuiper_statistic(y, p) * length_scale(p)


def mcgrad_binned() -> Any:
    from mcgrad.metrics import expected_calibration_error

    return partial(expected_calibration_error, num_bins=15)


def mcgrad_walk() -> Any:
    from mcgrad.metrics import ecce

    return ecce


def verified_binned() -> Any:
    from calibration import get_ece

    return lambda y, p: get_ece(p, y, num_bins=15)


def verified_debiased() -> Any:
    from calibration import lower_bound_scaling_ce
    from calibration.utils import get_equal_prob_bins

    return lambda y, p: lower_bound_scaling_ce(
        p, y, p=2, debias=True, num_bins=15, binning_scheme=get_equal_prob_bins
    )


def calibre_binned() -> Any:
    from calibre.metrics import expected_calibration_error

    return partial(expected_calibration_error, n_bins=15)


def calibre_smoothed() -> Any:
    from calibre.metrics import smooth_calibration_error

    return smooth_calibration_error


def sklearn_binned() -> Any:
    from sklearn.calibration import calibration_curve

    def error(y: Floats, p: Floats) -> float:
        frequency, prediction = calibration_curve(y, p, n_bins=15)
        rows = np.bincount(np.searchsorted(np.linspace(0, 1, 16)[1:-1], p))
        return float(np.sum(rows[rows > 0] * np.abs(frequency - prediction)) / p.size)

    return error


def highs_smooth() -> Any:
    """Maximise the bias over tests that are bounded by 1 and Lipschitz along the levels."""
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    def error(y: Floats, p: Floats) -> float:
        level, index = np.unique(p, return_inverse=True)
        steps = diags_array(
            [-np.ones(level.size - 1), np.ones(level.size - 1)],
            offsets=[0, 1],
            shape=(level.size - 1, level.size),
        )
        gaps = np.diff(level)
        found = linprog(
            -np.bincount(index, y - p) / p.size,
            A_ub=vstack([steps, -steps]),
            b_ub=np.concatenate([gaps, gaps]),
            bounds=(-1, 1),
            method="highs",
        )
        return -float(found.fun)

    return error


our_left = cal.binned_calibration_error
our_right = partial(cal.binned_calibration_error, closed="right")
our_debiased = partial(cal.binned_calibration_error, closed="right", order=2, debias=True)
our_kernel = partial(cal.kernel_calibration_error, bandwidth=0.4)
our_thresholds = partial(cal.cutoff_calibration_error, sets="thresholds")
our_smooth = cal.smooth_calibration_error
our_smoothed = cal.kernel_smoothed_calibration_error
our_cutoff = cal.cutoff_calibration_error

PAIRS = "builds the n x n matrix: 10^5 rows would need 80 GB or more"
OTHER = "another quantity: only the times compare"
CHAINED = "the largest over lower sets; ours is over lower and upper sets"

COMPARISONS = (
    Comparison(
        "relplot", BINNED, "metrics.binnedECE(p, y, 15)", relplot_binned, our_left, plain.left
    ),
    Comparison(
        "relplot",
        SMOOTHED,
        "smECE(p, y)",
        relplot_smooth,
        our_smoothed,
        our_smoothed,
        tolerance=1e-3,
        note="judged against our certified value, to three digits after the point",
    ),
    Comparison(
        "relplot",
        KERNEL,
        "metrics.laplace_calibration_approx(p, y, theta=0.4), times sqrt(0.4)",
        relplot_kernel,
        our_kernel,
        plain.laplace,
        note="an estimate from 10 n pairs drawn at random",
    ),
    Comparison(
        "probcal", BINNED, 'ece(y, p, strategy="width")', probcal_binned, our_left, plain.left
    ),
    Comparison("probcal", SMOOTHED, "smooth_ece(y, p)", probcal_smooth, our_smoothed, note=OTHER),
    Comparison(
        "probcal",
        CUTOFF,
        "ecce(y, p).stat_max",
        probcal_walk,
        our_thresholds,
        plain.largest_lower,
        note=CHAINED,
    ),
    Comparison(
        "probcal",
        KERNEL,
        'root of half of skce(y, p, estimator="biased", bandwidth=0.4)',
        probcal_kernel,
        our_kernel,
        plain.laplace,
        largest=10**4,
        note=PAIRS,
    ),
    Comparison("netcal", BINNED, "ECE(15).measure(p, y)", netcal_binned, our_left, plain.left),
    Comparison(
        "netcal",
        KERNEL,
        "MMCE().measure(p, y)",
        netcal_kernel,
        our_kernel,
        plain.laplace,
        largest=10**4,
        note=PAIRS,
    ),
    Comparison(
        "torchmetrics",
        BINNED,
        "binary_calibration_error(p, y, n_bins=15)",
        torchmetrics_binned,
        our_left,
        plain.left,
    ),
    Comparison(
        "mapie",
        BINNED,
        'expected_calibration_error(y, p, num_bins=15, split_strategy="uniform")',
        mapie_binned,
        our_right,
        plain.right,
    ),
    Comparison(
        "mapie",
        CUTOFF,
        "kuiper_statistic(y, p) * length_scale(p)",
        mapie_walk,
        our_cutoff,
        plain.cutoff,
    ),
    Comparison(
        "mcgrad",
        BINNED,
        "expected_calibration_error(y, p, num_bins=15)",
        mcgrad_binned,
        our_left,
        plain.left,
    ),
    Comparison("mcgrad", CUTOFF, "ecce(y, p)", mcgrad_walk, our_cutoff, plain.cutoff),
    Comparison(
        "uncertainty-calibration",
        BINNED,
        "get_ece(p, y, num_bins=15)",
        verified_binned,
        our_right,
        plain.right,
    ),
    Comparison(
        "uncertainty-calibration",
        DEBIASED,
        "lower_bound_scaling_ce(p, y, p=2, debias=True, binning_scheme=get_equal_prob_bins)",
        verified_debiased,
        our_debiased,
        plain.debiased,
    ),
    Comparison(
        "calibre",
        BINNED,
        "expected_calibration_error(y, p, n_bins=15)",
        calibre_binned,
        our_left,
        plain.left,
    ),
    Comparison(
        "calibre",
        SMOOTHED,
        "smooth_calibration_error(y, p)",
        calibre_smoothed,
        our_smoothed,
        our_smoothed,
        tolerance=1e-3,
        note="judged against our certified value, to three digits after the point",
    ),
    Comparison(
        "scikit-learn",
        BINNED,
        "calibration_curve(y, p, n_bins=15)",
        sklearn_binned,
        our_right,
        plain.right,
        note="rows per bin, which it does not return, counted with numpy",
    ),
    Comparison(
        "scipy",
        SMOOTH,
        "linprog(..., method='highs') on the linear programme",
        highs_smooth,
        our_smooth,
        our_smooth,
        largest=10**4,
        note="judged against our value: two solvers of one programme",
    ),
)

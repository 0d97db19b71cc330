"""Cases in which a peer's answer differs from ours: by a convention, or from its own definition.

Every case returns a sentence, or nothing when the installed version no longer does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import comparisons as calls
import numpy as np
from plain import Floats

import calibrant as cal

Case = Callable[[], str]


@dataclass(frozen=True)
class Fault:
    peer: str
    title: str
    case: Case
    convention: bool = False
    """Whether the peer chose so, and its answer is right by its own definition."""


def order_of_ties(load: Callable[[], Any]) -> Case:
    """1000 equal predictions, all right on average: the value must be 0 in any order."""

    def case() -> str:
        p = np.full(1000, 0.5)
        sorted_rows = np.repeat([0, 1], 500)
        mixed_rows = np.tile([0, 1], 500)
        measure = load()
        first, second = float(measure(sorted_rows, p)), float(measure(mixed_rows, p))
        ours = float(cal.cutoff_calibration_error(sorted_rows, p))
        if abs(first - second) <= 1e-9:
            return ""
        return (
            "1000 forecasts of 0.5, 500 of them right: "
            f"{first:.4f} with the rows sorted by outcome, {second:.4f} alternating; "
            f"by definition {ours:.4f}"
        )

    return case


def own_bin(load: Callable[[], Any]) -> Case:
    """Forecasts 0.97 and 1 lie in the last of 15 bins, and their errors cancel there."""

    def case() -> str:
        p = np.repeat([0.97, 1.0], 100)
        y = np.concatenate([np.ones(100), np.ones(97), np.zeros(3)]).astype(np.int64)
        value = float(load()(y, p))
        ours = float(cal.binned_calibration_error(y, p))
        if abs(value - ours) <= 1e-6:
            return ""
        return (
            "100 forecasts of 0.97 (all happened) and 100 of 1 (97 happened) share the last of 15 "
            f"bins of equal width: {value:.4f} with p = 1 apart, {ours:.4f} without"
        )

    return case


def label_for_outcome() -> str:
    p, y = np.full(1000, 0.2), np.repeat([0, 1], [800, 200])
    value = float(calls.netcal_kernel()(y, p))
    ours = float(cal.kernel_calibration_error(y, p, bandwidth=0.4))
    if abs(value - ours) <= 1e-6:
        return ""
    return (
        f"1000 forecasts of 0.2, 200 happened: MMCE {value:.4f}, because a forecast of 0.2 counts "
        f"as correct when the outcome is 0 while its confidence stays 0.2; on (y, p) {ours:.4f}"
    )


def one_bin_less() -> str:
    from mapie.metrics.calibration import expected_calibration_error

    p, y = np.repeat([0.25, 0.75], 100), np.tile([0, 1], 100)
    value = expected_calibration_error(y, p, num_bins=2, split_strategy="uniform")
    ours = float(cal.binned_calibration_error(y, p, n_bins=2))
    if abs(value - ours) <= 1e-6:
        return ""
    return (
        "forecasts of 0.25 and 0.75, half of either happened, num_bins=2: "
        f"{value:.4f}, as with one bin; two bins give {ours:.4f}"
    )


def no_bin() -> str:
    from mapie.metrics.calibration import expected_calibration_error

    p, y = np.repeat([0.25, 0.75], 100), np.tile([0, 1], 100)
    with np.errstate(all="ignore"):
        value = expected_calibration_error(y, p, num_bins=1, split_strategy="uniform")
    ours = float(cal.binned_calibration_error(y, p, n_bins=1))
    return "" if abs(value - ours) <= 1e-6 else f"num_bins=1: {value:.4f}; one bin gives {ours:.4f}"


def swallowed_weights() -> str:
    y, p, weight = weighted_rows()
    plain = calls.mcgrad_binned()(y, p)
    try:
        value = calls.mcgrad_binned()(y, p, weights=weight)
    except TypeError:
        return ""
    proper = calls.mcgrad_binned()(y, p, sample_weight=weight)
    if abs(value - plain) > 1e-9:
        return ""
    return (
        f"expected_calibration_error(..., weights=w) takes any keyword and gives {value:.4f}, the "
        f"value without weights; with sample_weight=w it is {proper:.4f}"
    )


def unweighted_fit() -> str:
    from probcal.metrics import ici

    y, p, weight = weighted_rows()
    times = weight.astype(int)
    value = ici(y, p, sample_weight=weight)
    repeated = ici(np.repeat(y, times), np.repeat(p, times))
    if abs(value - repeated) <= 1e-6:
        return ""
    return (
        f"ici with weights 1 to 4 gives {value:.4f}, with the rows repeated as often "
        f"{repeated:.4f}: the fit inside is unweighted, as its documentation says"
    )


def chance_in_the_value() -> str:
    measure = calls.relplot_kernel()
    y, p, _ = weighted_rows()
    first, second = measure(y, p), measure(y, p)
    ours = float(cal.kernel_calibration_error(y, p, bandwidth=0.4))
    if abs(first - second) <= 1e-9:
        return ""
    return (
        f"laplace_calibration_approx, an estimate from random pairs, on the same 2000 rows twice: "
        f"{first:.4f} and {second:.4f}; over all pairs {ours:.4f}"
    )


def weighted_rows() -> tuple[Any, Floats, Floats]:
    rng = np.random.default_rng(0)
    p = rng.integers(1, 100, 2000) / 100
    y = (rng.random(2000) < p**1.5).astype(np.int64)
    return y, p, rng.integers(1, 5, 2000).astype(float)


FAULTS = (
    Fault("mapie", "order of tied rows", order_of_ties(calls.mapie_walk)),
    Fault("mcgrad", "order of tied rows", order_of_ties(calls.mcgrad_walk)),
    Fault("torchmetrics", "p = 1 in a bin of its own", own_bin(calls.torchmetrics_binned), True),
    Fault("relplot", "p = 1 in a bin of its own", own_bin(calls.relplot_binned), True),
    Fault("netcal", "p > 0.5 taken as the label", label_for_outcome),
    Fault("mapie", "num_bins=B gives B - 1 bins", one_bin_less),
    Fault("mapie", "num_bins=1 gives no value", no_bin),
    Fault("mcgrad", "weights under another name accepted and ignored", swallowed_weights),
    Fault("probcal", "weights only in part", unweighted_fit, True),
    Fault("relplot", "a value that changes from call to call", chance_in_the_value, True),
)

# Input that is not forecasts and outcomes: what a call makes of it.
BAD_INPUT: dict[str, tuple[Any, Floats]] = {
    "NaN forecast": (np.array([0, 1, 1, 0]), np.array([0.1, 0.9, np.nan, 0.3])),
    "no rows": (np.array([], dtype=np.int64), np.array([])),
    "forecast 1.5": (np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 1.5, 0.3])),
    "forecast -0.5": (np.array([0, 1, 1, 0]), np.array([0.1, 0.9, -0.5, 0.3])),
    "percentages": (np.array([0, 1, 1, 0]), np.array([10.0, 90.0, 80.0, 30.0])),
}


def answers(measure: Callable[[Any, Any], float]) -> dict[str, str]:
    """Try each bad input; give the value, or the name of the exception."""
    found = {}
    for name, (y, p) in BAD_INPUT.items():
        try:
            with np.errstate(all="ignore"):
                found[name] = f"{float(measure(y.copy(), p.copy())):.4g}"
        except Exception as error:  # noqa: BLE001
            found[name] = type(error).__name__
    return found

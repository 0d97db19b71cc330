"""Options: every size has a maximum, and what is no number is said to be none."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import online, recalibration
from calibrant._base.options import ShareOfRarer, share_from, tolerance_from
from calibrant.errors import InvalidOptionError

Y, P = [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8]
TOO_MUCH = {
    "n_bins": lambda size: cal.binned_calibration_error(Y, P, n_bins=size),
    "quantiles": lambda size: cal.binned_calibration_error(Y, P, n_bins=size, strategy="quantile"),
    "resolution": lambda size: cal.Joint.from_samples(Y, P, resolution=size),
    "degree": lambda size: cal.low_degree_calibration_error(Y, P, degree=size),
    "kernel degree": lambda size: cal.kernel_calibration_error(
        Y, P, kernel="polynomial", degree=size
    ),
    "draws": lambda size: cal.calibration_test(Y, P, draws=size),
    "folds": lambda size: recalibration.recalibrate(Y, P, folds=size),
    "bins of a calibrator": lambda size: recalibration.HistogramBinning(n_bins=size).fit(P, Y),
    "grid": lambda size: online.FosterForecaster(grid=size),
    "cells": lambda size: online.StreamRecalibrator(cells=size),
}


@pytest.mark.parametrize("call", TOO_MUCH.values(), ids=TOO_MUCH)
def test_every_size_has_a_maximum(call):
    for size in (2**26, 2**62, 10**400, 10**5000, -1, 2.5, np.nan, np.inf, "3", 1j, np.array([3])):
        with pytest.raises(InvalidOptionError):
            call(size)


@pytest.mark.parametrize(
    "rng",
    [-1, 1.5, "seed", True, [1, 2], np.array([3]), np.timedelta64(3), object()],
    ids=["negative", "fraction", "word", "flag", "list", "array", "duration", "object"],
)
def test_a_seed_is_a_whole_number_or_a_generator(rng):
    with pytest.raises(InvalidOptionError, match="rng must be a seed"):
        cal.calibration_test(Y, P, draws=9, rng=rng)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (0.02, 0.02),
        ("0.02", 0.02),
        (" 5% ", ShareOfRarer(0.05)),
        ("2.5 %", ShareOfRarer(0.025)),
        ("100%", ShareOfRarer(1.0)),
    ],
    ids=["number", "text", "per cent", "with a blank", "all"],
)
def test_a_tolerance_is_a_number_or_relative(given, read):
    assert tolerance_from("tolerance", given) == read
    assert tolerance_from("tolerance", str(given)) == read


@pytest.mark.parametrize(
    "given", ["0%", "-5%", "101%", "%", "five", "", "nan", "inf%", 0, 1, True, None]
)
def test_other_tolerances_are_refused(given):
    with pytest.raises(InvalidOptionError, match="tolerance"):
        tolerance_from("tolerance", given)


def test_a_whole_number_may_have_been_meant_in_per_cent():
    with pytest.raises(InvalidOptionError, match="write 5% for per cent of the rarer outcome"):
        tolerance_from("tolerance", "5")
    with pytest.raises(InvalidOptionError, match="write 10% or 1000%"):
        share_from("oe_tolerance", "10")
    assert share_from("oe_tolerance", "10%") == share_from("oe_tolerance", 0.1) == 0.1
    assert share_from("oe_tolerance", 2.5) == share_from("oe_tolerance", "250%") == 2.5

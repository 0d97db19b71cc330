"""The kernels themselves: nothing is converted, bad rows are counted, nothing crashes."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import calibrant as cal
import calibrant._kernels as kernels
from calibrant.catalogue import JOINT_MEASURES
from oracles.strategies import MAKERS, laws

P = np.array([0.1, 0.5, 0.9])
Y = np.array([0, 1, 1])
W = np.array([1.0, 2.0, 3.0])
EDGES = np.array([0.0, 0.5, 1.0])

ROW_KERNELS = {
    "levels": kernels.levels,
    "bins": lambda p, y, w: kernels.bins(p, y, w, EDGES, True),
    "any bins": lambda p, y, w: kernels.bins(p, y, w, np.array([0, 0.3, 1.0]), False),
    "cells": lambda p, y, w: kernels.cells(p, y, w, 8),
}
every_row_kernel = pytest.mark.parametrize("kernel", ROW_KERNELS.values(), ids=ROW_KERNELS)


@every_row_kernel
def test_types_and_strides_are_never_converted(kernel):
    for p in (P.astype(np.float32), np.repeat(P, 2)[::2], P.astype(">f8"), P.tolist()):
        with pytest.raises(TypeError):
            kernel(p, Y, None)
    for y in (Y.astype(np.int32), Y.astype(bool), np.repeat(Y, 2)[::2]):
        with pytest.raises(TypeError):
            kernel(P, y, None)
    with pytest.raises(TypeError):
        kernel(P, Y, W.astype(np.float32))


@every_row_kernel
def test_lengths_must_agree(kernel):
    with pytest.raises(ValueError, match="different lengths"):
        kernel(P, Y[:2], None)
    with pytest.raises(ValueError, match="different lengths"):
        kernel(P, Y, W[:2])


@every_row_kernel
def test_no_rows_are_no_rows(kernel):
    _, weight, positives, rows, squares, bad, binary = kernel(P[:0], Y[:0], W[:0])
    assert weight.sum() == positives.sum() == rows.sum() == squares.sum() == 0
    assert (bad, binary) == (0, True)


HOSTILE = [np.nan, np.inf, -np.inf, -1e-300, -1.0, 1 + 2**-52, 2.0, 1e308, -np.nan]


@every_row_kernel
@pytest.mark.parametrize("size", [1, 2, 5, 3000])
def test_every_bad_row_is_counted(kernel, size):
    rng = np.random.default_rng(size)
    good = rng.random(size)
    for bad in HOSTILE:
        p, w = good.copy(), good + 1
        y = (good > 0.5).astype(np.float64)
        where = rng.random(size) < 0.3
        where[0] = True
        p[where] = bad
        assert kernel(p, y, None)[5] == where.sum()
        y[where] = bad
        assert kernel(good, y, None)[5] == where.sum()
        if not bad >= 0 or np.isinf(bad):
            w[where] = bad
            assert kernel(good, (good > 0.5).astype(np.uint8), w)[5] == where.sum()
    for label in (-1, 2, 2**62, -(2**63)):
        y = np.zeros(size, dtype=np.int64)
        y[-1] = label
        assert kernel(good, y, None)[5] == 1


def test_edges_out_of_place_are_an_error():
    with pytest.raises(ValueError, match="two edges"):
        kernels.bins(P, Y, None, np.array([0.0]), True)
    for count in (0, 2**27, 2**40):
        with pytest.raises(ValueError, match="cells"):
            kernels.cells(P, Y, None, count)


def test_law_kernels_refuse_empty_and_ragged_laws():
    for kernel in (
        lambda *law: kernels.smooth_error(*law, 1.0),
        lambda *law: kernels.smooth_witness(*law, 1.0),
        kernels.cumulative_residuals,
        lambda *law: kernels.two_bin_error(*law, True),
    ):
        with pytest.raises(ValueError, match="at least one level"):
            kernel(P[:0], W[:0], W[:0])
        with pytest.raises(ValueError, match="different lengths"):
            kernel(P, W[:2], W)
        with pytest.raises(TypeError):
            kernel(P.astype(np.float32), W, W)
    with pytest.raises(ValueError, match="different lengths"):
        kernels.smooth_errors(P, W, np.zeros((2, 2)), 1.0)


@pytest.mark.parametrize(
    "p",
    [
        np.zeros(50),
        np.ones(50),
        np.full(50, 5e-324),
        np.linspace(0, 5e-322, 50),
        np.linspace(0, 1, 50) ** 300,
        1 - np.linspace(0, 1, 50) ** 300,
        np.tile([0.0, -0.0], 25),
        np.linspace(0.5, 0.5 + 1e-15, 50),
    ],
    ids=["zeros", "ones", "denormal", "denormals", "powers", "near one", "minus zero", "close"],
)
@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_extreme_laws_are_solved(p):
    rng = np.random.default_rng(0)
    for weight in (None, 10.0 ** rng.uniform(-100, 100, 50), np.full(50, 1e-150)):
        joint = cal.Joint.from_samples(rng.random(50) < 0.5, p, sample_weight=weight)
        for measure in JOINT_MEASURES.values():
            value = measure.function(joint)
            assert 0 <= value <= 1 + 1e-9
            assert value.witness.advantage(joint) == pytest.approx(float(value), abs=1e-9)


def test_kernels_run_in_threads_with_the_same_answers():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    y = rng.random(200_000) < p
    expected = float(cal.smooth_calibration_error(y, p))
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda: found.append(float(cal.smooth_calibration_error(y, p))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


RACE = """
import sys, threading
import numpy as np
import calibrant._kernels as kernels

rng = np.random.default_rng(0)
p = rng.random(200_000)
y = (rng.random(p.size) < p).astype(np.int64)
w = np.ones(p.size)
good_p, good_y = p.copy(), y.copy()
done = threading.Event()


def write():
    while not done.is_set():
        y[:] = 2**61 + 12345
        y[:] = good_y
        p[:] = 0.999
        w[:] = 0.0
        p[:] = np.inf
        w[:] = 1.0
        p[:] = good_p


writer = threading.Thread(target=write)
writer.start()
edges = np.linspace(0, 1, 16)
for _ in range(30):
    kernels.levels(p, y, None)
    kernels.levels(p, y, w)
    kernels.bins(p, y, None, edges, True)
    kernels.bins(p, y, None, edges**2, False)
    kernels.cells(p, y, None, 2**16)
    kernels.node_charges(p, y, None, 2**16)
done.set()
writer.join()
"""


def test_rows_that_change_under_a_kernel_do_no_harm():
    """Nobody knows the answer then, but no memory is touched that is not the kernel's own."""
    run = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_ranks_that_are_on_no_board_are_an_error():
    for rank in ([0, 1, 2, 4], [0, 1, 2, -1], [2**62, 1, 2, 3]):
        with pytest.raises(ValueError, match="ranks"):
            kernels.cheapest_runs(P, np.zeros(4), np.array(rank), 0.5)


def test_partitions_of_too_many_masses_are_an_error():
    many = np.full(21, 0.5)
    with pytest.raises(ValueError, match="at most 20"):
        kernels.best_partition(many, many, many, 0.0)
    with pytest.raises(ValueError, match="lengths"):
        kernels.best_partition(P, W, W[:2], 0.0)
    assert kernels.best_partition(P[:0], W[:0], W[:0], 0.0).size == 0
    light = np.array([0.2, 0.4]), np.zeros(2), np.zeros(2)
    assert kernels.best_partition(*light, 0.0).tolist() in ([0, 0], [0, 1])


def test_sizes_that_nobody_needs_are_an_error():
    for count in (0, 2**26 + 1, 2**31, 2**61, 2**64 - 1):
        for moments in (kernels.power_moments, kernels.chebyshev_moments):
            with pytest.raises(ValueError, match=r"one to 2\^26 moments"):
                moments(P, W, W, count)
        with pytest.raises(ValueError, match=r"one to 2\^26 steps"):
            kernels.share_out(W, P, count)


@pytest.mark.parametrize(
    ("uniform", "count", "chance", "message"),
    [
        (2.0, 2, 0.5, "uniform"),
        (1.0, 2, 0.5, "uniform"),
        (-0.1, 2, 0.5, "uniform"),
        (np.nan, 2, 0.5, "uniform"),
        (0.5, -1, 0.5, "counts"),
        (0.5, 2**46, 0.5, "counts"),
        (0.5, 2, 1.5, "chances"),
        (0.5, 2, np.nan, "chances"),
    ],
)
def test_binomials_from_outside_their_tables_are_an_error(uniform, count, chance, message):
    with pytest.raises(ValueError, match=message):
        kernels.binomials(np.array([[uniform]]), np.array([count]), np.array([chance]))


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("lipschitz", [0.3, 1.0, 7.0])
def test_many_levels_are_swept_from_both_ends_to_the_same_error(maker, lipschitz):
    """Levels without a charge change nothing: a few among very many are the few alone."""
    grid = np.linspace(0, 1, 2**16 + 2)
    rng = np.random.default_rng(0)
    for law in laws(maker, 12):
        charge = law.mass * (law.outcome - law.prediction)
        at = np.sort(rng.choice(grid.size, charge.size, replace=False))
        none, charges = np.zeros(grid.size), np.zeros(grid.size)
        charges[at] = charge
        few = kernels.smooth_errors(grid[at], none[: at.size], charge[np.newaxis], lipschitz)[0]
        for threads in (1, 2):
            error = kernels.smooth_error(grid, none, charges, lipschitz, threads)
            assert error == pytest.approx(few, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("slope", [0.0, 1.0])
@pytest.mark.parametrize("run", [1, 7, 50_000])
@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_charges_at_every_level_are_swept_from_both_ends(slope, run, gap):
    rng = np.random.default_rng(run)
    prediction = np.unique(rng.beta(2, 2, 10**5)) * (1 - gap)
    prediction[prediction.size // 2 :] += gap
    charges = np.where(np.arange(prediction.size) // run % 2, 1.0, -1.0)
    charges += slope * (prediction - 0.5) + 0.1 * rng.standard_normal(prediction.size)
    none = np.zeros(prediction.size)
    one_sweep = kernels.smooth_errors(prediction, none, charges[np.newaxis], 1.0)[0]
    found = [kernels.smooth_error(prediction, none, charges, 1.0, count) for count in (1, 2)]
    assert found[0] == found[1] == pytest.approx(one_sweep, rel=1e-12)


@pytest.mark.parametrize("gap", [0.1, 0.5, 0.9])
def test_flows_across_a_wide_gap_are_those_of_one_sweep(gap):
    """Few steps of any size left and right of the gap: what flows across it is seldom nothing."""
    rng = np.random.default_rng(round(10 * gap))
    prediction = np.linspace(0, 1 - gap, 2**16 + 2)
    prediction[prediction.size // 2 :] += gap
    none = np.zeros(prediction.size)
    for _ in range(20):
        charges = np.zeros(prediction.size)
        steps = rng.integers(1, 9)
        charges[rng.choice(charges.size, steps, replace=False)] = rng.standard_normal(steps)
        one_sweep = kernels.smooth_errors(prediction, none, charges[np.newaxis], 1.0)[0]
        found = kernels.smooth_error(prediction, none, charges, 1.0, 2)
        assert found == pytest.approx(one_sweep, rel=1e-12)

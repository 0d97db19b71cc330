"""Interval calibration error and its surrogate against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import calibrant._kernels as kernels
from calibrant.measures.interval_error import LevelRuns, best_partition
from oracles import distances as by_definition
from oracles.strategies import MAKERS, joint_of, laws

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")


@every_maker
def test_interval_error_tries_every_partition(maker):
    for law in laws(maker, 60, most=9, seed=91):
        value = cal.interval_calibration_error(joint_of(law))
        assert value == pytest.approx(by_definition.interval_calibration_error(*law), abs=1e-12)
        assert value.bounds == pytest.approx((value, value), abs=1e-12)


@every_maker
def test_cheapest_runs_of_every_width(maker):
    """The dynamic programme against all partitions no wider than a width, at every width."""
    for law in laws(maker, 20, most=7, seed=92):
        v, m, r = law
        runs = LevelRuns.of(joint_of(law))
        spans = np.unique(np.abs(v[:, None] - v))
        for width in [*spans, *(spans / 2), 1.0]:
            fitting = [
                by_definition.interval_error_of_runs(v, m, r, partition)
                - max(v[b - 1] - v[a] for a, b in partition)
                for partition in by_definition.runs(len(v))
                if all(v[b - 1] - v[a] <= width for a, b in partition)
            ]
            found = runs.cheapest(width)
            assert found.width <= width
            assert found.bias == pytest.approx(min(fitting), abs=1e-12)


@every_maker
def test_certified_search_brackets_the_exact_minimum(maker, monkeypatch):
    rng = np.random.default_rng(93)
    joint = joint_of(maker(rng, 600))
    monkeypatch.setattr("calibrant.measures.interval_error.FEW", 10**6)
    exact = best_partition(joint, 1.0)
    assert exact.low == pytest.approx(exact.value, abs=1e-12)
    monkeypatch.setattr("calibrant.measures.interval_error.FEW", 0)
    for tolerance in (1e-2, 1e-3, 1e-4):
        found = best_partition(joint, tolerance)
        assert found.low - 1e-12 <= exact.value <= found.value + 1e-12
        assert found.value - found.low <= tolerance + 1e-12


@every_maker
def test_witness_is_a_partition_with_its_canonical_predictor(maker):
    for law in laws(maker, 40, most=30, seed=94):
        joint = joint_of(law)
        value = cal.interval_calibration_error(joint)
        witness = value.witness
        assert np.abs(joint.apply(witness).residual).max() <= 1e-9
        assert witness.attained == (witness.width > 0)
        interval = witness.pool_of(joint.prediction)
        spans = [np.ptp(joint.prediction[interval == k]) for k in np.unique(interval)]
        assert max(spans) == witness.width


def test_error_of_given_edges():
    rng = np.random.default_rng(95)
    for law in laws(MAKERS[1], 30, most=21, seed=95):
        inner = np.sort(rng.choice(np.arange(1, 20), 5, replace=False)) / 20
        edges = np.concatenate([[0.0], inner, [1.0]])
        value = cal.interval_calibration_error(joint_of(law), edges=edges)
        expected = by_definition.interval_error_of_edges(*law, edges)
        assert value == pytest.approx(expected, abs=1e-12)
        assert value.witness.advantage(joint_of(law)) == pytest.approx(value, abs=1e-12)
        assert value >= cal.interval_calibration_error(joint_of(law)) - 1e-12


@every_maker
@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_mean_over_shifts_is_exact(maker, k):
    from calibrant.measures.surrogate import _Grid

    for law in laws(maker, 30, most=20, seed=96):
        found = _Grid.of(joint_of(law), 2.0**-k).mean_bias()
        assert found == pytest.approx(by_definition.shifted_grid_bias(*law, 2.0**-k), abs=1e-9)


@every_maker
def test_surrogate_is_the_least_over_all_grids(maker):
    for law in laws(maker, 40, most=20, seed=97):
        value = cal.surrogate_interval_calibration_error(joint_of(law))
        # The definition's remainders have an error of 1e-16 / 2^-k, so its grids stop at 2^-20.
        oracle = by_definition.surrogate_interval_error(*law, finest=20)
        assert value == pytest.approx(oracle, abs=1e-6)
        assert value <= oracle + 1e-9


@every_maker
def test_surrogate_witness_is_the_mean_sign_over_shifts(maker):
    for law in laws(maker, 20, most=20, seed=98):
        joint = joint_of(law)
        value = cal.surrogate_interval_calibration_error(joint)
        witness = value.witness
        assert np.abs(witness.value).max() <= 1 + 1e-12
        gain = float(np.sum(witness(joint.prediction) * joint.mass * joint.residual))
        assert gain + witness.width == pytest.approx(value, abs=1e-12)
        if witness.width > 0:
            slope = np.abs(np.diff(witness.value)) - 2 / witness.width * np.diff(witness.knot)
            assert slope.size == 0 or slope.max() <= 1e-9


def test_surrogate_of_levels_that_only_the_finest_grids_part():
    """Two levels 2^-40 apart with opposite biases: the pair is one interval of hardly any width."""
    gap = 2.0**-40
    joint = cal.Joint.from_samples([1, 0, 0, 1], [0.5, 0.5 + gap, 0.25, 0.75])
    value = cal.surrogate_interval_calibration_error(joint)
    # Half a bias of (.5 + .5) / 4 remains when the grid is twice the gap wide, and so on.
    grids = [2.0**-k + 0.125 + min(1.0, gap * 2**k) * 0.25 for k in range(1, 41)]
    assert value == pytest.approx(min(grids), abs=1e-12)
    assert value.witness.advantage(joint) == pytest.approx(value, abs=1e-12)


def test_kernel_refuses_ragged_sums_and_negative_widths():
    level, sums, rank = np.array([0.1, 0.2]), np.zeros(3), np.arange(3)
    assert kernels.cheapest_runs(level, sums, rank, 0.0).tolist() == [0, 1]
    for bad in (sums[:2], np.zeros(4)):
        with pytest.raises(ValueError, match="lengths"):
            kernels.cheapest_runs(level, bad, np.arange(bad.size), 0.5)
    with pytest.raises(ValueError, match="lengths"):
        kernels.cheapest_runs(level, sums, rank[:2], 0.5)
    for width in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="width"):
            kernels.cheapest_runs(level, sums, rank, width)
    assert kernels.cheapest_runs(level[:0], sums[:1], rank[:1], 0.5).size == 0

"""Splits follow from what rows hold and from the seed, never from where they stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calibrant.data import (
    EARLIEST,
    canonical_order,
    deal_clusters,
    deal_folds,
    deal_in_time,
    hold_out,
    splits,
)
from calibrant.errors import InvalidForecastsError

VALUES = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 1e-300])


@given(st.lists(st.tuples(VALUES, VALUES, st.integers(0, 1)), min_size=1, max_size=30), st.data())
def test_permuted_rows_come_in_the_same_order(rows, data):
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    table, outcome = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    first = canonical_order(table, outcome)
    again = canonical_order(table[order], outcome[order])
    assert np.array_equal(table[first], table[order][again])
    assert np.array_equal(outcome[first], outcome[order][again])


def test_rows_of_round_numbers_are_told_apart():
    """Doubles such as a half have few bits: each must still change all of the digest."""
    grid = np.array([[a, b, c] for a in (0, 0.25, 0.5) for b in (0, 0.5, 1) for c in (0.125, 2)])
    ordered = grid[canonical_order(np.repeat(grid, 2, axis=0))[::2] // 2]
    assert len(np.unique(ordered, axis=0)) == len(grid)


@given(st.integers(2, 60), st.integers(2, 6), st.integers(0, 99))
def test_folds_are_of_equal_size_and_belong_to_the_rows(size, count, seed):
    p = np.random.default_rng(seed).random(size).round(1)
    y = np.random.default_rng(seed + 1).integers(0, 2, size)
    fold = deal_folds(count, np.random.default_rng(5), p, y, near=p)
    sizes = np.bincount(fold, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    order = np.random.default_rng(seed + 2).permutation(size)
    again = deal_folds(count, np.random.default_rng(5), p[order], y[order], near=p[order])
    rows, permuted = zip(p, y, fold, strict=True), zip(p[order], y[order], again, strict=True)
    assert sorted(rows) == sorted(permuted)


def test_outcomes_have_no_say_in_the_folds():
    """Rows of one prediction are dealt without regard to their outcome: by chance alone."""
    p, y = np.full(400, 0.5), np.arange(400) % 2
    shares = [
        y[deal_folds(2, np.random.default_rng(seed), p, y, near=p) == 0].sum()
        for seed in range(300)
    ]
    # Hypergeometric: 200 of 400 drawn, 200 ones among them, variance 25.06.
    assert np.mean(shares) == pytest.approx(100, abs=4 * np.sqrt(25.06 / 300))
    assert np.var(shares) == pytest.approx(25.06, rel=0.35)


def test_clusters_stay_whole_and_time_runs_forward():
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 9, 100)
    fold = deal_clusters(cluster, 3, rng)
    assert all(np.unique(fold[cluster == c]).size == 1 for c in range(9))
    held_out = hold_out(0.3, rng, cluster, cluster=cluster)
    assert all(np.unique(held_out[cluster == c]).size == 1 for c in range(9))
    time = rng.integers(0, 20, 100)
    block = deal_in_time(time, 4)
    assert block.min() == EARLIEST
    assert all(time[block < b].max() < time[block == b].min() for b in range(block.max() + 1))


def test_one_cluster_or_one_time_cannot_be_split():
    with pytest.raises(InvalidForecastsError, match="two"):
        deal_clusters(np.zeros(5, dtype=np.intp), 2, np.random.default_rng(0))
    with pytest.raises(InvalidForecastsError, match="two times"):
        deal_in_time(np.zeros(5), 2)


def test_the_share_that_is_held_out_is_exact():
    held_out = hold_out(0.3, np.random.default_rng(1), np.arange(1000) / 1000)
    assert held_out.sum() == 300


def test_very_many_rows_are_held_out_by_what_they_hold(monkeypatch):
    monkeypatch.setattr(splits, "MANY_ROWS", 100)
    rng = np.random.default_rng(4)
    prediction, outcome = rng.random(5000), rng.integers(0, 2, 5000)
    order = rng.permutation(5000)
    held_out = hold_out(0.1, np.random.default_rng(5), prediction, outcome, None)
    turned = hold_out(0.1, np.random.default_rng(5), prediction[order], outcome[order], None)
    assert held_out.sum() == 500
    assert np.array_equal(held_out[order], turned)
    again = hold_out(0.1, np.random.default_rng(6), prediction, outcome, None)
    assert (held_out & again).sum() < 100  # 50 by chance
    assert prediction[held_out].mean() == pytest.approx(0.5, abs=0.06)
    ties = np.repeat(prediction[:50], 100)
    alike = hold_out(0.1, np.random.default_rng(7), ties)
    assert np.bincount(np.unique(ties[alike], return_inverse=True)[1]).max() < 30
    for share, count in ((0.0, 0), (1.0, 5000)):
        assert hold_out(share, np.random.default_rng(8), prediction).sum() == count

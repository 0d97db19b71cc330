"""Very many clusters: drawn as sums or in bundles, with the same distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm, t

import calibrant as cal
from calibrant.inference import evidence, laws as cluster_laws

# Enough for bundles.
LEVELS = 549


def test_sums_have_the_distribution_of_their_numbers(monkeypatch):
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 3000, 12_000)
    prediction = rng.choice([0.6, 0.7, 0.8, 0.9, 0.95], 12_000)
    shared = rng.normal(0, 0.15, 3000)[cluster]
    outcome = rng.random(12_000) < np.clip(prediction - 0.05 + shared, 0, 1)

    def interval(order=slice(None)):
        rows = (outcome[order], prediction[order])
        return cal.confidence_interval(*rows, clusters=cluster[order], draws=9999, rng=0)

    one_by_one = interval()
    monkeypatch.setattr(evidence, "MANY_CLUSTERS", 100)
    summed = interval()
    assert (summed.low, summed.high) != (one_by_one.low, one_by_one.high)
    assert summed.high - summed.low == pytest.approx(one_by_one.high - one_by_one.low, rel=0.04)
    assert summed.low == pytest.approx(one_by_one.low, abs=0.001)
    turned = interval(rng.permutation(12_000))
    assert (turned.low, turned.high) == pytest.approx((summed.low, summed.high), rel=1e-9)


@pytest.fixture
def clustered():
    rng = np.random.default_rng(1)
    cluster = rng.integers(0, 4000, 40_000)
    prediction = rng.integers(1, LEVELS + 1, 40_000) / (LEVELS + 1)
    shared = rng.normal(0, 0.1, 4000)[cluster]
    outcome = rng.random(40_000) < np.clip(0.9 * prediction + shared, 0, 1)
    return outcome, prediction, cluster


def student(freedom):
    """Student's quantile over the normal one, at the level 0.05."""
    return t.ppf(0.975, freedom) / norm.ppf(0.975)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_clusters_vary_as_the_clusters_do(clustered, weighted, monkeypatch):
    outcome, prediction, cluster = clustered
    weight = np.random.default_rng(2).lognormal(0, 0.5, outcome.size) if weighted else None

    def found(order=slice(None)):
        sample_weight = None if weight is None else weight[order]
        rows = evidence.Evidence.read(
            outcome[order], prediction[order], sample_weight, clusters=cluster[order]
        )
        rng, run = np.random.default_rng(0), np.arange(0, LEVELS, LEVELS // 9)
        null = np.concatenate(list(rows.null_residual_masses(499, rng)))
        multiplied = np.concatenate(list(rows.multiplied_residual_masses(499, rng, 0.95)))
        return rows, null, multiplied, rows.residual_variance(run)

    clusters, *one_by_one = found()
    monkeypatch.setattr(cluster_laws, "MANY_ROWS", 1000)
    monkeypatch.setattr(cluster_laws, "MANY_CLUSTERS", 1000)
    monkeypatch.setattr(cluster_laws, "BLOCKS", 512)
    monkeypatch.setattr(cluster_laws, "FEWEST_BLOCKS", 512)
    blocks, *in_blocks = found()
    assert blocks.clusters.in_blocks
    assert not clusters.clusters.in_blocks
    assert blocks.clusters.drawn == 512
    assert len(blocks.clusters) == len(clusters.clusters)
    assert blocks.clusters.drawn_share.sum() == pytest.approx(1)
    assert blocks.widening(0.05) >= student(511)
    assert clusters.widening(0.05) < student(2000 if weighted else 3000)
    assert blocks.unit == pytest.approx(clusters.unit, rel=0.15)
    for one, other in zip(one_by_one[:2], in_blocks[:2], strict=True):
        for weights in (np.ones(LEVELS), np.linspace(-1, 1, LEVELS)):
            spreads = (one @ weights).std(), (other @ weights).std()
            assert spreads[1] == pytest.approx(spreads[0], rel=0.12)
    assert in_blocks[2] == pytest.approx(one_by_one[2], rel=0.35)
    assert in_blocks[2].sum() == pytest.approx(one_by_one[2].sum(), rel=0.1)
    _, *turned = found(np.random.default_rng(3).permutation(outcome.size))
    for part, other in zip(turned, in_blocks, strict=True):
        assert part == pytest.approx(other, abs=1e-12)


def test_levels_beyond_the_rows_of_a_block_leave_512_blocks(clustered, monkeypatch):
    for name in ("MANY_ROWS", "MANY_CLUSTERS"):
        monkeypatch.setattr(cluster_laws, name, 1000)
    outcome, prediction, cluster = clustered
    blocks = evidence.Evidence.read(outcome, prediction, clusters=cluster).clusters
    assert outcome.size // np.unique(prediction).size < 512
    assert blocks.drawn == 512


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=50), st.sampled_from([1, 2**40]))
def test_labels_are_numbered_in_their_order(labels, step):
    column = np.array(labels, dtype=np.int64) * step
    code, count = cluster_laws.numbered(column)
    names, expected = np.unique(column, return_inverse=True)
    assert count == names.size
    assert np.array_equal(code, expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint64])
def test_narrow_numbers_are_numbered_without_overflow(kind):
    ends = np.iinfo(kind)
    labels = np.array([ends.min, ends.max, ends.min, ends.max // 2] * 300, dtype=kind)
    code, count = cluster_laws.numbered(labels)
    assert count == 3
    assert np.array_equal(code, np.unique(labels, return_inverse=True)[1])

"""Pooling: every row counted once, ties never split, the calibrator does what the Joint shows."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import isotonic_regression

import calibrant as cal
from calibrant.binning import bins_between, isotonic, quantile_bins, uniform_bins
from calibrant.joint import Rows
from oracles.strategies import rows, universal, weighted_rows

bin_counts = st.integers(1, 40)
closures = st.sampled_from(["left", "right"])


def poolings(joint: cal.Joint, n_bins: int, closed: str):
    yield uniform_bins(joint, n_bins, closed=closed)
    yield bins_between(joint, [0, 1e-300, 0.05, 0.3, 0.300001, 1], closed=closed)
    yield quantile_bins(joint, n_bins)
    yield isotonic(joint)


@universal
@given(data=weighted_rows(), n_bins=bin_counts, closed=closures)
def test_every_row_is_counted_once_and_the_map_agrees(data, n_bins, closed):
    y, p, w = data
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    for pooling in poolings(joint, n_bins, closed):
        assert pooling.table["rows"].sum() == joint.row_count
        assert pooling.joint.total == pytest.approx(joint.total)
        assert pooling.joint.mean_prediction == pytest.approx(joint.mean_prediction, abs=1e-14)
        mapped = joint.apply(pooling)
        assert mapped.prediction.tolist() == pooling.joint.prediction.tolist()
        assert mapped.positives == pytest.approx(pooling.joint.positives)
        assert (np.diff(pooling.joint.prediction) > 0).all()


@universal
@given(data=weighted_rows(), n_bins=bin_counts, closed=closures)
def test_rows_and_joint_fall_into_the_same_bins(data, n_bins, closed):
    y, p, w = data
    for weight in (None, w):
        fast = uniform_bins(Rows.read(y, p, weight), n_bins, closed=closed)
        slow = uniform_bins(
            cal.Joint.from_samples(y, p, sample_weight=weight), n_bins, closed=closed
        )
        assert fast.table["rows"].tolist() == slow.table["rows"].tolist()
        assert fast.joint.positives == pytest.approx(slow.joint.positives)
        assert fast.joint.prediction == pytest.approx(slow.joint.prediction, abs=1e-15)
        assert fast.joint.weight_squares == pytest.approx(slow.joint.weight_squares)


def test_ends_and_edges_belong_to_one_bin():
    joint = cal.Joint.from_samples(np.zeros(11), np.arange(11) / 10)
    left = uniform_bins(joint, 10).table["rows"]
    right = uniform_bins(joint, 10, closed="right").table["rows"]
    assert left.tolist() == [1] * 9 + [2]  # 0.3, 0.6, 0.7 open their bins, 1 closes the last
    assert right.tolist() == [2] + [1] * 9


def test_many_rows_and_many_bins():
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(200_000), rng.integers(0, 1001, 100_000) / 1000])
    y = rng.random(p.size) < p
    for n_bins in (1, 15, 1000, 1025, 70_000):
        edges = np.arange(n_bins + 1) / n_bins
        index = np.minimum(np.searchsorted(edges, p, side="right") - 1, n_bins - 1)
        table = uniform_bins(Rows.read(y, p), n_bins).table
        assert np.array_equal(table["rows"], np.bincount(index, minlength=n_bins))
        occupied = table["rows"] > 0
        mean = np.bincount(index, p, n_bins)[occupied] / table["rows"][occupied]
        assert table["prediction"][occupied] == pytest.approx(mean, rel=1e-13)


def test_a_constant_predictor_is_one_quantile_bin():
    joint = cal.Joint.from_samples([0, 1, 1, 1], [0.4] * 4)
    assert cal.binned_calibration_error(joint, strategy="quantile") == pytest.approx(0.35)
    assert len(quantile_bins(joint, 15)) == 1


@universal
@given(data=rows(), n_bins=bin_counts)
def test_quantile_bins_hold_at_most_their_share_and_one_level_more(data, n_bins):
    joint = cal.Joint.from_samples(*data)
    pooled = quantile_bins(joint, n_bins).joint
    assert len(pooled) <= n_bins
    assert pooled.weight.max() <= joint.total / n_bins + 2 * joint.weight.max()


def test_the_mean_of_a_bin_stays_inside_it():
    edge = np.nextafter(0.5, 0)
    joint = cal.Joint.from_samples([0, 1] * 500, [edge, 0.5] * 500)
    for source in (joint, Rows.read([0, 1] * 500, [edge, 0.5] * 500)):
        assert uniform_bins(source, 2).joint.prediction.tolist() == [edge, 0.5]


@universal
@given(data=rows())
def test_isotonic_outcomes_increase(data):
    pooled = isotonic(cal.Joint.from_samples(*data)).joint
    assert (np.diff(pooled.outcome) >= 0).all()


def test_sums_do_not_drift_with_the_number_of_rows():
    p = np.full(3_000_000, 0.1)
    y = np.arange(p.size) % 10 == 0
    for pooled in (uniform_bins(Rows.read(y, p), 15), uniform_bins(Rows.read(y, p, p), 15)):
        assert pooled.joint.prediction[0] == pytest.approx(0.1, rel=1e-12)


@given(st.lists(st.integers(49_990, 50_010), min_size=1, max_size=12))
def test_isotonic_pools_frequencies_that_differ_by_next_to_nothing(events):
    """Equal frequencies are one pool, and so are all that decrease, however little."""
    level = np.arange(1, len(events) + 1) / 20
    rows = np.full(level.size, 100_000.0)
    pooled = isotonic(cal.Joint.from_counts(level, rows, events)).joint
    fitted = isotonic_regression(np.array(events) / rows).x
    assert pooled.outcome == pytest.approx(np.unique(fitted.round(12)), abs=1e-12)
    assert (np.diff(pooled.outcome) > 0).all()

"""Bands for reliability curves: named, ordered, honest where every outcome was the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm

import calibrant as cal
from calibrant.inference import confidence_band, consistency_band
from calibrant.inference.bands import clopper_pearson, isotonic_curve


def sample(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return rng.random(n) < p, p


@pytest.mark.parametrize("simultaneous", [True, False])
def test_a_consistency_band_lies_around_the_diagonal(simultaneous):
    band = consistency_band(*sample(500), simultaneous=simultaneous, rng=0)
    assert (band.low <= band.prediction).all()
    assert (band.prediction <= band.high).all()
    assert band.low.min() >= 0
    assert band.high.max() <= 1
    assert band.name.startswith("simultaneous" if simultaneous else "pointwise")
    assert band.name.endswith("95 % consistency band")


def test_a_simultaneous_band_is_wider():
    data = sample(500)
    whole = consistency_band(*data, rng=0)
    point = consistency_band(*data, simultaneous=False, rng=0)
    assert (whole.high - whole.low).mean() > 1.2 * (point.high - point.low).mean()
    whole, point = confidence_band(*data), confidence_band(*data, simultaneous=False)
    assert (whole.high - whole.low).mean() > (point.high - point.low).mean()


def test_a_confidence_band_is_the_best_of_all_runs():
    """The definition, run by run."""
    joint = cal.Joint.from_counts([0.1, 0.3, 0.5, 0.9], [20, 15, 30, 10], [1, 6, 12, 9])
    band = confidence_band(joint, confidence=0.9)
    noise = np.random.default_rng(0).standard_normal((499, 4)) * np.sqrt(joint.rows)
    runs = [(i, j + 1) for i in range(4) for j in range(i, 4)]
    largest = [
        max(abs(row[i:j].sum()) / np.sqrt(joint.rows[i:j].sum()) for i, j in runs) for row in noise
    ]
    level = norm.sf(np.sort(largest)[449])
    assert 0.1 / (4 * 5) < level < 0.05
    for k in range(4):
        lows = [
            beta.ppf(level, joint.positives[i : j + 1].sum(),
                     (joint.rows - joint.positives)[i : j + 1].sum() + 1)
            for j in range(k + 1) for i in range(j + 1)
        ]  # fmt: skip
        highs = [
            beta.ppf(1 - level, joint.positives[i : j + 1].sum() + 1,
                     (joint.rows - joint.positives)[i : j + 1].sum())
            for i in range(k, 4) for j in range(i, 4)
        ]  # fmt: skip
        assert band.low[k] == pytest.approx(max(lows))
        assert band.high[k] == pytest.approx(min(highs))


def test_pools_bound_the_truth_only_beyond_their_ends():
    """With more levels than pools a pool's limits start at its last level and end at its first."""
    y, p = sample(5000)
    p = p + np.random.default_rng(1).uniform(0, 1e-3, p.size)
    band = confidence_band(y, np.clip(p, 0, 1))
    assert (np.diff(band.low) >= 0).all()
    assert (np.diff(band.high) >= 0).all()
    assert (band.low <= band.high).all()
    assert band.low[0] == 0
    assert band.high[-1] == 1


def test_limits_stay_honest_where_every_outcome_was_the_same():
    """Clopper and Pearson (1934): no event in 50 rows leaves room up to 1 - 0.025^(1/50)."""
    low, high = clopper_pearson(np.array([0.0, 50.0]), np.array([50.0, 50.0]), 0.025)
    assert high[0] == pytest.approx(1 - 0.025 ** (1 / 50))
    assert low[1] == pytest.approx(0.025 ** (1 / 50))
    assert (low[0], high[1]) == (0.0, 1.0)
    band = confidence_band([0] * 50, [0.01] * 50, simultaneous=False)
    assert band.high[0] == pytest.approx(high[0])
    redrawn = consistency_band([0] * 50, [0.01] * 50, rng=0)
    assert redrawn.high[0] > 0.03


def test_the_curve_is_isotonic_regression():
    joint = cal.Joint.from_counts([0.1, 0.2, 0.9], [10, 10, 10], [4, 2, 8])
    assert isotonic_curve(joint) == pytest.approx([0.3, 0.3, 0.8])


def test_the_same_again_for_any_order_of_rows():
    y, p = sample(300)
    order = np.random.default_rng(3).permutation(300)
    first, again = consistency_band(y, p, rng=1), consistency_band(y[order], p[order], rng=1)
    assert (first.low == again.low).all()
    assert (confidence_band(y, p).low == confidence_band(y[order], p[order]).low).all()


def test_what_cannot_be_had_is_refused():
    weighted = cal.Joint.from_samples([0, 1], [0.2, 0.8], sample_weight=[1, 2])
    with pytest.raises(cal.errors.InferenceRefusedError, match="rows that weigh the same"):
        confidence_band(weighted)
    with pytest.raises(cal.errors.InvalidOptionError, match="confidence"):
        consistency_band([0, 1], [0.2, 0.8], confidence=2)
    with pytest.raises(cal.errors.InvalidOptionError, match="level"):
        clopper_pearson(np.ones(1), np.ones(1), 0.0)

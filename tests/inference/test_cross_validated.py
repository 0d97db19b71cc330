"""The cross-validated error: its definition row by row, and the inequality behind it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import calibrant as cal


def rows(seed, size=300):
    rng = np.random.default_rng(seed)
    p = rng.random(size)
    return (rng.random(size) < p**1.6).astype(int), p


@pytest.mark.parametrize("order", [1, 1.5, 2, 4])
def test_any_recalibration_stays_below_the_error(order):
    """The row values of the bound, averaged over outcomes, never exceed |f - c|^q."""
    rng = np.random.default_rng(0)
    f, g, c = rng.random((3, 2000))
    slope = order * np.abs(f - g) ** (order - 1) * np.sign(g - f)
    bound = np.abs(f - g) ** order + slope * (c - g)
    assert (bound <= np.abs(f - c) ** order + 1e-12).all()


@pytest.mark.parametrize("order", [1, 2])
def test_value_by_hand(order, monkeypatch):
    """Two folds that are known: learn on one, add up on the other."""
    y, p = rows(1)
    fold = np.arange(p.size) % 2
    monkeypatch.setattr("calibrant.inference.cross_validated.deal_folds", lambda *a, **k: fold)
    found = cal.cross_validated_error(y, p, order=order, folds=2)
    gains = np.empty(p.size)
    for number in (0, 1):
        other, here = fold != number, fold == number
        learned = IsotonicRegression(out_of_bounds="clip").fit(p[other], y[other])
        g, f = learned.predict(p[here]), p[here]
        if order == 1:
            gains[here] = np.sign(g - f) * (y[here] - f)
        else:
            gains[here] = (f - y[here]) ** 2 - (g - y[here]) ** 2  # the Brier score gained
    assert found.value == pytest.approx(gains.mean() ** (1 / order), rel=1e-9)
    assert 0 <= found.low < found.value
    assert found.high == 1


def test_weights_clusters_and_kernel():
    y, p = rows(2, 500)
    plain = cal.cross_validated_error(y, p)
    assert cal.cross_validated_error(y, p, sample_weight=np.full(500, 3.0)).value == pytest.approx(
        plain.value
    )
    kernel = cal.cross_validated_error(y, p, recalibration="kernel")
    assert kernel.value == pytest.approx(plain.value, abs=0.03)
    cluster = np.arange(500) // 50
    few = cal.cross_validated_error(y, p, clusters=cluster)
    assert few.cautions == ("only 10 clusters: the interval is rough",)
    weightless = np.append(np.ones(500), 0)
    assert cal.cross_validated_error(
        np.append(y, 1), np.append(p, 0.01), sample_weight=weightless
    ).value == pytest.approx(plain.value, abs=0.03)


def test_what_it_refuses():
    y, p = rows(3, 60)
    with pytest.raises(cal.errors.InvalidForecastsError, match="needs rows"):
        cal.cross_validated_error(cal.Joint.from_samples(y, p), None)
    with pytest.raises(cal.errors.InvalidOptionError, match="recalibration"):
        cal.cross_validated_error(y, p, recalibration="beta")
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.cross_validated_error(y, p, sample_weight=np.arange(1, 61), monotone=True)
    assert cal.cross_validated_error([1, 0], [0.5, 0.5], folds=5).low == 0


def test_sound_forecasts_show_next_to_nothing():
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    y = rng.random(4000) < p
    found = cal.cross_validated_error(y, p, monotone=True)
    assert found.value < 0.02
    assert found.low == 0
    assert found.high > 0.02
    plain = cal.binned_calibration_error(y, p, n_bins=100)
    assert found.value < plain

"""Very many clusters: their normal numbers are drawn as sums, with the same distribution."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import evidence


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

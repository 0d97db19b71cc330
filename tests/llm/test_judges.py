"""Rates from a judge and few labels: what the definition says at its ends."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InferenceRefusedError, InvalidForecastsError
from calibrant.llm import judged_rate


def labelled(rate=0.7, labels=200, size=5000, seed=0):
    rng = np.random.default_rng(seed)
    right = rng.random(size) < rate
    return right, np.where(rng.permutation(size) < labels, right, np.nan), rng


def test_the_definition():
    right, label, rng = labelled()
    score = np.clip(0.3 + 0.4 * right + rng.normal(0, 0.2, right.size), 0, 1)
    found = judged_rate(label, score)
    seen = ~np.isnan(label)
    y, f, g = label[seen], score[seen], score[~seen]
    trust = np.cov(y, f, bias=True)[0, 1] / f.var() / (1 + y.size / g.size)
    assert found.trust == pytest.approx(min(trust, 1))
    assert found.rate == pytest.approx(found.trust * g.mean() + (y - found.trust * f).mean())
    assert found.low < found.rate < found.high
    assert (found.labels, found.scores) == (200, 4800)


def test_without_a_judge_it_is_the_interval_of_wilson_with_students_quantile():
    from scipy.special import stdtrit

    label = np.r_[np.ones(28), np.zeros(2)]
    found = judged_rate(label, np.full(30, 0.5))
    q, p, n = stdtrit(29, 0.975), 28 / 30, 30
    middle = (p + q**2 / (2 * n)) / (1 + q**2 / n)
    half = q / (1 + q**2 / n) * np.sqrt(p * (1 - p) / n + q**2 / (4 * n**2))
    # The spread of a sample is that over one row less.
    assert found.low == pytest.approx(middle - half, abs=0.005)
    assert found.rate == pytest.approx(p)


def test_a_good_judge_narrows_the_interval_and_a_bad_one_does_no_harm():
    right, label, rng = labelled()
    widths = {
        name: judged_rate(label, score).high - judged_rate(label, score).low
        for name, score in {
            "perfect": right * 1.0,
            "noise": rng.random(right.size),
            "constant": np.full(right.size, 0.5),
        }.items()
    }
    assert widths["perfect"] < 0.7 * widths["constant"]
    assert widths["noise"] == pytest.approx(widths["constant"], rel=0.1)


def test_order_and_containers_do_not_matter():
    _, label, rng = labelled(labels=100, size=400)
    score, cluster = rng.random(400), rng.integers(0, 40, 400)
    order = rng.permutation(400)
    first = judged_rate(label, score, clusters=cluster)
    again = judged_rate(
        [None if np.isnan(v) else int(v) for v in label[order]],
        score[order].tolist(),
        clusters=[f"q{c}" for c in cluster[order]],
    )
    assert (first.low, first.high) == pytest.approx((again.low, again.high), rel=1e-12)


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(InferenceRefusedError, match="at least 10 labels"):
        judged_rate([1, None, None], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidForecastsError, match="between 0 and 1"):
        judged_rate([1] * 20, [85] * 20)
    with pytest.raises(InvalidForecastsError, match="0, 1 or missing"):
        judged_rate([0.5] * 20, [0.5] * 20)
    with pytest.raises(InferenceRefusedError, match="two clusters"):
        judged_rate([1, 0] * 10, [0.5] * 20, clusters=["a"] * 20)


def test_the_room_offers_it():
    assert cal.llm.judged_rate is judged_rate

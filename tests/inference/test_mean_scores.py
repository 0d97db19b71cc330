"""The Brier and the log loss by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal


def sample(n=400):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, n)
    return (rng.random(n) < p).astype(int), p, rng.uniform(0.5, 2, n), np.arange(n) // 4


@pytest.mark.parametrize("name", ["brier", "log"])
def test_scores_are_those_of_scikit_learn_with_the_interval_of_the_library(name):
    from sklearn.metrics import brier_score_loss, log_loss

    y, p, weight, clusters = sample()
    function = {"brier": cal.brier_score, "log": cal.log_loss}[name]
    known = {"brier": brier_score_loss, "log": log_loss}[name]
    for options in ({}, {"sample_weight": weight}, {"clusters": clusters}):
        found = function(y, p, **options)
        weights = {k: v for k, v in options.items() if k == "sample_weight"}
        assert found.value == pytest.approx(known(y, p, **weights))
        interval = cal.confidence_interval(y, p, measure=name, **options)
        assert (found.low, found.high) == (max(0.0, interval.low), interval.high)
    joint = cal.Joint.from_samples(y, p)
    assert function(joint).value == pytest.approx(function(y, p).value)
    assert function(y, p, confidence=0.5).low > function(y, p).low


def test_an_infinite_log_loss_has_a_reason_and_no_interval():
    with pytest.warns(cal.errors.CalibrantWarning, match="infinite"):
        found = cal.log_loss([0, 1, 1], [0.2, 0.0, 0.9])
    assert found.value == np.inf
    assert np.isnan(found.low)
    assert "proved wrong" in found.reason
    assert cal.brier_score([0, 1, 1], [0.2, 0.0, 0.9]).value == pytest.approx(1.05 / 3)


def test_mean_outcomes_are_refused():
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.brier_score([0.5, 1], [0.2, 0.6])


def test_forecasts_that_are_all_sure_leave_room_for_chance():
    y = np.repeat([0, 1], 10)
    right = cal.confidence_interval(y, y.astype(float), measure="brier")
    assert (right.value, right.low) == (0, 0)
    assert 0.1 < right.high < 0.3  # as Wilson's interval of 20 of 20: 0.16
    wrong = cal.inference.cross_validated_error(np.ones(60, int), np.zeros(60), rng=0)
    assert 0.8 < wrong.low < 0.99

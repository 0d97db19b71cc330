"""Tests of rating grades against scipy, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binomtest

import calibrant as cal


def test_p_values_are_those_of_the_distributions():
    rng = np.random.default_rng(0)
    grade = rng.choice(["A", "B", "C"], 900)
    p = np.select([grade == "A", grade == "B"], [0.005, 0.02], 0.1)
    y = (rng.random(900) < 1.5 * p).astype(int)
    found = cal.grade_tests(y, p, grade)
    assert [one.grade for one in found] == ["A", "B", "C"]
    for one in found:
        own = grade == one.grade
        n, k, pd = int(own.sum()), int(y[own].sum()), float(p[own].mean())
        assert (one.rows, one.events) == (n, k)
        assert one.mean_prediction == pytest.approx(pd)
        assert one.base_rate == k / n
        exact = binomtest(k, n, pd, alternative="greater").pvalue
        assert one.binomial == pytest.approx(exact, rel=1e-9)
        assert one.jeffreys == pytest.approx(beta.cdf(pd, k + 0.5, n - k + 0.5), rel=1e-9)
        assert one.jeffreys < one.binomial


def test_a_grade_without_events_does_not_reject():
    (one,) = cal.grade_tests([0] * 50, [0.01] * 50, ["only"] * 50)
    assert one.binomial == 1
    assert one.jeffreys > 0.5


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(cal.errors.InferenceRefusedError, match="forecasts of 0 or 1 only"):
        cal.grade_tests([0, 1], [0.0, 0.5], ["a", "b"])
    with pytest.raises(cal.errors.InvalidForecastsError):
        cal.grade_tests([0, 1], [0.2, 0.5], ["a"])
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.grade_tests([0.5, 1], [0.2, 0.5], ["a", "b"])


def test_harm_of_the_test_is_taken_off_the_model_alone():
    y, p = [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8]
    plain, harmed = (cal.net_benefit(y, p, thresholds=[0.2, 0.5], harm=h) for h in (0.0, 0.01))
    assert harmed.model == pytest.approx(plain.model - 0.01)
    assert harmed.treat_all == pytest.approx(plain.treat_all)
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.net_benefit(y, p, harm=-1)

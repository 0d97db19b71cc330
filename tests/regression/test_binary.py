"""The logistic fit of two outcomes: where it ends nothing pulls, and bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from calibrant.errors import ConvergenceError
from calibrant.regression import binary, fit_logistic

FREE = (np.full(2, -np.inf), np.full(2, np.inf))


def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    return x, np.full(500, 1 / 500), (rng.random(500) < expit(0.3 - 1.2 * x)) / 500


def test_at_the_end_of_a_fit_no_coefficient_is_pulled():
    x, weight, ones = sample()
    at = fit_logistic(weight, ones, [None, x], FREE, np.zeros(2))
    excess = weight * expit(at[0] + at[1] * x) - ones
    assert [excess.sum(), x @ excess] == pytest.approx([0, 0], abs=1e-12)
    assert at == pytest.approx([0.3, -1.2], abs=0.4)


def test_a_coefficient_stays_at_the_bound_that_it_presses_against():
    x, weight, ones = sample()
    bounds = (np.array([-np.inf, -0.5]), np.array([np.inf, np.inf]))
    at = fit_logistic(weight, ones, [None, x], bounds, np.zeros(2))
    assert at[1] == -0.5
    assert (weight * expit(at[0] - 0.5 * x) - ones).sum() == pytest.approx(0, abs=1e-12)


def test_a_given_part_counts_as_its_coefficient_one():
    x, weight, ones = sample()
    free = (np.full(1, -np.inf), np.full(1, np.inf))
    (alone,) = fit_logistic(weight, ones, [None], free, np.zeros(1), offset=-1.2 * x)
    assert (weight * expit(alone - 1.2 * x) - ones).sum() == pytest.approx(0, abs=1e-12)


def test_a_fit_that_does_not_end_says_so(monkeypatch):
    x, weight, ones = sample()
    monkeypatch.setattr(binary, "MOST_STEPS", 1)
    with pytest.raises(ConvergenceError, match="a logistic regression must converge"):
        fit_logistic(weight, ones, [None, x], FREE, np.zeros(2))

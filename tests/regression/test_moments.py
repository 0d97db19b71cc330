"""Slope and curvature of the log loss, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import calibrant._kernels as kernels


@pytest.mark.parametrize("size", [1, 255, 256, 257, 5000])
@pytest.mark.parametrize("terms", [1, 2, 3])
def test_moments_are_sums_over_rows(size, terms):
    rng = np.random.default_rng(size)
    weight, score = rng.random(size), 30 * rng.normal(size=size)
    ones = weight * rng.random(size)
    columns = [None, rng.normal(size=size), rng.normal(size=size)][:terms]
    slope, curvature = kernels.logistic_moments(weight, ones, score, columns)
    design = np.stack([np.ones(size) if c is None else c for c in columns])
    spread = weight * expit(score) * expit(-score)
    expected = design @ (weight * expit(score) - ones)
    assert slope == pytest.approx(expected, rel=1e-12, abs=1e-12 * size)
    squares = (design * spread) @ design.T
    assert curvature.reshape(terms, terms) == pytest.approx(squares, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("columns", [[], [None] * 4, [np.ones(3)]])
def test_other_terms_are_refused(columns):
    with pytest.raises(ValueError, match=r"terms|lengths"):
        kernels.logistic_moments(np.ones(2), np.ones(2), np.ones(2), columns)

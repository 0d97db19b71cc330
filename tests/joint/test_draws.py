"""Outcomes redrawn from the predictions: the distribution is binomial, whatever the count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import calibrant._kernels as kernels
from calibrant.joint.draws import draw_binomials

COUNTS = [0, 1, 2, 3, 17, 244, 5000]
CHANCES = [0.0, 1e-12, 1e-3, 0.3, 0.5, 0.97, 1 - 1e-12, 1.0]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("chance", CHANCES)
def test_a_uniform_number_becomes_the_quantile(count, chance):
    uniform = np.append(np.random.default_rng(0).random(400), [0.0, 1 - 2**-53])
    drawn = kernels.binomials(uniform[np.newaxis], np.array([count]), np.array([chance]))[:, 0]
    if count == 1:
        assert np.array_equal(drawn, uniform < chance)
        return
    assert np.all((drawn >= 0) & (drawn <= count))
    # The smallest number whose distribution function exceeds the uniform number.
    assert np.all(binom.cdf(drawn, count, chance) >= uniform - 1e-12)
    assert np.all(binom.cdf(drawn - 1, count, chance) <= uniform + 1e-12)


def test_every_distribution_has_its_own_row_of_uniform_numbers():
    rng = np.random.default_rng(1)
    count, chance = rng.integers(0, 40, 21), rng.random(21)
    uniform = rng.random((21, 7))
    drawn = kernels.binomials(uniform, count, chance)
    assert drawn.shape == (7, 21)
    for i in range(21):
        alone = kernels.binomials(uniform[i : i + 1], count[i : i + 1], chance[i : i + 1])
        assert np.array_equal(alone[:, 0], drawn[:, i])


@pytest.mark.parametrize("count", [7, 60, 10**9])
def test_draws_have_the_binomial_distribution(count):
    """With a table, and without one where it would be too long."""
    chance = 0.3 if count < 10**9 else 1e-3
    drawn = draw_binomials(np.array([count]), np.array([chance]), 20_000, np.random.default_rng(2))
    cuts = binom.ppf(np.linspace(0, 1, 9)[1:-1], count, chance)
    counts = np.bincount(np.searchsorted(cuts, drawn[:, 0]), minlength=8)
    share = np.diff(np.concatenate([[0.0], binom.cdf(cuts, count, chance), [1.0]]))
    assert chisquare(counts[share > 0], 20_000 * share[share > 0]).pvalue > 1e-3


def test_few_draws_of_large_counts_need_no_table():
    rng = np.random.default_rng(3)
    drawn = draw_binomials(np.array([1, 10**12, 3]), np.array([0.5, 0.5, 1.0]), 2, rng)
    assert np.all(np.abs(drawn[:, 1] - 5e11) < 1e7)
    assert np.array_equal(drawn[:, 2], [3, 3])

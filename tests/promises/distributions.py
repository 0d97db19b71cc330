"""Whole distributions: transforms, their histogram, and chances of exceeding thresholds."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from calibrant.distributions import PredictiveDistributions
from promises.core import Promise

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def right(rng, n, form):
    """Right distributions of a form, and outcomes."""
    mean, spread = rng.normal(0, 2, n), rng.gamma(4, 0.25, n)
    y = rng.normal(mean, spread)
    if form == "ten members":
        members = rng.normal(mean[:, None], spread[:, None], (n, 10))
        return PredictiveDistributions.from_ensemble(members), y
    if form == "ten tied members":
        members = np.round(rng.normal(mean[:, None], spread[:, None], (n, 10)))
        return PredictiveDistributions.from_ensemble(members), np.round(y)
    if form == "five quantiles":
        values = mean[:, None] + spread[:, None] * stats.norm.ppf(LEVELS)
        return PredictiveDistributions.from_quantiles(LEVELS, values), y
    if form == "a cdf of counts":
        rate = np.exp(mean / 2)
        return PredictiveDistributions.from_cdf(stats.poisson(rate).cdf, n), rng.poisson(rate)
    return PredictiveDistributions.from_cdf(stats.norm(mean, spread).cdf, n), y


def weights_of(rng, n, *, weighted):
    return rng.lognormal(0, 1, n) if weighted else None


def uniform_transforms_are_rejected(n, form, weighted, rng):
    forecasts, y = right(rng, n, form)
    weight = weights_of(rng, n, weighted=weighted)
    return forecasts.pit_test(y, sample_weight=weight, draws=199, rng=rng).pvalue <= 0.05


def a_bin_leaves_the_band(n, form, weighted, rng):
    forecasts, y = right(rng, n, form)
    weight = weights_of(rng, n, weighted=weighted)
    return bool(forecasts.pit_histogram(y, sample_weight=weight, draws=399, rng=rng).beyond)


def a_right_threshold_is_accused(n, form, weighted, rng):
    """By so small a tolerance that nothing but the intervals protects perfect forecasts."""
    forecasts, y = right(rng, n, form)
    found = forecasts.threshold_calibration(
        y,
        np.quantile(y, [0.1, 0.3, 0.5, 0.7, 0.9]),
        sample_weight=weights_of(rng, n, weighted=weighted),
        tolerance=1e-9,
        draws=299,
        rng=rng,
    )
    return bool(found.failing)


def promises():
    for n, form, weighted in (
        (50, "ten members", False),
        (200, "ten tied members", False),
        (200, "five quantiles", False),
        (200, "a cdf of counts", False),
        (200, "a normal cdf", True),
        (2000, "a normal cdf", False),
    ):
        words = f"{n} rows, {form}{', weights' if weighted else ''}"
        yield Promise(
            "test of uniform transforms at level 0.05",
            words,
            partial(uniform_transforms_are_rejected, n, form, weighted),
            400 if n < 2000 else 200,
        )
        yield Promise(
            "band of the histogram of transforms",
            words,
            partial(a_bin_leaves_the_band, n, form, weighted),
            400 if n < 2000 else 200,
        )
    for n, form, weighted in (
        (200, "a normal cdf", False),
        (300, "a normal cdf", True),
        (2000, "a normal cdf", False),
    ):
        yield Promise(
            "no right threshold of five is accused",
            f"{n} rows, {form}{', weights' if weighted else ''}",
            partial(a_right_threshold_is_accused, n, form, weighted),
            100,
        )

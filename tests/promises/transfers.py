"""Means of another population: intervals by weights and by corrected predictions."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.groups import target_mean
from promises.core import Promise
from promises.samples import together

STEEPNESS = {"mild": 1.0, "strong": 3.0}
CHANCES = {"even": lambda x: 0.2 + 0.5 * x**2, "rare": lambda x: 0.01 + 0.04 * x**2}


def misses(which, shift, chances, sizes, route, rng):
    """Source uniform, target with a density proportional to exp(steepness x); a crude model."""
    steep, chance = STEEPNESS[shift], CHANCES[chances]
    count, target_count = sizes
    here, there = rng.random(count), _tilted(rng.random(target_count), steep)
    cluster = target_cluster = None
    uniform = rng.random(count)
    if "clusters" in route:
        cluster = np.repeat(np.arange(count // 10), 10)
        here = np.repeat(here[: count // 10], 10)
        uniform = together(rng, cluster, 0.3)
        target_cluster = np.repeat(np.arange(target_count // 10), 10)
        there = np.repeat(there[: target_count // 10], 10)
    y = uniform < chance(here)
    grid = _tilted((np.arange(4000) + 0.5) / 4000, steep)
    truth = float(chance(grid).mean())
    known = {"features": here[:, None], "target_features": there[:, None]}
    if "fitted" not in route:
        known = {"odds": np.exp(steep * here)}
    p, q = (0.8 * chance(0.5) + 0.1 * chance(x) for x in (here, there))
    found = target_mean(y, p, q, clusters=cluster, target_clusters=target_cluster, **known)
    estimate = getattr(found, which)
    return not estimate.low <= truth <= estimate.high


def _tilted(u, steep):
    """Quantiles of the density proportional to exp(steep x) on [0, 1]."""
    return np.log1p(u * np.expm1(steep)) / steep


def promises():
    for which in ("weighted", "corrected"):
        for shift, chances, sizes, route in (
            ("mild", "even", (50, 50), "given odds"),
            ("mild", "even", (500, 200), "given odds"),
            ("strong", "even", (50, 50), "given odds"),
            ("strong", "even", (500, 200), "given odds"),
            ("strong", "rare", (300, 200), "given odds"),
            ("strong", "rare", (2000, 1000), "given odds"),
            ("mild", "even", (500, 200), "given odds in clusters"),
            ("strong", "rare", (2000, 1000), "given odds in clusters"),
            ("mild", "even", (500, 200), "fitted odds in clusters"),
            ("mild", "even", (50, 50), "fitted odds"),
            ("strong", "even", (500, 200), "fitted odds"),
            ("strong", "rare", (2000, 1000), "fitted odds"),
        ):
            yield Promise(
                f"interval of the target mean, {which}",
                f"{shift} shift, {chances} events, {sizes[0]} and {sizes[1]} rows, {route}",
                partial(misses, which, shift, chances, sizes, route),
            )

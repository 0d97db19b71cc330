"""Multicalibration by simulation: it does no harm, and what it claims is true."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from calibrant.groups import Multicalibrator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning"),
]

METHODS = ["hkrr", "low_degree", "boosted"]
# A share of 5 % has a standard error of 2 points.
RUNS = 120


def rows(n, rng, broken):
    """Base predictions, true chances and columns; two groups are off, worth 0.003, or none."""
    by = {
        "site": rng.choice(list("abcd"), n),
        "night": rng.random(n) < 0.3,
        "age": rng.integers(18, 90, n),
        "kind": rng.choice(list("uvw"), n, p=[0.6, 0.3, 0.1]),
    }
    base = 0.1 + 0.8 * rng.beta(2, 2, n)
    shift = broken * (0.094 * (by["site"] == "a") - 0.086 * by["night"])
    return base, np.clip(base + shift, 0, 1), by


@cache
def fresh(broken):
    return rows(100_000, np.random.default_rng(99), broken)


def samples(method, n, broken, runs):
    """Whether corrections were kept, what they claim, and what they bring on fresh rows."""
    new, truth, columns = fresh(broken)
    rng = np.random.default_rng(n)
    found = []
    for run in range(runs):
        base, chance, by = rows(n, rng, broken)
        patched = Multicalibrator(method, rng=run).fit(base, rng.random(n) < chance, by)
        moved = patched.transform(new, columns)
        true = np.mean((new - truth) ** 2 - (moved - truth) ** 2)
        found.append((patched.fit_.kept, patched.fit_.gain.value, true))
    return np.array(found, dtype=float).T


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [500, 3000, 20_000])
def test_sound_forecasts_are_left_alone(method, n):
    kept, _, _ = samples(method, n, broken=False, runs=RUNS)
    assert kept.mean() <= 0.05


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "share", "runs"), [(3000, 0.0, RUNS), (20_000, 0.6, 30)])
def test_broken_groups_are_never_worse_and_claims_are_true(method, n, share, runs):
    """Claims are of corrections found with four fifths of the rows: no more than the truth."""
    kept, claim, true = samples(method, n, broken=True, runs=runs)
    new, truth, _ = fresh(broken=True)
    available = np.mean((new - truth) ** 2)
    assert available == pytest.approx(0.0032, abs=1e-4)
    assert true.mean() > share * available
    for some in (kept >= 0, kept == 1):
        over = (claim - true)[some]
        noise = 2 * over.std() / np.sqrt(over.size)
        assert -0.15 * true[some].mean() - noise < over.mean() < noise

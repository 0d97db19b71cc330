"""Coverage of intervals, by simulation: the population's error lies inside as often as promised.

Predictions fall on a grid, so that the population's error is known exactly. A share below the
nominal one by more than four standard errors fails. Few clusters, few events,
the typical gap and the verdict are tried in tests/promises/.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.inference import laws as cluster_laws
from calibrant.inference.evidence import Evidence
from calibrant.inference.ratio import find_ratio

pytestmark = pytest.mark.slow

NOMINAL, REPETITIONS, DRAWS = 0.9, 2000, 199
GRID = np.arange(1, 100) / 100
RARE = 0.05 * 10 ** np.linspace(-3, 0, 60)  # mean 1 %


def shifted(v):
    return np.clip(v + 0.08, 0, 1) if v.max() > 0.5 else 1.5 * v


def flattened(v):
    return 0.5 + (v - 0.5) * 0.6 if v.max() > 0.5 else v / 2


TRUTHS = {"calibrated": lambda v: v, "shifted": shifted, "flattened": flattened}
WEIGHTS = {
    "no weights": lambda rng, n: None,
    "weights of four": lambda rng, n: np.full(n, 4.0),
    "log-normal weights": lambda rng, n: rng.lognormal(0, 1, n),
}


def population_error(v, rate, measure):
    uniform = cal.Joint.from_counts(v, np.ones(v.size), np.zeros(v.size))
    charges = (rate - v) / v.size
    return float(JOINT_MEASURES[measure].batch(uniform, charges[np.newaxis, :])[0])


def rows_in_clusters(rng, v, rate, n, size):
    """A shared normal number makes outcomes of one cluster depend on each other."""
    level = rng.integers(0, v.size, (n // size, size))
    shared = rng.standard_normal((n // size, 1))
    own = rng.standard_normal(level.shape)
    outcome = ndtr(0.8 * shared + 0.6 * own) < rate[level]
    return outcome.ravel(), v[level].ravel(), np.repeat(np.arange(n // size), size)


def coverage(v, truth, n, measure="smooth_calibration_error", weights=None, size=1, cells=None):
    rng = np.random.default_rng(17)
    rate = truth(v)
    error = population_error(v, rate, measure)
    inside = 0
    for _ in range(REPETITIONS):
        y, p, clusters = rows_in_clusters(rng, v, rate, n, size)
        weight = None if weights is None else weights(rng, n)
        options = {"measure": measure, "confidence": NOMINAL, "draws": DRAWS, "rng": rng}
        if cells is not None:
            joint = cal.Joint.from_samples(y, p, resolution=cells)
            interval = cal.confidence_interval(joint, **options)
        else:
            interval = cal.confidence_interval(
                y, p, sample_weight=weight, clusters=clusters if size > 1 else None, **options
            )
        inside += interval.low - 1e-12 <= error <= interval.high + 1e-12
    return inside / REPETITIONS


def assert_covers(share):
    assert share >= NOMINAL - 4 * np.sqrt(NOMINAL * (1 - NOMINAL) / REPETITIONS)


@pytest.mark.parametrize("n", [100, 2000])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("levels", [GRID, RARE], ids=["ties", "rare events"])
def test_coverage_for_the_smooth_error(levels, truth, weights, n):
    assert_covers(coverage(levels, TRUTHS[truth], n, weights=WEIGHTS[weights]))


@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("levels", [GRID, RARE], ids=["ties", "rare events"])
def test_coverage_with_clusters_of_ten(levels, truth, n):
    assert_covers(coverage(levels, TRUTHS[truth], n, size=10))


@pytest.fixture
def bundles(monkeypatch):
    """Put clusters together in bundles, as is done for millions of rows."""
    for name, value in (("MANY_ROWS", 100), ("MANY_CLUSTERS", 100), ("FEW_LEVELS", 10)):
        monkeypatch.setattr(cluster_laws, name, value)
    for name in ("BLOCKS", "FEWEST_BLOCKS"):
        monkeypatch.setattr(cluster_laws, name, 200)


@pytest.mark.usefixtures("bundles")
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("levels", [GRID, RARE], ids=["ties", "rare events"])
def test_coverage_with_bundles_of_clusters(levels, truth):
    assert_covers(coverage(levels, TRUTHS[truth], 4000, size=10))


@pytest.mark.usefixtures("bundles")
@pytest.mark.parametrize("levels", [GRID, RARE], ids=["ties", "rare events"])
def test_size_with_bundles_of_clusters(levels):
    rng = np.random.default_rng(18)
    small = 0
    for _ in range(REPETITIONS):
        y, p, clusters = rows_in_clusters(rng, levels, levels, 4000, 10)
        small += cal.calibration_test(y, p, clusters=clusters, draws=DRAWS, rng=rng).pvalue <= 0.05
    assert small / REPETITIONS <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / REPETITIONS)


@pytest.mark.parametrize("truth", TRUTHS)
def test_coverage_on_rounded_predictions(truth):
    """The rounded Joint's error moves by at most its rounding, far below the half-width."""
    assert_covers(coverage(GRID, TRUTHS[truth], 2000, cells=1024))


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize(
    "measure",
    [n for n, m in JOINT_MEASURES.items() if m.interval and n != "weighted_calibration_error"],
)
def test_coverage_for_other_measures(measure, truth):
    assert_covers(coverage(GRID, TRUTHS[truth], 500, measure=measure))


def test_the_interval_is_not_merely_wide():
    """At zero error the interval is nearly exact: it covers about as often as it says."""
    assert coverage(GRID, TRUTHS["calibrated"], 2000) <= 0.93


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_of_observed_over_expected(weighted, clustered):
    rng = np.random.default_rng(5)
    rate = 1.5 * RARE
    truth = rate.mean() / RARE.mean()
    inside = 0
    for _ in range(REPETITIONS):
        y, p, clusters = rows_in_clusters(rng, RARE, rate, 3000, 5 if clustered else 1)
        weight = rng.choice([1.0, 2.0], y.size) if weighted else None
        evidence = Evidence.read(y, p, weight, None, clusters if clustered else None)
        ratio = find_ratio(evidence, NOMINAL)
        inside += ratio.low <= truth <= ratio.high
    assert_covers(inside / REPETITIONS)

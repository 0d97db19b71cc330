"""The compiled monitor beside its definition."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.monitoring.alarms import EDGES
from oracles.definition_of_bets import cell_of, evidence_of, evidence_path, parts_and_detector
from oracles.strategies import universal

PREDICTIONS = st.one_of(
    st.floats(0.001, 0.999),
    st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.1, 0.9, 1e-6, 1 - 1e-6, 1e-300]),
)
ROWS = st.lists(st.tuples(PREDICTIONS, st.integers(0, 1)), min_size=1, max_size=70)
TOLERANCES = st.sampled_from([0.0, None, 0.02, 0.3, 0.99])


def away_from_edges(rows):
    """Leave out predictions so near an edge that the logarithm may say otherwise."""
    return [(v, y) for v, y in rows if v == 0.5 or not np.isclose(v, EDGES, rtol=1e-12).any()]


def played(rows, tolerance, **options):
    monitor = cal.CalibrationMonitor(tolerance, **options)
    monitor.update_many([y for _, y in rows], [v for v, _ in rows])
    return monitor


def contradicted(rows, tolerance):
    return tolerance == 0 and any(v in {0.0, 1.0} and v != y for v, y in rows)


@universal
@given(rows=ROWS, tolerance=TOLERANCES)
def test_the_monitor_is_its_definition(rows, tolerance):
    rows = away_from_edges(rows) or [(0.5, 1)]
    monitor = played(rows, tolerance)
    if contradicted(rows, tolerance):
        assert monitor.evidence == monitor.change_evidence == np.inf
        return
    parts, detector = parts_and_detector(rows, tolerance)
    assert monitor.parts == pytest.approx(parts, rel=1e-9)
    assert monitor.evidence == pytest.approx(evidence_of(parts), rel=1e-9)
    assert monitor.change_evidence == pytest.approx(detector, rel=1e-9)


@pytest.mark.parametrize("tolerance", [0.0, None, 0.02])
@pytest.mark.parametrize("shape", ["shift", "slope", "rare"])
def test_a_longer_stream(tolerance, shape):
    rng = np.random.default_rng(5)
    p = rng.random(140) if shape != "rare" else 10 ** rng.uniform(-4, -1, 140)
    chance = {"shift": p + 0.1, "slope": 0.5 + 0.3 * (p - 0.5), "rare": 3 * p}[shape]
    rows = [(float(v), int(y)) for v, y in zip(p, rng.random(140) < chance, strict=True)]
    parts, detector = parts_and_detector(rows, tolerance)
    monitor = played(rows, tolerance)
    assert monitor.parts == pytest.approx(parts, rel=1e-9)
    assert monitor.change_evidence == pytest.approx(detector, rel=1e-9)


def test_alarm_peak_and_change_are_the_first_and_largest_of_the_path():
    rng = np.random.default_rng(8)
    p = rng.random(50)
    y = rng.random(50) < np.sqrt(p)
    rows = [(float(v), int(x)) for v, x in zip(p, y, strict=True)]
    path = evidence_path(rows, 0.0)
    sums = [parts_and_detector(rows[:t], 0.0)[1] for t in range(1, 51)]
    level = sorted(path)[40]
    monitor = played(rows, 0.0, alpha=min(0.999, 1 / level), run_length=sums[30])
    reached = [t for t, value in enumerate(path, 1) if value >= (1 - 1e-12) / monitor.alpha]
    assert monitor.alarm_row == reached[0]
    assert monitor.pvalue == pytest.approx(1 / max([1, *path]), rel=1e-9)
    noticed = [t for t, value in enumerate(sums, 1) if value >= sums[30] * (1 - 1e-12)]
    assert monitor.change_row == noticed[0]


def test_cells_are_a_quarter_wide_in_log_odds():
    between = np.concatenate([[1e-9], (EDGES[1:] + EDGES[:-1]) / 2, [1 - 1e-9], [0.0, 0.5, 1.0]])
    for v in between.tolist():
        monitor = played([(v, int(v > 0.5))], 0.02)
        assert np.flatnonzero(monitor._bets.book["cell_rows"][0]).tolist() == [cell_of(v)]

"""What must hold for the monitor after any rows: fairness of every bet, and state that travels."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given

import calibrant as cal
from oracles.strategies import universal

PREDICTIONS = st.one_of(
    st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 0.5, 0.01, 0.99, 1e-6, 5e-324])
)
PAST = st.lists(st.tuples(PREDICTIONS, st.integers(0, 1)), max_size=90)
TOLERANCES = st.sampled_from([0.0, None, 0.02, 0.2, 0.999])


def after(past, tolerance=None, **options):
    monitor = cal.CalibrationMonitor(tolerance, **options)
    if past:
        monitor.update_many([y for _, y in past], [v for v, _ in past])
    return monitor


def tolerated(tolerance, v):
    return min(0.02, v / 10, (1 - v) / 10) if tolerance is None else tolerance


def next_values(monitor, v):
    """Evidence and detector if the next row has prediction v and outcome 0, or 1."""
    values = []
    for y in (0, 1):
        branch = cal.CalibrationMonitor.from_json(monitor.to_json())
        branch.update(y, v)
        values.append((branch.evidence, branch.change_evidence))
    return values


def mean_of(values, chance):
    """Mean over the outcome; what has no chance does not count, be it infinite."""
    parts = [(1 - chance, values[0]), (chance, values[1])]
    return [sum(w * value[k] for w, value in parts if w > 0) for k in range(2)]


@universal
@given(past=PAST, tolerance=TOLERANCES, v=PREDICTIONS, side=st.sampled_from([-1, 0, 1]))
def test_no_bet_gains_on_average_where_chances_are_within_tolerance(past, tolerance, v, side):
    """The theorem behind the alarm: after any past the mean of the next evidence is no larger."""
    monitor = after(past, tolerance)
    assume(monitor.evidence < np.inf)
    chance = min(1.0, max(0.0, v + side * tolerated(tolerance, v)))
    evidence, detector = mean_of(next_values(monitor, v), chance)
    assert evidence <= monitor.evidence * (1 + 1e-12)
    assert detector <= (monitor.change_evidence + 1) * (1 + 1e-12)


@universal
@given(past=PAST, tolerance=st.sampled_from([None, 0.02, 0.2]), v=PREDICTIONS, u=PREDICTIONS,
       signs=st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])),
       first=st.floats(0, 1))  # fmt: skip
def test_an_error_within_tolerance_on_average_is_tolerated(past, tolerance, v, u, signs, first):
    """Either prediction comes next with chance one half; only their mean error is within."""
    monitor = after(past, tolerance)
    allowed = tolerated(tolerance, v) + tolerated(tolerance, u)
    totals = np.zeros(2)
    for prediction, sign, share in ((v, signs[0], first), (u, signs[1], 1 - first)):
        chance = min(1.0, max(0.0, prediction + sign * share * allowed))
        totals += np.array(mean_of(next_values(monitor, prediction), chance)) / 2
    assert totals[0] <= monitor.evidence * (1 + 1e-12)
    assert totals[1] <= (monitor.change_evidence + 1) * (1 + 1e-12)


def test_a_larger_error_can_be_gained_from():
    """The two laws above could hold for a monitor that never bets."""
    monitor = after([(0.5, 1)] * 40, 0.02)
    evidence, detector = mean_of(next_values(monitor, 0.5), 0.8)
    assert evidence > 1.1 * monitor.evidence
    assert detector > 1.1 * monitor.change_evidence


@universal
@given(past=PAST, tolerance=TOLERANCES)
def test_evidence_is_a_mean_of_positive_parts(past, tolerance):
    monitor = after(past, tolerance)
    shift, *others = monitor.parts.values()
    assert monitor.evidence == pytest.approx(0.25 * shift + 0.15 * sum(others), rel=1e-12)
    assert min(monitor.parts.values()) > 0
    assert set(monitor.parts) == {"shift", "slope", "wave", "binned", "isotonic", "smooth"}


@universal
@given(past=PAST, tolerance=TOLERANCES, cuts=st.lists(st.integers(0, 90), max_size=4))
def test_rows_may_come_one_by_one_or_in_any_pieces(past, tolerance, cuts):
    whole = after(past, tolerance)
    single = cal.CalibrationMonitor(tolerance)
    for v, y in past:
        single.update(y, v)
    pieces = cal.CalibrationMonitor(tolerance)
    places = sorted({0, len(past), *[cut for cut in cuts if cut < len(past)]})
    for start, stop in pairwise(places):
        pieces.update_many([y for _, y in past[start:stop]], [v for v, _ in past[start:stop]])
    assert whole.to_json() == single.to_json() == pieces.to_json()


@universal
@given(past=PAST, rest=PAST, tolerance=TOLERANCES, through=st.sampled_from(["json", "pickle"]))
def test_stored_loaded_and_carried_on_is_never_stopped(past, rest, tolerance, through):
    stopped = after(past, tolerance, alpha=0.2, run_length=50)
    if through == "json":
        text = json.dumps(json.loads(stopped.to_json()), indent=2)  # what another program may do
        resumed = cal.CalibrationMonitor.from_json(text)
    else:
        resumed = pickle.loads(pickle.dumps(stopped))  # noqa: S301
    assert resumed == stopped
    for v, y in rest:
        resumed.update(y, v)
    assert resumed == after(past + rest, tolerance, alpha=0.2, run_length=50)


def test_the_state_does_not_grow():
    rng = np.random.default_rng(0)
    monitor = cal.CalibrationMonitor()
    sizes = []
    for rows in (10_000, 100_000):
        p = rng.random(rows)
        monitor.update_many(rng.random(rows) < p, p)
        sizes.append(len(monitor.to_json()))
    assert max(sizes) < 11_000


CONTAINERS = {
    "list": lambda v: v.tolist(),
    "pandas": pd.Series,
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "polars": lambda v: pl.Series("v", v),
    "arrow": pa.array,
    "column": lambda v: v[:, np.newaxis],
    "strided": lambda v: np.repeat(v, 3)[::3],
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_the_container_does_not_matter(container):
    rng = np.random.default_rng(2)
    p = rng.integers(0, 17, 100) / 16
    y = (rng.random(100) < p).astype(int)
    monitor = cal.CalibrationMonitor()
    monitor.update_many(container(y), container(p))
    plain = cal.CalibrationMonitor()
    plain.update_many(y, p)
    assert monitor == plain
    flags = cal.CalibrationMonitor()
    flags.update_many(np.where(y == 1, "yes", "no"), p, pos_label="yes")
    assert flags == plain


def test_swapping_outcomes_and_predictions_gives_the_same_evidence():
    """Nothing prefers the outcome 1: with 1 - y and 1 - p the evidence is the same."""
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y = rng.random(300) < p**2
    one, other = cal.CalibrationMonitor(), cal.CalibrationMonitor()
    one.update_many(y, p)
    other.update_many(~y, 1 - p)
    for part in ("shift", "slope", "wave", "binned", "isotonic"):
        assert one.parts[part] == pytest.approx(other.parts[part], rel=1e-6)

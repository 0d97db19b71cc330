"""Bets on continuous outcomes: fair for every distribution with the promised mean."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import calibrant as cal
from calibrant import CalibrationMonitor
from calibrant.data.rows import Rows
from calibrant.errors import (
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
)
from calibrant.kinds import read_kind
from calibrant.monitoring import Bets, betting_test
from calibrant.monitoring.bets import Bet, allowance_of
from oracles import definition_of_bets


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.02, None]),
)
def test_no_bet_can_gain_on_average_whatever_the_next_outcome_is(rows, tolerance):
    """After any past, outcomes in [0, 1] with mean v multiply the evidence by one at most."""
    past, (v, spread) = rows[:-1], rows[-1]
    low, high = v - spread * v, v + spread * (1 - v)
    chance = 0.5 if high == low else (v - low) / (high - low)
    mean = 0.0
    for outcome, share in ((low, 1 - chance), (high, chance)):
        bets = Bets(tolerance, 1e9, 1e9, between=True)
        if past:
            bets.play(*(np.array(column) for column in zip(*past, strict=True)))
        before = bets.evidence
        bets.play(np.array([v]), np.array([outcome]))
        mean += share * bets.evidence
        # A forecast of 0 or 1 that is wrong has no mean to talk about.
        assume(not bets.contradicted)
    assert mean <= before * (1 + 1e-9)


def test_outcomes_0_and_1_in_the_range_0_to_1_are_those_of_the_monitor_of_probabilities():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = (rng.random(300) < p**2).astype(float)
    real, binary = (
        CalibrationMonitor(kind="mean", range=(0, 1), tolerance=0.02),
        CalibrationMonitor(0.02),
    )
    assert real.update_many(y, p) == binary.update_many(y, p)
    assert real.evidence == binary.evidence
    assert real.pvalue == binary.pvalue
    assert real.alarm_row == binary.alarm_row


def test_outcomes_between_are_played_as_the_definition_says():
    rng = np.random.default_rng(4)
    v, y = rng.uniform(0.05, 0.95, 40), rng.random(40)
    bets = Bets(0.0, 1e9, 1e9, between=True)
    bets.play(v, y)
    path = definition_of_bets.evidence_path(list(zip(v.tolist(), y.tolist(), strict=True)), 0.0)
    assert bets.evidence == pytest.approx(path[-1], rel=1e-9)


@pytest.mark.parametrize("kind", ["mean", "expectile=0.5", "expectile=0.8", "expectile=0.1"])
def test_bets_have_the_promised_mean_where_the_forecast_is_right(kind):
    """For every outcome distribution: here gamma outcomes, cut, whose property is solved for."""
    rng = np.random.default_rng(2)
    y = np.clip(rng.gamma(2, 8, 4000), 0, 50)
    z = Rows.of_kind(y, y, kind).kind.best(y, np.ones(y.size))
    bet = Bet.of(Rows.of_kind(y, np.full(y.size, z), kind, range_=(0, 50)))
    assert bet.outcome.mean() == pytest.approx(bet.prediction[0], abs=1e-12)
    assert bet.outcome.min() >= 0
    assert bet.outcome.max() <= 1


def test_rows_one_by_one_are_rows_at_once_and_stored_state_carries_on():
    rng = np.random.default_rng(3)
    z = rng.uniform(0, 10, 200)
    y = z + rng.normal(0.4, 1, 200)
    at_once, one_by_one = CalibrationMonitor(kind="quantile=0.5"), CalibrationMonitor(kind="median")
    at_once.update_many(y, z)
    for row in zip(y, z, strict=True):
        one_by_one.update(*row)
    assert one_by_one == at_once
    stored = CalibrationMonitor(kind="quantile=0.5")
    stored.update_many(y[:90], z[:90])
    again = CalibrationMonitor.from_json(stored.to_json())
    again.update_many(y[90:], z[90:])
    assert again == pickle.loads(pickle.dumps(at_once))  # noqa: S301
    assert again.alarm_row == at_once.alarm_row


def test_an_error_of_some_forecasts_only_is_found_by_its_range():
    """Too low for small forecasts, too high for large ones: coverage over all rows is right."""
    rng = np.random.default_rng(5)
    z = rng.uniform(0, 10, 3000)
    y = z + rng.normal(0, 1, 3000) + np.where(z < 5, 0.3, -0.3)
    monitor = CalibrationMonitor(kind="median")
    assert monitor.update_many(y, z)
    assert monitor._bets.peak < 2 / 0.05
    assert monitor.pvalue <= 0.05


def test_intervals_that_cover_too_little_cause_an_alarm_and_right_ones_none():
    rng = np.random.default_rng(6)
    z, half = rng.uniform(0, 10, 1500), 1.6449
    y = z + rng.standard_normal(1500)
    right, narrow = (CalibrationMonitor(kind="interval", level=0.9) for _ in range(2))
    assert not right.update_many(y, np.column_stack([z - half, z + half]))
    assert right.sentence.startswith("No alarm")
    assert narrow.update_many(y, np.column_stack([z - 1, z + 1]))
    assert "67.3 % of outcomes inside, 90 % promised" in narrow.sentence
    assert "alarm" in repr(narrow)


def test_tolerances_are_in_units_of_the_outcome():
    assert CalibrationMonitor(kind="mean", range=(0, 200), tolerance=10).tolerance == pytest.approx(
        0.05
    )
    assert CalibrationMonitor(
        kind="mean", range=(0, 200), tolerance="5%"
    ).tolerance == pytest.approx(0.05)
    assert CalibrationMonitor(kind="mean", range=(0, 200)).tolerance == pytest.approx(0.02)
    assert CalibrationMonitor(kind="quantile=0.9").tolerance == pytest.approx(0.01)
    assert CalibrationMonitor(kind="quantile=0.9", tolerance=0.03).tolerance == pytest.approx(0.03)
    # An expectile of 0.8 that is off by 10 may be so at the end where bets are widest.
    expectile = CalibrationMonitor(kind="expectile=0.8", range=(0, 200), tolerance=10)
    assert expectile.tolerance == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "need the range"),
        ({"kind": "expectile=0.8"}, "need the range"),
        ({"kind": "interval"}, "level=0.9"),
        ({"kind": "quantile=0.9", "level": 0.9}, "level is for intervals"),
        ({"range": (0, 1), "tolerance": 2}, "tolerance"),
        ({"range": (0, 1), "edges": [0.5]}, "edges are for"),
        ({"kind": "median", "edges": [2, 1]}, "increase"),
        ({"kind": "median", "alpha": 0}, "alpha"),
    ],
)
def test_bad_options_are_refused_with_a_reason(options, message):
    with pytest.raises(InvalidOptionError) as error:
        CalibrationMonitor(**{"kind": "mean", **options})
    assert message in str(error.value)


def test_outcomes_beyond_the_range_are_refused_and_change_nothing():
    monitor = CalibrationMonitor(kind="mean", range=(0, 10))
    monitor.update(5.0, 4.0)
    before = monitor.to_json()
    with pytest.raises(InvalidForecastsError, match="within the range"):
        monitor.update_many([3.0, 11.0], [4.0, 4.0])
    assert monitor.to_json() == before


def test_a_state_that_somebody_changed_is_refused():
    monitor = CalibrationMonitor(kind="median")
    monitor.update_many(np.arange(400.0) % 80, np.arange(400.0) % 80 + 1)
    stored = json.loads(monitor.to_json())
    assert stored["alarm_of_range"] is not None
    for name, value in (
        ("bets", stored["bets"] | {"rows": 7}),
        ("bets", stored["bets"] | {"alarm_row": None}),
        ("kind", "mode"),
        ("level", 1.0),
        ("alarm_of_range", None),
        ("alarm_of_range", 401),
        ("ranges", []),
        ("ranges", stored["ranges"][::-1] + stored["ranges"][:1]),
        ("alpha", "0.05"),
        ("sums", [1.0]),
        ("edges", [3.0, 1.0]),
    ):
        with pytest.raises(InvalidStateError):
            CalibrationMonitor.from_json(json.dumps(stored | {name: value}))


def test_the_betting_test_does_not_know_the_order_of_rows_and_averages_clusters():
    rng = np.random.default_rng(8)
    z = rng.uniform(10, 40, 400)
    y = np.clip(z + rng.exponential(8, 400) - 8, 0, 100)
    order = rng.permutation(400)
    for options in ({"range": (0, 100)}, {"kind": "quantile=0.6"}):
        first = betting_test(y, z, rng=0, **options)
        assert betting_test(y[order], z[order], rng=0, **options) == first
        twice = betting_test(
            np.repeat(y, 3),
            np.repeat(z, 3),
            clusters=np.repeat(np.arange(400), 3),
            rng=0,
            **options,
        )
        assert twice.pvalue == pytest.approx(first.pvalue, rel=1e-6)
    assert betting_test(y, z - 7, range=(0, 100), rng=0).pvalue < 0.01
    with pytest.raises(InferenceRefusedError, match="at least two"):
        betting_test(y, z, range=(0, 100), clusters=np.zeros(400))
    with pytest.raises(InvalidOptionError, match="bets take no weights"):
        betting_test(Rows.of_kind(y, z, "median", sample_weight=np.ones(400)))


def test_the_betting_test_tells_what_was_observed():
    found = betting_test([1.0, 2.0], [1.5, 1.5], range=(0, 4), rng=0)
    assert found.sentence.endswith("(mean forecast 1.50, observed mean 1.50, 2 rows).")
    assert betting_test([1.0], [1.5], kind="expectile=0.8", range=(0, 4), rng=0).observed == ""


@pytest.mark.parametrize("kind", ["quantile=0.99", "quantile=0.5", "median"])
def test_audit_and_monitor_tolerate_the_same_by_default(kind):
    rng = np.random.default_rng(0)
    y, z = rng.normal(size=400), rng.normal(size=400)
    audited = cal.audit(y, z, kind=kind, draws=99, rng=0).verdict.tolerance
    level = 0.5 if kind == "median" else float(kind.partition("=")[2])
    assert audited == allowance_of(read_kind(kind), None, None)
    assert audited == pytest.approx(min(0.02, 0.1 * (1 - level)))


def test_update_takes_one_row_and_refuses_several():
    with pytest.raises(InvalidForecastsError, match="update_many"):
        CalibrationMonitor(kind="quantile=0.9").update([1.0, 2.0], [2.0, 3.0])

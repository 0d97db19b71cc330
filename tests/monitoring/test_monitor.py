"""The monitor, as a user meets it."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import (
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
)


def fed(count=200, chance=0.8, tolerance=None, **options):
    rng = np.random.default_rng(1)
    monitor = cal.CalibrationMonitor(tolerance, **options)
    monitor.update_many(rng.random(count) < chance, np.full(count, 0.5))
    return monitor


def test_an_alarm_stays():
    monitor = fed()
    assert monitor.alarm
    row = monitor.alarm_row
    assert 1 < row < 200
    monitor.update_many([0] * 60 + [1] * 40, [0.5] * 100)
    assert monitor.alarm
    assert monitor.alarm_row == row
    assert "No alarm" not in monitor.sentence


def test_the_alarm_is_at_the_row_where_the_evidence_gets_there():
    rng = np.random.default_rng(6)
    y = rng.random(300) < 0.75
    monitor = cal.CalibrationMonitor(alpha=0.1)
    first = None
    for row, outcome in enumerate(y, 1):
        alarm = monitor.update(outcome, 0.5)
        if monitor.evidence >= 10 and first is None:
            first = row
        assert alarm == (first is not None)
    assert monitor.alarm_row == first is not None


def test_sentences():
    quiet = cal.CalibrationMonitor()
    assert quiet.sentence == "No alarm after 0 rows: the evidence is 1, an alarm needs 20."
    assert "is calibrated" not in quiet.sentence
    loud = fed().sentence
    assert re.match(r"Alarm after \d+ rows: the evidence against calibration within min\(", loud)
    assert "forecasts of 0.50 are too low (mean forecast 0.50, observed rate 0.8" in loud
    assert "calibration within 0.02 " in fed(tolerance=0.02).sentence
    assert "exact calibration" in fed(tolerance=0).sentence
    certain = cal.CalibrationMonitor(tolerance=0)
    certain.update(0, 1.0)
    assert certain.sentence.startswith("Alarm after 1 row. A forecast of 0 or 1 was contradicted")


def test_repr_tells_the_state():
    assert repr(cal.CalibrationMonitor()) == "CalibrationMonitor(0 rows, evidence 1, no alarm)"
    assert repr(fed()).endswith(", alarm)")


def test_the_largest_evidence_makes_the_pvalue():
    monitor = fed(40, 0.95)
    high = monitor.pvalue
    assert high == pytest.approx(1 / monitor.evidence)
    monitor.update_many([0] * 30, [0.5] * 30)
    assert monitor.pvalue <= high
    assert cal.CalibrationMonitor().pvalue == 1


def test_tolerance_keeps_small_errors_quiet():
    exact = fed(4000, 0.54, tolerance=0)
    tolerant = fed(4000, 0.54, tolerance=0.1)
    assert exact.alarm
    assert not tolerant.alarm
    assert tolerant.evidence < 1


def test_a_change_after_a_long_calm_is_noticed():
    rng = np.random.default_rng(0)
    p = rng.random(60_000)
    chance = np.where(np.arange(p.size) < 50_000, p, np.clip(p + 0.15, 0, 1))
    monitor = cal.CalibrationMonitor()
    monitor.update_many(rng.random(p.size) < chance, p)
    assert 50_000 < monitor.change_row < 50_500
    assert 50_000 < monitor.alarm_row < 51_500


def test_run_length_is_at_least_one_over_alpha():
    assert cal.CalibrationMonitor().run_length == 1e5
    assert cal.CalibrationMonitor(alpha=1e-6).run_length == pytest.approx(1e6)
    assert cal.CalibrationMonitor(run_length=30).run_length == 30


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": -0.1},
        {"alpha": np.nan},
        {"tolerance": 1},
        {"tolerance": -0.01},
        {"tolerance": np.nan},
        {"run_length": 0.5},
        {"run_length": np.inf},
        {"run_length": np.nan},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        cal.CalibrationMonitor(**options)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.5, np.nan], "missing"),
        ([0, np.nan], [0.5, 0.5], "missing.*not a 0"),
        ([0, None], [0.5, 0.5], "missing"),
        ([0, 1], [0.5, 1.5], "probabilities"),
        ([0, 1], [20, 30], "percent"),
        ([0, 2], [0.5, 0.5], "pos_label"),
        (["a", "b"], [0.5, 0.5], "pos_label"),
        ([0, 1, 1], [0.5, 0.5], "same length"),
        ([], [], "at least one row"),
        ([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], "swapped"),
    ],
)
def test_bad_rows_are_refused_and_leave_no_trace(y, p, message):
    monitor = fed(20)
    before = monitor.to_json()
    with pytest.raises(InvalidForecastsError, match=message):
        monitor.update_many(y, p)
    assert monitor.to_json() == before


def test_mean_outcomes_are_refused():
    with pytest.raises(InferenceRefusedError, match="outcomes 0 and 1, got 1 mean outcomes"):
        cal.CalibrationMonitor().update(0.5, 0.5)


@pytest.mark.parametrize(("y", "p"), [(None, 0.5), (1, None), (np.nan, 0.5), (1, 1.2), ("x", 0.5)])
def test_one_bad_row_is_refused(y, p):
    with pytest.raises(InvalidForecastsError):
        cal.CalibrationMonitor().update(y, p)


def test_predictions_within_rounding_of_the_ends_are_moved_there():
    monitor, other = cal.CalibrationMonitor(0.0), cal.CalibrationMonitor(0.0)
    monitor.update_many([0, 1], [-1e-12, 1 + 1e-12])
    other.update_many([0, 1], [0.0, 1.0])
    assert monitor.evidence == other.evidence == pytest.approx(1.0)


class TestWaiting:
    def test_rows_enter_when_due_not_when_known(self):
        """An outcome that can only come early if it is positive must wait for its time."""
        monitor = cal.CalibrationMonitor()
        for day in range(10):
            monitor.expect(day, 0.5, due=day)
        monitor.resolve(7, 1)
        assert monitor.advance(now=-1) == 0
        for day in range(7):
            monitor.resolve(day, day % 2)
        assert monitor.advance(now=6.5) == 7
        assert monitor.rows == 7
        assert monitor.waiting == [7, 8, 9]
        assert monitor.advance(now=7) == 1

    def test_the_order_is_that_of_due_times(self):
        rng = np.random.default_rng(0)
        p, y, due = rng.random(60), rng.integers(0, 2, 60), rng.integers(0, 9, 60)
        waiting, plain = cal.CalibrationMonitor(), cal.CalibrationMonitor()
        for row in range(60):
            waiting.expect(row, p[row], due[row])
        for row in rng.permutation(60).tolist():
            waiting.resolve(row, y[row])
        waiting.advance(now=4)
        waiting.advance(now=100)
        order = np.argsort(due, kind="stable")
        plain.update_many(y[order], p[order])
        assert waiting == plain

    def test_an_overdue_row_holds_up_the_rest(self):
        monitor = cal.CalibrationMonitor()
        monitor.expect("a", 0.5, due=1)
        monitor.expect("b", 0.5, due=2)
        monitor.resolve("b", 1)
        assert monitor.advance(now=3) == 0
        assert monitor.waiting[0] == "a"
        monitor.resolve("a", None)
        assert monitor.advance(now=3) == 1
        assert monitor.rows == 1

    def test_waiting_rows_are_stored(self):
        monitor = cal.CalibrationMonitor()
        monitor.expect("a", 0.25, due=2)
        monitor.expect(1, 0.75, due=1.5)
        monitor.resolve("a", 1)
        resumed = cal.CalibrationMonitor.from_json(monitor.to_json())
        assert resumed == monitor
        assert resumed.waiting == [1, "a"]
        for one in (monitor, resumed):
            one.resolve(1, 0)
            assert one.advance(now=2) == 2
        assert resumed == monitor

    def test_mistakes_are_refused(self):
        monitor = cal.CalibrationMonitor()
        monitor.expect("a", 0.5, due=1)
        for call in (
            lambda: monitor.expect("a", 0.5, due=1),
            lambda: monitor.expect("b", 1.5, due=1),
            lambda: monitor.expect("b", 0.5, due=np.nan),
            lambda: monitor.expect("b", 0.5, due="Monday"),
            lambda: monitor.expect(1.5, 0.5, due=1),
            lambda: monitor.resolve("b", 1),
            lambda: monitor.resolve("a", 2),
            lambda: monitor.advance(now=np.inf),
        ):
            with pytest.raises(InvalidForecastsError):
                call()
        assert monitor.waiting == ["a"]
        monitor.resolve("a", 1)
        with pytest.raises(InvalidForecastsError, match="waits for its outcome"):
            monitor.resolve("a", 0)


def changed(state, path, value):
    copy = json.loads(json.dumps(state))
    part = copy
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return json.dumps(copy)


def test_a_stored_monitor_that_somebody_changed_is_refused():
    state = json.loads(fed(30).to_json())
    assert state["schema"] == 3
    broken = [
        "",
        "[]",
        "{}",
        "null",
        changed(state, ["schema"], 4),
        changed(state, ["alpha"], 2),
        changed(state, ["tolerance"], "much"),
        changed(state, ["bets", "rows"], 29),
        changed(state, ["bets", "rows"], "30"),
        changed(state, ["bets", "alarm_row"], "late"),
        changed(state, ["bets", "peak"], 0.5),
        changed(state, ["bets", "wealth"], [1.0]),
        changed(state, ["bets", "wealth", 0], float("nan")),
        changed(state, ["bets", "stakes"], 0.0),
        changed(state, ["waiting"], [["a", {}]]),
        changed(state, ["waiting"], [["a", {"prediction": 2, "due": 1, "outcome": None}]]),
    ]
    for text in broken:
        with pytest.raises(InvalidForecastsError, match="stored monitor"):
            cal.CalibrationMonitor.from_json(text)


def test_a_monitor_of_an_earlier_release_is_refused_and_says_what_to_do():
    state = json.loads(fed(30).to_json())
    with pytest.raises(InvalidStateError, match=r"schema 3, got 2\. Hint: .* new monitor"):
        cal.CalibrationMonitor.from_json(changed(state, ["schema"], 2))


ERRORS = {
    "forecasts are too low": lambda p: p + 0.1,
    "forecasts are too high": lambda p: p - 0.1,
    "forecasts are too extreme": lambda p: 1 / (1 + (1 / p - 1) ** 0.5),
    "forecasts are not extreme enough": lambda p: 1 / (1 + (1 / p - 1) ** 2),
    "forecasts are too low and too high by turns": lambda p: p + 0.15 * np.sin(6 * np.pi * p),
    "forecasts are wrong in some ranges": lambda p: np.where(np.abs(p - 0.4) < 0.05, 0.8, p),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_the_alarm_says_what_kind_of_error_it_found(kind):
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    monitor = cal.CalibrationMonitor()
    assert monitor.update_many(rng.random(4000) < ERRORS[kind](p), p)
    assert monitor.leading_bets == kind
    assert f"most of it from bets that {kind})" in monitor.sentence


def test_monitors_are_compared_by_state_and_not_hashed():
    assert fed(20) == fed(20)
    assert fed(20) != fed(21)
    assert fed(20) != "monitor"
    with pytest.raises(TypeError):
        hash(fed(20))


def test_a_long_stream_of_errors_stays_finite():
    monitor = cal.CalibrationMonitor()
    monitor.update_many(np.ones(20_000), np.full(20_000, 0.01))
    assert 1e200 < monitor.evidence < np.inf
    assert cal.CalibrationMonitor.from_json(monitor.to_json()) == monitor


def test_looking_behind_a_stuck_row_takes_no_time():
    monitor = cal.CalibrationMonitor()
    monitor.expect("stuck", 0.5, due=0)
    for k in range(5_000):
        monitor.expect(k, 0.5, due=k + 1)
        monitor.resolve(k, k % 2)
    start = time.process_time()
    for now in range(5_000):
        assert monitor.advance(now) == 0
    assert time.process_time() - start < 0.5
    monitor.resolve("stuck", None)
    monitor.expect("stuck", 0.5, due=30_000)
    assert monitor.advance(now=5_000) == 5_000
    assert monitor.waiting == ["stuck"]


@pytest.mark.parametrize("key", [True, 2**63, pytest.param(10**5000, id="long"), 1.5, None])
def test_a_key_that_could_not_be_stored_is_refused_at_once(key):
    monitor = cal.CalibrationMonitor()
    with pytest.raises(InvalidForecastsError, match="a key must be a string or a whole number"):
        monitor.expect(key, 0.5, due=1)
    monitor.expect(2**63 - 1, 0.5, due=1)
    assert cal.CalibrationMonitor.from_json(monitor.to_json()) == monitor


@pytest.mark.parametrize("rows", [([1, 0], [0.5, 0.5]), ([1, 0, 1], [0.5, 0.5, 0.2])])
def test_update_takes_one_row_and_refuses_several(rows):
    monitor = cal.CalibrationMonitor()
    with pytest.raises(InvalidForecastsError, match="update_many"):
        monitor.update(*rows)
    assert monitor.rows == 0
    monitor.update(np.array([1]), np.array([0.5]))
    assert monitor.rows == 1

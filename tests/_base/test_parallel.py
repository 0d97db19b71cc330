"""Threads: as many as were asked for, and the same results for any number."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import calibrant as cal
from calibrant._base.parallel import in_threads, thread_count
from calibrant.errors import InvalidOptionError
from calibrant.groups import audit_groups

PROGRAM = "from calibrant.__main__ import main; main()"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 3, 6000)  # more than the 4096 levels of draws, in many parts
    return (rng.random(p.size) < p**1.1).astype(int), p, rng.integers(0, 5, p.size)


def test_the_block_counts_and_then_the_environment(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "3")
    assert thread_count() == 3
    with cal.threads(2):
        assert thread_count() == 2
        with cal.threads(5):
            assert thread_count() == 5
        assert thread_count() == 2
    assert thread_count() == 3
    monkeypatch.delenv("CALIBRANT_THREADS")
    assert 1 <= thread_count() <= os.cpu_count()


@pytest.mark.parametrize("count", [0, -1, 1.5, "two", None, 10**6])
def test_a_number_of_threads_is_checked(count):
    with pytest.raises(InvalidOptionError), cal.threads(count):
        pass


@pytest.mark.parametrize("given", ["0", "many", "-2", "1e3", "²"])
def test_the_environment_is_checked(monkeypatch, given):
    monkeypatch.setenv("CALIBRANT_THREADS", given)
    with pytest.raises(InvalidOptionError, match="CALIBRANT_THREADS"):
        thread_count()


def test_parts_come_back_in_their_order_and_are_not_held_all_at_once():
    made, done, most = [], [], []
    lock = threading.Lock()

    def parts():
        for part in range(40):
            made.append(part)
            most.append(len(made) - len(done))
            yield part

    def work(part):
        with lock:
            done.append(part)
        return part * part, thread_count()

    with cal.threads(4):
        found = in_threads(work, parts())
    assert [square for square, _ in found] == [part * part for part in range(40)]
    assert {count for _, count in found} == {1}  # threads start no threads
    assert max(most) <= 4 + 2
    assert in_threads(work, []) == []


def test_an_error_of_one_part_is_that_of_all():
    def work(part):
        if part == 3:
            raise ValueError("three")
        return part

    for count in (1, 3):
        with cal.threads(count), pytest.raises(ValueError, match="three"):
            in_threads(work, range(20))


def test_threads_see_what_the_caller_set():
    with cal.threads(2), np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_threads(lambda part: np.array([1.0]) / part, [1.0, 2.0, 0.0, 1.0])


def found(rows):
    """What each use of threads finds, as text with all digits."""
    y, p, group = rows
    kept = [
        cal.calibration_test(y, p, rng=0).null,
        cal.confidence_interval(y, p, rng=0).half_width,
        cal.verdict(y, p, rng=0),
        cal.classical_numbers(y, p),
        cal.consistency_band(y, p, draws=99, rng=0).low,
        cal.audit(y, p, draws=99, rng=0).to_json(),
        audit_groups(y, p, {"group": group}, draws=199, rng=0).table(),
        audit_groups(
            y, p, {"group": group, "other": group // 2}, pairs=True, draws=99, rng=0
        ).table(),
        cal.smooth_calibration_error(y, p),
    ]
    with np.printoptions(threshold=10**6, floatmode="unique"):
        return [repr(one) if not isinstance(one, np.ndarray) else one.tobytes() for one in kept]


def test_results_are_the_same_bits_for_any_number_of_threads(rows):
    with cal.threads(1):
        alone = found(rows)
    for count in (2, 3):
        with cal.threads(count):
            assert found(rows) == alone


def test_commands_say_the_same_for_any_number_of_threads(tmp_path, rows):
    y, p, _ = rows
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([y, p])[:2000], header="outcome,prediction", delimiter=",",
               comments="")  # fmt: skip
    printed = set()
    for count in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "audit", str(file), "--full"],
            env={**os.environ, "CALIBRANT_THREADS": count},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1

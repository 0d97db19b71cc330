"""What several threads share stays whole, and what one draws no other sees."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant as cal
from calibrant import plots


@pytest.fixture
def hasty():
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def sample(n):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p).astype(np.int64), p


def test_a_monitor_that_threads_share_counts_every_row(hasty):
    monitor = cal.CalibrationMonitor()
    y, p = sample(500)
    stored = []

    def feed(_):
        for _ in range(20):
            monitor.update_many(y, p)
            stored.append(monitor.to_json())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(feed, range(8)))
    assert monitor.rows == 8 * 20 * 500
    for text in stored[::10]:
        assert cal.CalibrationMonitor.from_json(text).rows % 500 == 0
    alone = cal.CalibrationMonitor()
    for _ in range(160):
        alone.update_many(y, p)
    assert alone == monitor


def test_announced_rows_enter_once_whoever_advances(hasty):
    monitor = cal.CalibrationMonitor()
    taken = []

    def announce(name):
        for k in range(50):
            monitor.expect(f"{name}-{k}", 0.5, due=k)
            monitor.resolve(f"{name}-{k}", k % 2)
            taken.append(monitor.advance(now=k))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(announce, "abcdef"))
    taken.append(monitor.advance(now=1000))
    assert sum(taken) == monitor.rows == 300
    assert monitor.waiting == []


def test_a_monitor_is_copied_and_pickled_while_it_runs(hasty):
    monitor = cal.CalibrationMonitor()
    y, p = sample(100)
    done = threading.Event()

    def feed():
        while not done.is_set():
            monitor.update_many(y, p)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        for copied in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):  # noqa: S301
            for _ in range(5):
                twin = copied(monitor)
                assert twin.rows % 100 == 0
                twin.update_many(y, p)
    finally:
        done.set()
        feeder.join()


def test_pages_drawn_in_threads_are_the_page_drawn_alone(hasty):
    audit = cal.audit(*sample(400), draws=99)
    before = dict(mpl.rcParams)
    alone = audit.to_html()
    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda _: audit.to_html(), range(4)))
    assert set(pages) == {alone}
    assert dict(mpl.rcParams) == before


def test_pictures_of_the_user_keep_the_settings_of_the_user(hasty):
    done = threading.Event()

    def draw():
        display = plots.ReliabilityDisplay.of(*sample(100))
        while not done.is_set():
            display.to_svg()

    drawer = threading.Thread(target=draw)
    drawer.start()
    try:
        with mpl.rc_context({"axes.edgecolor": "#123456", "axes.spines.top": True}):
            for _ in range(60):
                axes = Figure().add_subplot()
                assert axes.spines["top"].get_visible()
                assert mpl.colors.to_hex(axes.spines["top"].get_edgecolor()) == "#123456"
    finally:
        done.set()
        drawer.join()


def test_settings_of_the_user_have_no_say_in_a_stored_picture():
    display = plots.ReliabilityDisplay.of(*sample(100))
    plain = display.to_svg()
    with mpl.rc_context({"lines.linewidth": 7, "axes.grid": True, "font.size": 20}):
        assert display.to_svg() == plain
        assert mpl.rcParams["lines.linewidth"] == 7

"""A watched log as a page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibrant._base.words import typeset
from calibrant.monitoring import log_text, run_monitor
from calibrant.report import render_monitor
from commands import run

rng = np.random.default_rng(0)
N = 1200
P = rng.uniform(0.1, 0.6, N).round(3)
DAY = np.sort(rng.integers(0, 100, N))
SITE = np.where(np.arange(N) % 3 == 0, "a<b>&", "south")
CHANCE = P + np.where((DAY > 50) & (SITE == "a<b>&"), 0.4, 0.0)
Y = (rng.random(N) < CHANCE).astype(int)
WHEN = np.datetime64("2024-01-01") + DAY


@pytest.fixture(scope="module")
def seen():
    return run_monitor(Y, P, WHEN, by=SITE)


def test_the_alarm_comes_first_and_every_group_has_a_picture(seen):
    page = render_monitor(seen, "Sites", ["2 rows left out"])
    heading = re.search("<h1>(.*?)</h1>", page)[1]
    assert heading.startswith("Alarm in 1 of 2 groups, the clearest in a&lt;b&gt;&amp;")
    assert page.index("<h2>a&lt;b") < page.index("<h2>south</h2>")
    assert re.findall('id="(picture-[^"]*)"', page) == ["picture-time-0", "picture-time-1"]
    assert "2 rows left out" in page
    assert "a<b>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert typeset("chance of at most 5 %") in page
    assert len(page) < 200_000


def test_every_window_is_a_line_with_its_noise_floor(seen):
    page = render_monitor(seen, "Sites")
    for group in seen.groups:
        for window in group.windows:
            assert f'<th scope="row">{window.start}</th>' in page
    assert page.count('<th scope="col" class="n">noise floor</th>') == 2


def test_one_group_needs_no_table_of_groups():
    page = render_monitor(run_monitor(Y, P, WHEN, tolerance="50%"), "All")
    assert "Group by group" not in page
    assert typeset("The tolerance is 50 % of the forecast") in page


def test_the_noise_floor_is_what_perfect_forecasts_show():
    """Means of fresh draws agree within the noise of 39 draws."""
    import calibrant as cal

    window = run_monitor(Y[:40], P[:40], np.arange(40.0)).groups[0].windows[0]
    draws = [
        float(cal.smooth_calibration_error(rng.random(40) < P[:40], P[:40])) for _ in range(400)
    ]
    assert window.noise_floor == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / np.sqrt(39))


def test_the_command_writes_it_and_prints_groups_first(tmp_path):
    path = tmp_path / "log.csv"
    lines = [f"{p},{y},{t},{s}" for p, y, t, s in zip(P, Y, WHEN, SITE, strict=True)]
    path.write_text("\n".join(["prediction,outcome,t,site", *lines]))
    page = tmp_path / "page.html"
    done = run("monitor", str(path), "--time", "t", "--by", "site", "--html", str(page))
    assert done.returncode == 1
    shown = done.stdout.splitlines()
    assert shown[0].startswith("Alarm in 1 of 2 groups")
    assert shown[2].split() == ["group", "rows", "mean", "forecast", "observed", "rate", "O/E",
                                "evidence", "alarm"]  # fmt: skip
    assert shown[3].startswith("a<b>&")
    assert "south: " not in done.stdout
    assert "(windows of 1 group not shown; --full shows all)" in done.stdout
    assert page.read_text().startswith("<!doctype html>")
    full = run("monitor", str(path), "--time", "t", "--by", "site", "--full").stdout
    assert "south: 800 rows" in full
    assert "noise floor" in full


def test_very_many_groups_fit_on_a_screen():
    seen = run_monitor(Y, P, WHEN, by=np.array([f"g{i % 60}" for i in range(N)]))
    text = str(seen)
    assert "(30 more groups; --full shows all)" in text
    assert len(log_text(seen, full=True).splitlines()) > 60

"""Events that several rows share enter a monitor once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.monitoring import run_monitor
from commands import run


def races(count=60, days=20, seed=0):
    """Races forecast every day by somebody who learns: the last forecast knows most."""
    rng = np.random.default_rng(seed)
    rows = []
    for race in range(count):
        steps = rng.normal(0, 0.5, days)
        odds = np.cumsum(steps)
        chance = 1 / (1 + np.exp(-odds))
        won = int(rng.random() < chance[-1])
        rows += [(float(p), won, race * 3 + day, f"race {race}") for day, p in enumerate(chance)]
    return pd.DataFrame(rows, columns=["prediction", "outcome", "day", "race"])


def played(frame, how):
    """What should enter, cluster by cluster in the order of their last days."""
    events = []
    for _, rows in frame.sort_values("day", kind="stable").groupby("race"):
        p = rows.prediction
        value = {"last": p.iloc[-1], "first": p.iloc[0], "mean": p.mean()}[how]
        events.append((rows.day.max(), value, rows.outcome.iloc[0]))
    return sorted(events)


@pytest.mark.parametrize("how", ["last", "first", "mean"])
def test_each_cluster_enters_once_at_its_last_time(how):
    frame = races()
    result = run_monitor(frame.outcome, frame.prediction, frame.day.to_numpy(), clusters=frame.race,
                 cluster_forecast=how)  # fmt: skip
    events = played(frame, how)
    plain = cal.CalibrationMonitor()
    plain.update_many([y for _, _, y in events], [p for _, p, _ in events])
    (group,) = result.groups
    assert group.monitor.rows == 60
    assert group.monitor.evidence == pytest.approx(plain.evidence, rel=1e-9)
    assert group.first == str(events[0][0])


def test_one_row_of_each_cluster_may_be_drawn_and_then_outcomes_may_differ():
    rng = np.random.default_rng(1)
    day = np.repeat(np.arange(50), 8)
    p = rng.random(400)
    y = rng.random(400) < p
    with pytest.raises(InvalidForecastsError, match=r"clusters must hold rows of one.*drawn"):
        run_monitor(y, p, day, clusters=day)
    result = run_monitor(y, p, day, clusters=day, cluster_forecast="drawn")
    assert result.groups[0].monitor.rows == 50
    window = result.groups[0].windows[0]
    assert window.rows == 50


@pytest.mark.parametrize("how", ["last", "first", "mean", "drawn"])
def test_the_order_of_rows_does_not_matter(how):
    frame = races(30, 10)
    mixed = frame.sample(frac=1, random_state=3)
    one, other = (
        run_monitor(f.outcome.to_numpy(), f.prediction.to_numpy(), f.day.to_numpy() // 4,
              clusters=f.race.to_numpy(), cluster_forecast=how)
        for f in (frame, mixed)
    )  # fmt: skip
    assert one.as_dict() == other.as_dict()


def test_a_forecast_that_repeats_its_event_is_accused_only_without_clusters():
    rng = np.random.default_rng(2)
    race = np.repeat(np.arange(40), 180)
    p = np.repeat(rng.uniform(0.2, 0.8, 40), 180)
    y = np.repeat(rng.random(40) < p[::180], 180)
    assert run_monitor(y, p, race).alarm
    assert not run_monitor(y, p, race, clusters=race).alarm


def test_groups_have_their_own_clusters():
    frame = races(20, 6)
    region = np.where(frame.day % 2, "north", "south")
    result = run_monitor(frame.outcome, frame.prediction, frame.day.to_numpy(), clusters=frame.race,
                 by=region)  # fmt: skip
    assert [group.monitor.rows for group in result.groups] == [20, 20]


def test_the_command_says_what_entered(tmp_path):
    path, out = tmp_path / "races.csv", tmp_path / "out.json"
    races().to_csv(path, index=False)
    done = run("monitor", str(path), "--time", "day", "--cluster", "race", "--json", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("60 clusters (1 200 rows) from 19 to 196")
    assert "Each cluster enters once, with its last forecast, at its last time." in done.stdout
    assert "No alarm after 60 clusters" in done.stdout
    result = json.loads(out.read_text())
    assert result["rows"] == 1200
    assert result["cluster_forecast"] == "last"
    assert result["groups"][0]["clusters"] == 60
    mean = run("monitor", str(path), "--time", "day", "--cluster", "race",
               "--cluster-forecast", "mean")  # fmt: skip
    assert "with the mean of its forecasts" in mean.stdout
    assert "A mean is less extreme than good forecasts are" in mean.stdout


def test_rows_of_a_cluster_that_disagree_are_an_error(tmp_path):
    frame = races(10, 4)
    frame.loc[5, "outcome"] = 1 - frame.loc[5, "outcome"]
    path = tmp_path / "races.csv"
    frame.to_csv(path, index=False)
    done = run("monitor", str(path), "--time", "day", "--cluster", "race")
    assert done.returncode == 2
    message = " ".join(done.stderr.split())
    assert "--cluster must hold rows of one outcome, got several outcomes in 1 of 10" in message
    assert "for instance race 1" in message
    assert "--cluster-forecast 'drawn'" in message


def test_a_forecast_for_clusters_needs_clusters(tmp_path):
    path = tmp_path / "races.csv"
    races(10, 4).to_csv(path, index=False)
    done = run("monitor", str(path), "--time", "day", "--cluster-forecast", "mean")
    assert done.returncode == 2
    assert "--cluster-forecast needs --cluster" in " ".join(done.stderr.split())


def test_a_stream_of_repeated_forecasts():
    monitor = cal.CalibrationMonitor(cluster_forecast="mean")
    monitor.expect("final", 0.5, due=9)
    monitor.expect("final", 0.7, due=9)
    monitor.expect("semi-final", 0.4, due=5)
    again = cal.CalibrationMonitor.from_json(monitor.to_json())
    for one in (monitor, again):
        one.expect("final", 0.9, due=9)
        one.resolve("semi-final", 0)
        one.resolve("final", 1)
        assert one.advance(now=6) == 1
        assert one.advance(now=9) == 1
    plain = cal.CalibrationMonitor()
    plain.update_many([0, 1], [0.4, 0.7])
    assert monitor == again
    assert monitor.evidence == pytest.approx(plain.evidence, rel=1e-12)
    assert "No alarm after 2 clusters" in monitor.sentence


@pytest.mark.parametrize(("how", "kept"), [("last", 0.9), ("first", 0.5)])
def test_the_last_or_the_first_of_them(how, kept):
    monitor, plain = cal.CalibrationMonitor(cluster_forecast=how), cal.CalibrationMonitor()
    for p in (0.5, 0.7, 0.9):
        monitor.expect(1, p, due=3)
    monitor.resolve(1, 1)
    monitor.advance(3)
    plain.update(1, kept)
    assert monitor.evidence == plain.evidence


def test_each_of_several_forecasts_is_drawn_equally_often():
    drawn = []
    for key in range(3000):
        monitor = cal.CalibrationMonitor(cluster_forecast="drawn")
        for p in (0.1, 0.2, 0.3):
            monitor.expect(key, p, due=1)
        drawn.append(monitor._waiting.forecasts[key].prediction)
    counts = np.unique(drawn, return_counts=True)[1]
    assert counts == pytest.approx(1000, abs=4 * np.sqrt(3000 * 2 / 9))


def test_what_cannot_be_said_of_an_event():
    monitor = cal.CalibrationMonitor(cluster_forecast="last")
    monitor.expect("a", 0.5, due=3)
    with pytest.raises(InvalidForecastsError, match="due of a key must stay what it was"):
        monitor.expect("a", 0.6, due=4)
    monitor.resolve("a", 1)
    with pytest.raises(InvalidForecastsError, match="must not be resolved already"):
        monitor.expect("a", 0.6, due=3)
    with pytest.raises(InvalidOptionError, match="cluster_forecast must be one of last, first"):
        cal.CalibrationMonitor(cluster_forecast="best")
    with pytest.raises(InvalidOptionError, match="clusters need a cluster_forecast"):
        cal.CalibrationMonitor().update_many([1], [0.5], clusters=["a"])


def test_rows_of_whole_clusters():
    frame = races(30, 5)
    whole = cal.CalibrationMonitor(cluster_forecast="last")
    whole.update_many(frame.outcome, frame.prediction, clusters=frame.race)
    last = frame.groupby("race", sort=False).last()
    plain = cal.CalibrationMonitor()
    plain.update_many(last.outcome, last.prediction)
    assert whole.rows == 30
    assert whole.evidence == plain.evidence

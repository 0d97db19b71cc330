"""`calibrant monitor`, as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.monitoring.logs import run_monitor
from commands import run


def log(rows=600, broken_from=None, seed=0):
    """Rows of a hundred days, right until some row and far off after it."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.6, rows)
    chance = p.copy()
    if broken_from is not None:
        chance[broken_from:] += 0.35
    days = np.datetime64("2024-01-01") + np.sort(rng.integers(0, 100, rows))
    return pd.DataFrame(
        {
            "prediction": p,
            "outcome": (rng.random(rows) < chance).astype(int),
            "t": days,
            "g": rng.choice(["north", "south"], rows),
        }
    )


@pytest.fixture
def quiet(tmp_path):
    log().to_csv(tmp_path / "quiet.csv", index=False)
    return str(tmp_path / "quiet.csv")


@pytest.fixture
def broken(tmp_path):
    log(broken_from=300).to_csv(tmp_path / "broken.csv", index=False)
    return str(tmp_path / "broken.csv")


def test_exit_codes_and_words(quiet, broken):
    done = run("monitor", quiet, "--time", "t")
    assert done.returncode == 0, done.stderr
    assert "600 rows from 2024-01-0" in done.stdout
    assert "No alarm after 600 rows" in done.stdout
    done = run("monitor", broken, "--time", "t")
    assert done.returncode == 1
    assert "Alarm after 3" in done.stdout
    assert "are too low" in done.stdout
    assert "The alarm was raised at 2024-02-" in done.stdout
    assert "A change was noticed at 2024-02-" in done.stdout


def test_json_has_a_stable_shape(broken, tmp_path):
    path = tmp_path / "out.json"
    done = run("monitor", broken, "--time", "t", "--json", str(path))
    assert done.returncode == 1
    assert done.stdout.startswith("600 rows")
    result = json.loads(path.read_text())
    assert list(result) == [
        "schema", "alarm", "sentence", "rows", "new_rows", "tolerance", "alpha", "window",
        "cluster_forecast", "groups", "dropped", "notes",
    ]  # fmt: skip
    (group,) = result["groups"]
    assert list(group) == [
        "group", "rows", "clusters", "first", "last", "alpha", "alarm", "alarm_row", "alarm_time",
        "evidence", "kind", "parts", "pvalue", "change", "change_row", "change_time", "run_length",
        "sentence", "windows",
    ]  # fmt: skip
    assert result["schema"] == 2
    assert result["window"] == "7d"
    assert group["alarm_row"] > 300
    assert list(group["windows"][0]) == [
        "start", "end", "rows", "mean_prediction", "base_rate", "smooth_error", "noise",
        "noise_floor",
    ]  # fmt: skip
    printed = run("monitor", broken, "--time", "t", "--json", "-")
    assert json.loads(printed.stdout) == result


def test_windows_are_those_of_the_rows(quiet):
    frame = log()
    windows = json.loads(run("monitor", quiet, "--time", "t", "--json", "-").stdout)["groups"][0][
        "windows"
    ]
    assert sum(window["rows"] for window in windows) == 600
    assert all(np.datetime64(window["start"]).astype(object).weekday() == 0 for window in windows)
    for window in windows:
        part = frame[(frame.t >= window["start"]) & (frame.t < window["end"])]
        assert window["rows"] == len(part)
        assert window["mean_prediction"] == pytest.approx(part.prediction.mean())
        assert window["base_rate"] == pytest.approx(part.outcome.mean())
        error = cal.smooth_calibration_error(part.outcome, part.prediction)
        assert window["smooth_error"] == pytest.approx(float(error))


def test_an_empty_window_is_null(tmp_path):
    path = str(tmp_path / "gap.csv")
    pd.DataFrame({"prediction": [0.2, 0.7], "outcome": [0, 1], "t": [1, 25]}).to_csv(
        path, index=False
    )
    done = run("monitor", path, "--time", "t", "--window", "10", "--json", "-")
    assert done.returncode == 0, done.stderr
    windows = json.loads(done.stdout)["groups"][0]["windows"]
    assert [(w["start"], w["end"], w["rows"]) for w in windows] == [
        ("0", "10", 1), ("10", "20", 0), ("20", "30", 1),
    ]  # fmt: skip
    assert windows[1]["base_rate"] is windows[1]["smooth_error"] is None
    assert run("monitor", path, "--time", "t", "--window", "10").returncode == 0


def test_the_order_of_rows_and_files_does_not_matter(tmp_path):
    frame = log(broken_from=300)
    shuffled = frame.sample(frac=1, random_state=3)
    frame.to_csv(tmp_path / "all.csv", index=False)
    shuffled[:200].to_csv(tmp_path / "part-1.csv", index=False)
    shuffled[200:].to_csv(tmp_path / "part-2.csv", index=False)
    whole = run("monitor", str(tmp_path / "all.csv"), "--time", "t", "--json", "-").stdout
    parts = run("monitor", str(tmp_path / "part-*.csv"), "--time", "t", "--json", "-").stdout
    assert whole == parts


def test_rows_of_one_time_are_not_sorted_by_outcome():
    """Zeros before ones would look like forecasts that are too high, then too low."""
    rng = np.random.default_rng(7)
    p = np.full(4000, 0.3)
    y = np.sort(rng.random(4000) < 0.3)
    assert not run_monitor(y, p, np.zeros(4000)).alarm
    sorted_by_outcome = cal.CalibrationMonitor()
    sorted_by_outcome.update_many(y, p)
    assert sorted_by_outcome.alarm


def test_groups_share_the_level(broken):
    done = run("monitor", broken, "--time", "t", "--by", "g", "--json", "-")
    assert done.returncode == 1
    groups = json.loads(done.stdout)["groups"]
    assert [group["group"] for group in groups] == ["north", "south"]
    assert all(group["alpha"] == 0.025 for group in groups)
    frame = log(broken_from=300)
    assert [group["rows"] for group in groups] == [
        (frame.g == name).sum() for name in ("north", "south")
    ]
    text = run("monitor", broken, "--time", "t", "--by", "g").stdout
    assert "north: " in text
    assert "an alarm needs 40" in text or "reached 40" in text


def test_a_group_is_watched_as_if_it_were_alone():
    frame = log(broken_from=300)
    both = run_monitor(frame.outcome, frame.prediction, frame.t.to_numpy(), by=frame.g.to_numpy())
    north = frame[frame.g == "north"]
    alone = run_monitor(north.outcome, north.prediction, north.t.to_numpy(), alpha=0.025)
    assert both.groups[0].as_dict() | {"group": None} == alone.groups[0].as_dict()


def test_rows_due_later_are_left_out(tmp_path):
    """Early outcomes of rows that are due later are one-sided: all positive here."""
    frame = log()
    late = frame.assign(t=frame.t + pd.Timedelta(days=200), outcome=1)
    late.loc[late.index % 2 == 0, "outcome"] = None
    path = str(tmp_path / "early.csv")
    pd.concat([frame, late]).to_csv(path, index=False)
    assert run("monitor", path, "--time", "t").returncode == 2
    assert run("monitor", path, "--time", "t", "--na", "drop").returncode == 1
    done = run("monitor", path, "--time", "t", "--until", "2024-04-30")
    assert done.returncode == 0, done.stderr
    assert "600 rows" in done.stdout


def test_shared_options(tmp_path):
    path = str(tmp_path / "rows.csv")
    frame = log()
    pd.DataFrame(
        {
            "p": frame.prediction * 100,
            "y": np.where(frame.outcome == 1, "rain", "dry"),
            "when": frame.t,
        }
    ).to_csv(path, index=False)
    done = run("monitor", path, "--time", "when", "--prediction", "p", "--outcome", "y",
               "--pos-label", "rain", "--scale", "percent", "--json", "-")  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = run_monitor(frame.outcome, frame.prediction, frame.t.to_numpy()).groups[0].monitor
    assert json.loads(done.stdout)["groups"][0]["evidence"] == pytest.approx(expected.evidence)


def test_missing_values_are_dropped_and_counted(tmp_path):
    path = str(tmp_path / "rows.csv")
    frame = log()
    frame.loc[3, "outcome"] = None
    frame.loc[5, "t"] = None
    frame.to_csv(path, index=False)
    assert run("monitor", path, "--time", "t").returncode == 2
    done = run("monitor", path, "--time", "t", "--na", "drop")
    assert done.returncode == 0, done.stderr
    assert "598 rows" in done.stdout
    assert "2 rows with a missing value left out" in done.stdout
    assert (
        json.loads(run("monitor", path, "--time", "t", "--na", "drop", "--json", "-").stdout)[
            "dropped"
        ]
        == 2
    )


def test_timestamps_of_every_kind_of_file(tmp_path):
    frame = log().assign(t=lambda f: f.t + pd.Timedelta(hours=5))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.assign(t=frame.t.dt.strftime("%Y-%m-%dT%H:%M:%S")).to_json(
        tmp_path / "rows.jsonl", orient="records", lines=True, double_precision=15
    )
    kinds = ("csv", "parquet", "jsonl")
    texts = [
        run("monitor", str(tmp_path / f"rows.{kind}"), "--time", "t", "--window", "12h")
        for kind in kinds
    ]
    assert [done.returncode for done in texts] == [0, 0, 0], texts[2].stderr
    assert "T05" in texts[0].stdout
    assert texts[0].stdout == texts[1].stdout == texts[2].stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--time", "when"], "column 'when'"),
        (["--time", "g"], "time must hold one number, date or timestamp"),
        (["--time", "t", "--window", "7"], "window must be a number with s, m, h, d or w"),
        (["--time", "t", "--window", "0d"], "window must be"),
        (["--time", "t", "--window", "1s"], "at most 10000 windows"),
        (["--time", "prediction", "--window", "7d"], "window must be a positive number"),
        (["--time", "t", "--alpha", "2"], "alpha must lie"),
        (["--time", "t", "--tolerance", "1"], "tolerance must be"),
        (["--time", "t", "--until", "soon"], "--until must be a time"),
        (["--time", "t", "--until", "1999-01-01"], "at least one row"),
        (["--time", "t", "--by", "nothing"], "column 'nothing'"),
        (["--time", "t", "--json", "/no/such/folder/x.json"], "--json must name a file"),
    ],
)
def test_wrong_input_ends_with_one_message_and_exit_code_2(quiet, arguments, message):
    done = run("monitor", quiet, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("calibrant: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_time_is_asked_for(quiet):
    assert run("monitor", quiet).returncode == 2


def test_missing_groups_are_refused(tmp_path):
    path = str(tmp_path / "rows.csv")
    frame = log()
    frame.loc[0, "g"] = None
    frame.to_csv(path, index=False)
    done = run("monitor", path, "--time", "t", "--by", "g")
    assert done.returncode == 2
    assert "column 'g' must not hold missing values, got 1 rows" in done.stderr


def test_infinite_evidence_is_valid_json(tmp_path):
    path = str(tmp_path / "rows.csv")
    pd.DataFrame({"prediction": [0.0], "outcome": [1], "t": [0]}).to_csv(path, index=False)
    done = run("monitor", path, "--time", "t", "--tolerance", "0", "--json", "-")
    assert done.returncode == 1
    assert json.loads(done.stdout)["groups"][0]["evidence"] == 1e300


def test_times_must_be_finite_and_one_per_row():
    for times in (np.array([0.0, np.inf]), np.array([0.0]), np.array(["a", "b"])):
        with pytest.raises(InvalidForecastsError, match="time must"):
            run_monitor([0, 1], [0.2, 0.4], times)
    with pytest.raises(InvalidOptionError, match="window"):
        run_monitor([0, 1], [0.2, 0.4], np.array([0, 1]), window="two")


def test_groups_whose_names_look_alike_together_stay_apart(tmp_path):
    """Here "x & y" with "z", and "x" with "y & z", are two groups."""
    frame = log(400)
    frame["a"] = ["x & y", "x"] * 200
    frame["b"] = ["z", "y & z"] * 200
    frame.to_csv(tmp_path / "log.csv", index=False)
    done = run("monitor", str(tmp_path / "log.csv"), "--time", "t", "--by", "a,b", "--json", "-")
    groups = json.loads(done.stdout)["groups"]
    assert {group["group"]: group["rows"] for group in groups} == {
        '"x & y" & z': 200,
        'x & "y & z"': 200,
    }


@pytest.mark.parametrize("by", [["a"], ["a", None], ["a", np.nan]])
def test_groups_of_a_log_are_one_for_each_row(by):
    with pytest.raises(InvalidForecastsError, match="by must"):
        run_monitor([0, 1], [0.2, 0.7], np.arange(2.0), by=np.array(by, dtype=object))

"""`calibrant monitor --state`: a log that is carried on from run to run."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant.errors import InvalidForecastsError, InvalidStateError
from calibrant.monitoring import MonitorState, continue_monitor, run_monitor
from commands import run, run_forked, terminated_writing


def log(rows=900, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.6, rows).round(2)
    days = np.sort(rng.integers(0, 60, rows))
    chance = p + np.where(days > 35, 0.2, 0.0)
    return pd.DataFrame(
        {
            "prediction": p,
            "outcome": (rng.random(rows) < chance).astype(int),
            "t": np.datetime64("2024-01-01") + days,
            "g": rng.choice(["north", "south", "west"], rows),
        }
    )


@pytest.fixture
def folder(tmp_path):
    """The whole log, and its rows in three parts that follow each other."""
    frame = log()
    frame.to_csv(tmp_path / "all.csv", index=False)
    for part, (start, stop) in enumerate([(0, 20), (20, 41), (41, 61)]):
        day = (frame.t - pd.Timestamp("2024-01-01")).dt.days
        chosen = frame[(day >= start) & (day < stop)].sample(frac=1, random_state=part)
        chosen.to_csv(tmp_path / f"part{part}.csv", index=False)
    return tmp_path


def watched(folder, name, *options, state="state.json"):
    path = [] if state is None else ["--state", str(folder / state)]
    return run("monitor", str(folder / name), "--time", "t", *path, *options, "--json", "-")


@pytest.mark.parametrize("by", [[], ["--by", "g"]], ids=["all", "groups"])
def test_run_by_run_is_the_same_as_at_once(folder, by):
    """Days straddle windows, and rows of one day are shuffled: nothing of it shows."""
    for part in range(3):
        done = watched(folder, f"part{part}.csv", *by)
        assert done.returncode in {0, 1}, done.stderr
    found, whole = (
        json.loads(done.stdout),
        json.loads(watched(folder, "all.csv", *by, state=None).stdout),
    )
    assert found.pop("new_rows") < 900
    assert whole.pop("new_rows") is None
    assert found == whole
    assert done.returncode == 1


def test_a_log_that_grows_is_watched_from_where_it_ended(folder):
    first = watched(folder, "part0.csv")
    assert json.loads(first.stdout)["rows"] == json.loads(first.stdout)["new_rows"]
    grown = json.loads(watched(folder, "all.csv").stdout)
    assert grown["rows"] == 900
    assert grown["new_rows"] == 900 - json.loads(first.stdout)["rows"]
    whole = json.loads(watched(folder, "all.csv", state=None).stdout)
    assert grown["groups"] == whole["groups"]


def test_a_run_may_be_repeated(folder):
    watched(folder, "part0.csv")
    second = watched(folder, "part1.csv")
    before = (folder / "state.json").read_bytes()
    again = run(
        "monitor", str(folder / "part1.csv"), "--time", "t", "--state", str(folder / "state.json")
    )
    assert again.returncode == second.returncode
    assert "no new rows: all of them were watched before" in again.stdout
    assert (folder / "state.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.iloc[1:], "rows must be due after 2024-01-20"),
        (lambda f: f.assign(outcome=1 - f.outcome), "rows must be due after 2024-01-20"),
        (lambda f: f.assign(prediction=f.prediction / 2), "rows must be due after 2024-01-20"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "rows must be due after 2024-01-20"),
        (lambda f: f.assign(t=np.arange(len(f))), "--window must be a positive number"),
    ],
    ids=["fewer", "other outcomes", "other forecasts", "one twice", "numbers"],
)
def test_rows_that_are_neither_new_nor_those_before_are_refused(folder, change, message):
    watched(folder, "part0.csv", "--window", "7d")
    change(pd.read_csv(folder / "part0.csv")).to_csv(folder / "odd.csv", index=False)
    before = (folder / "state.json").read_bytes()
    window = ["--window", "7d"]
    done = watched(folder, "odd.csv", *window)
    assert done.returncode == 2
    assert message in done.stderr
    assert (folder / "state.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tolerance", "5%"], "with the tolerance that it was begun with, the default, got '5%'"),
        (["--alpha", "0.01"], "with the alpha"),
        (["--by", "g"], "with the by that it was begun with, none, got g."),
        (["--window", "1d"], "with the window"),
        (["--scale", "percent"], "with the scale"),
        (["--prediction", "outcome", "--outcome", "g"], "with the prediction"),
    ],
)
def test_another_stream_is_refused(folder, options, message):
    watched(folder, "part0.csv")
    if "percent" in options or "g" in options[-1:]:
        frame = pd.read_csv(folder / "part1.csv")
        frame["g"] = frame.outcome
        frame.to_csv(folder / "part1.csv", index=False)
    if options[0] == "--prediction":
        frame["outcome"] = 0.5
        frame.to_csv(folder / "part1.csv", index=False)
    done = watched(folder, "part1.csv", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_new_group_is_refused(folder):
    frame = pd.read_csv(folder / "part0.csv")
    frame[frame.g != "west"].to_csv(folder / "two.csv", index=False)
    watched(folder, "two.csv", "--by", "g")
    done = watched(folder, "part1.csv", "--by", "g")
    assert done.returncode == 2
    assert "the new group west" in done.stderr
    # A group may have no rows for a while.
    frame = pd.read_csv(folder / "part1.csv")
    frame[frame.g == "north"].to_csv(folder / "one.csv", index=False)
    found = json.loads(watched(folder, "one.csv", "--by", "g").stdout)
    assert [group["group"] for group in found["groups"]] == ["north", "south"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--state", "-"], "--state must name a file"),
        (["--state", "{folder}/all.csv"], "--state must not name a file that is read"),
        (["--state", "{folder}/s.json", "--cluster", "g"], "--state cannot be used with --cluster"),
        (["--state", "{folder}/no/s.json"], "--state must name a file that can be written"),
        (["--state", "{folder}/s.json", "--json", "{folder}/s.json"], "must name different files"),
    ],
)
def test_states_that_cannot_be_are_refused(folder, options, message):
    done = run("monitor", str(folder / "all.csv"), "--time", "t",
               *(option.format(folder=folder) for option in options))  # fmt: skip
    assert done.returncode == 2
    assert message in done.stderr


def test_numbers_need_windows(tmp_path):
    frame = pd.DataFrame({"prediction": [0.2, 0.4], "outcome": [0, 1], "t": [1, 2]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = watched(tmp_path, "rows.csv")
    assert done.returncode == 2
    assert "--state needs --window" in done.stderr
    assert watched(tmp_path, "rows.csv", "--window", "10").returncode == 0


HOLD = """
import sys, time
from calibrant._base.writing import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_runs_cannot_both_write(folder):
    state = str(folder / "state.json")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        done = watched(folder, "part0.csv")
        assert done.returncode == 74
        assert "only one process at a time" in done.stderr
        assert not (folder / "state.json").exists()
        holder.kill()
    time.sleep(0.1)
    # The lock ended with the process that held it.
    assert watched(folder, "part0.csv").returncode == 0
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_run_that_is_stopped_leaves_the_state_as_it_was(folder):
    watched(folder, "part0.csv")
    before = (folder / "state.json").read_bytes()
    ended = run_forked("monitor", str(folder / "part1.csv"), "--time", "t", "--state",
                       str(folder / "state.json"), fault=terminated_writing)  # fmt: skip
    assert ended.code == 143
    assert (folder / "state.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def state_of(frame, **options):
    by = frame.g.to_numpy(dtype=object)
    return continue_monitor(
        MonitorState({"a": 1}),
        frame.outcome,
        frame.prediction,
        frame.t.to_numpy(),
        by=by,
        **options,
    )


def test_a_state_is_stored_whole():
    _, state = state_of(log())
    again = MonitorState.from_json(state.to_json())
    assert again.to_json() == state.to_json()


def places(value, path=()):
    """Every place in nested data, the first entry of lists."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:1] if isinstance(value, list) else [])
    )
    for name, held in inner:
        yield from places(held, (*path, name))


ODD = ("x", -1, None, [], {"y": 1})


def test_a_state_that_was_changed_is_refused_in_one_way():
    _, state = state_of(log(200))
    refused = 0
    for path in places(json.loads(state.to_json())):
        for odd in ODD if path and path[0] != "described" else ():
            changed = json.loads(state.to_json())
            within = changed
            for name in path[:-1]:
                within = within[name]
            within[path[-1]] = odd
            # Some texts and missing times are as good as others; nothing else is raised.
            try:
                MonitorState.from_json(json.dumps(changed))
            except InvalidStateError:
                refused += 1
    assert refused > 200


def test_lots_of_a_second_run_go_on():
    """Rows of one time are shuffled by lots that go on: the order is that of all rows at once."""
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 400), rng.random(400).round(1)
    when = np.repeat(np.arange(4.0), 100)
    log_so_far = MonitorState({})
    for part in range(4):
        chosen = when == part
        seen, log_so_far = continue_monitor(
            log_so_far, y[chosen], p[chosen], when[chosen], window="2"
        )
    whole = run_monitor(y, p, when, window="2")
    assert seen.groups[0].as_dict() == whole.groups[0].as_dict()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("begun", ["naive", "aware"])
def test_times_with_and_without_a_zone_are_no_one_log(tmp_path, suffix, begun):
    """A zone that appears on the second day would move rows into other windows."""
    frame = log()
    frame["t"] = frame.t.astype("datetime64[us]") + pd.to_timedelta(np.arange(len(frame)), unit="s")
    split = frame.t < "2024-02-01"
    days = {"first": frame[split], "second": frame[~split]}
    for zone, moments in (("naive", None), ("aware", "America/New_York")):
        for day, rows in days.items():
            given = rows.assign(t=rows.t.dt.tz_localize(moments))
            path = tmp_path / f"{day}_{zone}.{suffix}"
            if suffix == "csv":
                given.to_csv(path, index=False)
            elif suffix == "parquet":
                given.to_parquet(path)
            else:
                given["t"] = [moment.isoformat() for moment in given.t]
                given.to_json(path, orient="records", lines=True)
    other = "aware" if begun == "naive" else "naive"
    done = watched(tmp_path, f"first_{begun}.{suffix}")
    assert done.returncode in {0, 1}, done.stderr
    refused = watched(tmp_path, f"second_{other}.{suffix}")
    assert refused.returncode == 2, refused.stderr
    assert "as those that the log was begun with" in refused.stderr
    done = watched(tmp_path, f"second_{begun}.{suffix}")
    assert done.returncode in {0, 1}, done.stderr


def test_arrays_with_and_without_a_zone_are_no_one_log():
    frame = log()
    given = (frame.outcome, frame.prediction)
    aware = frame.t.dt.tz_localize("Asia/Tokyo")
    for first, second in ((frame.t, aware), (aware, frame.t), (aware.astype(str), frame.t)):
        _, begun = continue_monitor(MonitorState({}), *given, first)
        with pytest.raises(InvalidForecastsError, match="as those that the log was begun with"):
            continue_monitor(begun, *given, second + pd.Timedelta("90D"))
    _, begun = continue_monitor(MonitorState({}), *given, pl.Series(aware))
    assert begun.zoned
    assert MonitorState.from_json(begun.to_json()).zoned

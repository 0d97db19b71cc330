"""A bar on a terminal for work that takes long; nothing of it in a pipe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant.cli.progress as progress_bar
from calibrant._base import stages
from calibrant.recalibration import apply_to_files, recalibrate
from commands import run, run_on_a_terminal

CURSOR_HIDDEN = "\x1b[?25l"


@pytest.fixture
def rows(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    p = rng.random(500).round(2)
    path = tmp_path / "rows.csv"
    frame = {"prediction": p, "outcome": (rng.random(500) < p) * 1, "side": ["a", "b"] * 250}
    pd.DataFrame({**frame, "day": np.arange(500)}).to_csv(path, index=False)
    return path


def on_a_terminal(patience: float, *arguments: str) -> str:
    """What somebody sees who runs the command."""
    done, shown = run_on_a_terminal(patience, *arguments)
    assert done.code in {0, 1}, shown
    return shown


@pytest.mark.parametrize(
    ("arguments", "stages"),
    [
        (["audit", "--by", "side", "--time", "day", "--full"],
         ["reading", "verdict", "every measure", "what to do", "costs", "groups", "windows of time",
          "distance to calibration"]),
        (["check", "--by", "side", "--tolerance", "0.5"], ["reading", "measures", "groups"]),
        (["monitor", "--time", "day"], ["reading", "watching"]),
        (["recalibrate", "--folds", "2"], ["reading", "choosing a calibrator"]),
        (["recalibrate", "--cluster", "side"], ["reading", "choosing a calibrator"]),
    ],
    ids=["audit", "check", "monitor", "recalibrate", "repair by cluster"],
)  # fmt: skip
def test_a_terminal_sees_every_stage(rows, arguments, stages):
    command, *options = arguments
    shown = on_a_terminal(0, command, str(rows), *options)
    places = [shown.index(stage) for stage in stages]
    assert places == sorted(places)


def test_a_game_counts_its_rounds():
    assert "rounds" in on_a_terminal(0, "online", "foster", "coins", "--rounds", "300")


def test_time_left_follows_from_the_part_that_is_done(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_bar, "monotonic", lambda: now[0])
    outlook = progress_bar.Outlook(10.0)
    assert outlook.sentence == ""
    now[0] = 4.0
    outlook.advance(1.0)  # a tenth took 4 seconds
    assert outlook.sentence == "about 36 s left"
    now[0] = 14.0
    assert outlook.sentence == "about 26 s left"
    now[0] = 60.0
    assert outlook.sentence == "longer than expected"
    outlook.advance(1.0)  # a fifth took a minute
    assert outlook.sentence == "about 4 min left"
    outlook.advance(8.0)
    assert outlook.sentence == "nearly done"


def test_time_left_is_known_inside_a_stage(monkeypatch):
    now, share = [0.0], [-0.01]
    monkeypatch.setattr(progress_bar, "monotonic", lambda: now[0])
    outlook = progress_bar.Outlook(10.0)
    outlook.advance(0.0, running=5.0)
    with stages.heard_by(outlook), stages.probed(lambda: share[0]):
        now[0] = 3.0
        assert outlook.look() == 0  # DuckDB does not know yet
        assert outlook.sentence == ""
        share[0] = 0.2  # a tenth of all took 3 seconds
        assert outlook.look() == 1.0
        assert outlook.sentence == "about 27 s left"
        share[0] = 0.1  # another query of the same stage starts again
        assert outlook.look() == 1.0
        now[0] = 6.0
        stages.reached(0.4)
        assert outlook.sentence == "about 24 s left"
    stages.reached(0.9)  # nobody waits any longer
    assert outlook.look() == 2.0
    outlook.advance(5.0, running=5.0)
    assert outlook.look() == 5.0


def test_long_stages_say_how_far_they_are(tmp_path):
    """Reading, choosing a calibrator and writing: each of them tells a listener about it."""
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    frame = pd.DataFrame({"prediction": p, "outcome": (rng.random(3000) < p**2) * 1})
    frame.to_parquet(tmp_path / "rows.parquet")

    class Listening:
        def __init__(self):
            self.shares, self.probes = [], []

        def reached(self, share):
            self.shares.append(share)

        def probe_with(self, probe):
            self.probes += [] if probe is None else [probe()]

    listening = Listening()
    with stages.heard_by(listening):
        choice = recalibrate(tmp_path / "rows.parquet", rng=0)
        apply_to_files(choice.calibrator, tmp_path / "rows.parquet", tmp_path / "out.parquet")
    assert len(listening.shares) >= 10
    assert listening.shares == sorted(listening.shares)
    assert listening.shares[-1] < 1
    assert len(listening.probes) >= 2
    assert all(isinstance(share, float) and share <= 1 for share in listening.probes)


def test_a_terminal_sees_the_time_that_is_left(rows):
    shown = on_a_terminal(0, "audit", str(rows), "--by", "side")
    assert "left" in shown or "nearly done" in shown or "longer than expected" in shown


def test_what_is_printed_goes_where_it_is_sent(rows):
    """A bar on the terminal of standard error keeps its hands off standard output."""
    done, shown = run_on_a_terminal(0, "recalibrate", str(rows))
    assert "choosing a calibrator" in shown
    assert "log loss" in done.stdout or "leave" in done.stdout.lower()
    assert CURSOR_HIDDEN not in done.stdout


def test_short_work_shows_no_bar(rows):
    done, shown = run_on_a_terminal(1e9, "audit", str(rows))
    assert "every measure" not in shown
    assert "smooth error" in done.stdout


def test_a_pipe_stays_quiet(rows):
    done = run("audit", str(rows))
    assert done.stderr == ""
    assert CURSOR_HIDDEN not in done.stdout

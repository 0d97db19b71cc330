"""A bar on a terminal for work that takes long; nothing of it in a pipe."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import run

CURSOR_HIDDEN = "\x1b[?25l"
PROGRAM = """
import calibrant.cli.progress as progress
progress.PATIENCE = {}
from calibrant.cli import main
main()
"""


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
    shown: list[bytes] = []

    def read(terminal: int) -> bytes:
        shown.append(os.read(terminal, 1 << 16))
        return shown[-1]

    stdout = os.dup(1)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            pty.spawn([sys.executable, "-c", PROGRAM.format(patience), *arguments], read)
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
    return b"".join(shown).decode()


@pytest.mark.parametrize(
    ("arguments", "stages"),
    [
        (["audit", "--by", "side", "--time", "day", "--full"],
         ["reading", "verdict", "every measure", "what to do", "costs", "groups", "windows of time",
          "distance to calibration"]),
        (["check", "--by", "side", "--tolerance", "0.5"], ["reading", "measures", "groups"]),
        (["watch", "--time", "day"], ["reading", "watching"]),
    ],
    ids=["audit", "check", "watch"],
)  # fmt: skip
def test_a_terminal_sees_every_stage(rows, arguments, stages):
    command, *options = arguments
    shown = on_a_terminal(0, command, str(rows), *options)
    places = [shown.index(stage) for stage in stages]
    assert places == sorted(places)
    assert "left" in shown


def test_a_game_counts_its_rounds():
    assert "rounds" in on_a_terminal(0, "play", "foster", "coins", "--rounds", "300")


def test_short_work_shows_no_bar(rows):
    shown = on_a_terminal(1e9, "audit", str(rows))
    assert "every measure" not in shown
    assert "smooth error" in shown


def test_a_pipe_stays_quiet(rows):
    done = run("audit", str(rows))
    assert done.stderr == ""
    assert CURSOR_HIDDEN not in done.stdout

"""Examples at the end of each help: all of them can be typed, and run."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest
import typer

from calibrant.cli.examples import EXAMPLES
from calibrant.cli.main import app
from commands import run

LINES = [line for lines in EXAMPLES.values() for line, _ in lines]
# They write where users keep their own files.
REDIRECTED = {line for line in LINES if ">" in line}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(0)
    n = 1200
    p = rng.random(n).round(2)
    frame = pd.DataFrame({"id": np.arange(n), "prediction": p, "outcome": (rng.random(n) < p) * 1})
    frame["p"], frame["q"], frame["rain"] = p, p**2, frame.outcome
    frame["site"], frame["ward"] = rng.choice(["a", "b"], n), rng.choice(["x", "y"], n)
    frame["patient"] = np.arange(n) // 3
    frame["due"] = np.datetime64("2025-01-01") + np.arange(n) // 10
    for name in ("forecasts", "old", "new"):
        frame.to_csv(folder / f"{name}.csv", index=False)
    frame.to_parquet(folder / "log.parquet")
    cells = pd.DataFrame({"n": [500, 400], "clicks": [100, 200], "expected": [110.0, 190.0]})
    cells.to_csv(folder / "cells.csv", index=False)
    table = rng.dirichlet([1, 1, 1], 300).round(6)
    table[:, 2] = 1 - table[:, 0] - table[:, 1]
    animals = pd.DataFrame(table, columns=["cat", "dog", "cow"])
    animals["outcome"] = rng.choice(["cat", "dog", "cow"], 300)
    animals.to_csv(folder / "animals.csv", index=False)
    answers = pd.DataFrame(
        {"confidence": p, "correct": frame.outcome, "question_id": frame.id // 2}
    )
    answers["model"] = np.where(frame.id % 2 == 0, "small", "large")
    answers.to_json(folder / "run.jsonl", orient="records", lines=True)
    z = rng.gamma(4, 5, 300)
    delays = pd.DataFrame({"minutes": z + rng.normal(0, 4, 300), "p90": z + 5.1})
    delays.to_csv(folder / "delays.csv", index=False)
    trial = pd.DataFrame({"days": rng.exponential(500, 300), "dead": rng.integers(0, 2, 300)})
    trial["prediction"] = rng.beta(3, 3, 300)
    trial.to_csv(folder / "t.csv", index=False)
    return folder


def test_every_command_has_examples():
    commands = {info.callback.__name__ for info in app.registered_commands}
    assert commands == set(EXAMPLES)
    for name, lines in EXAMPLES.items():
        for line, why in lines:
            assert line.startswith(f"calibrant {name.replace('_', '-')}")
            assert why.endswith(".")


def test_every_help_ends_with_them():
    program = typer.main.get_command(app)
    for name in EXAMPLES:
        epilogue = program.commands[name.replace("_", "-")].epilog
        assert epilogue.startswith("Examples:")
        assert all(line in epilogue for line, _ in EXAMPLES[name])
    shown = " ".join(run("compare", "--help").stdout.split())
    assert "calibrant compare old.csv new.csv --key id" in shown
    assert "3: check, compare: undecided, the rows are too few to tell" in shown


@pytest.mark.parametrize("line", sorted(REDIRECTED))
def test_scripts_are_printed(line):
    words = shlex.split(line.split(">", maxsplit=1)[0])
    assert run(*words[1:]).returncode == 0


@pytest.mark.parametrize("line", [line for line in LINES if line not in REDIRECTED])
def test_an_example_runs(files, line, monkeypatch):
    monkeypatch.chdir(files)
    if line.startswith("calibrant apply"):
        assert (
            run(
                "recalibrate",
                "forecasts.csv",
                "--prediction",
                "q",
                "--calibrator",
                "calibrator.json",
                "--force",
            ).returncode
            == 0
        )
    for made in ("fixed.parquet", "recalibrated.csv", "calibrator.sql"):
        (files / made).unlink(missing_ok=True)
    if line.startswith("calibrant recalibrate"):
        (files / "calibrator.json").unlink(missing_ok=True)
    done = run(*shlex.split(line)[1:])
    assert done.returncode in {0, 1, 3}, done.stderr
    assert done.stdout
    # Only verdicts may be other than 0.
    assert done.returncode == 0 or line.split()[1] in {"check", "compare", "monitor"}

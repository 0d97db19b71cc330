"""Text output word for word, so that no sentence changes unseen.

After a change that is wanted: `SNAPSHOTS=write make test`, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import run

SNAPSHOTS = Path(__file__).with_name("snapshots")
NAMES = ["cat", "dog", "cow"]
TASK = "[costs]\nfalse_positive = 1.0\nfalse_negative = 4.0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    rng = np.random.default_rng(5)
    p = rng.beta(1, 3, 3000).round(2)
    chance = np.clip(p + 0.08 * (p > 0.4), 0, 1)
    frame = pd.DataFrame({
        "prediction": p,
        "outcome": (rng.random(3000) < chance) * 1,
        "site": np.array(["north", "south", "far away"])[np.arange(3000) % 3],
        "day": np.arange(3000) // 50,
        "patient": np.arange(3000) // 2,
    })  # fmt: skip
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.head(40).to_csv(tmp_path / "few.csv", index=False)
    frame.assign(prediction=p * 100).to_csv(tmp_path / "percent.csv", index=False)
    (tmp_path / "task.toml").write_text(TASK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    table = rng.dirichlet([2, 1, 1], 1000).round(3)
    table[:, 2] = 1 - table[:, :2].sum(axis=1)
    label = np.where(rng.random(1000) < 0.1, 0, (table.cumsum(1) < rng.random((1000, 1))).sum(1))
    classes = pd.DataFrame(table, columns=NAMES).assign(outcome=np.array(NAMES)[label])
    classes.assign(site=frame["site"], day=frame["day"]).to_csv("classes.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("audit", ["audit", "rows.csv"]),
        ("audit_groups", ["audit", "rows.csv", "--by", "site", "--time", "day"]),
        ("audit_segments", ["audit", "rows.csv", "--by", "site,day", "--find-segments"]),
        ("audit_segments_markdown", ["audit", "rows.csv", "--by", "site,day", "--find-segments",
                                     "--markdown", "-"]),
        ("audit_clusters", ["audit", "rows.csv", "--cluster", "patient", "--task", "task.toml"]),
        ("audit_full", ["audit", "rows.csv", "--by", "site", "--time", "day", "--full"]),
        ("audit_quiet", ["audit", "rows.csv", "--quiet"]),
        ("audit_few", ["audit", "few.csv"]),
        ("audit_percent", ["audit", "percent.csv"]),
        ("audit_no_column", ["audit", "rows.csv", "--prediction", "predicton"]),
        ("audit_markdown", ["audit", "rows.csv", "--by", "site", "--markdown", "-"]),
        ("audit_classes", ["audit", "classes.csv", "--classes", "cat,dog,cow", "--by", "site",
                           "--time", "day"]),
        ("audit_classes_full", ["audit", "classes.csv", "--classes", "cat,dog,cow", "--full"]),
        ("audit_classes_markdown", ["audit", "classes.csv", "--classes", "cat,dog,cow",
                                    "--markdown", "-"]),
        ("check_classes", ["check", "classes.csv", "--classes", "cat,dog,cow"]),
        ("check", ["check", "rows.csv", "--tolerance", "0.02", "--by", "site"]),
        ("check_measures", ["check", "rows.csv", "--measure", "smooth_calibration_error=0.1",
                            "--measure", "cutoff_calibration_error=0.1"]),
        ("monitor", ["monitor", "rows.csv", "--time", "day"]),
        ("measures", ["measures"]),
        ("explain", ["explain", "rows.csv"]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_a_command_prints_what_it_printed(name, arguments):
    done = run(*arguments)
    assert done.returncode < 70, done.stderr
    printed = f"{done.stdout}{done.stderr}exit code {done.returncode}\n"
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8")

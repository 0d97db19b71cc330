"""Files for pipelines: their shell runs as pipelines run it, and their SQL runs in DuckDB."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import jinja2
import numpy as np
import pandas as pd
import pytest
import yaml

from commands import run

ROOT = Path(__file__).parents[2]
# How GitHub runs `shell: bash`, and a step that names no shell.
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "default": ["bash", "-e"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forecasts that pass, fail, are undecided and cannot be read; and the command itself."""
    folder = tmp_path_factory.mktemp("pipeline")
    rng = np.random.default_rng(0)
    p = rng.random(4000).round(2)
    y = (rng.random(4000) < p) * 1
    frames = {"good": (p, y), "bad": (p**3, y), "few": (p[:20], y[:20])}
    for name, (prediction, outcome) in frames.items():
        frame = pd.DataFrame({"prediction": prediction, "outcome": outcome})
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "broken.csv").write_text("prediction,outcome\n2.5,1\n")
    (folder / "bin").mkdir()
    program = folder / "bin" / "calibrant"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m calibrant "$@"\n')
    program.chmod(0o755)
    return folder


def stepped(folder, script, shell, **environment):
    """Run a step; its code, what it printed, its summary and its outputs."""
    files = {name: folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for path in [*files.values(), folder / "summary.md"]:
        path.unlink(missing_ok=True)
    (folder / "step.sh").write_text(script)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [*SHELLS[shell], "step.sh"],
        cwd=folder,
        env=os.environ | {"PATH": path, **{n: str(p) for n, p in files.items()}, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    texts = [path.read_text() if path.exists() else "" for path in files.values()]
    return done.returncode, done.stdout + done.stderr, *texts


CASES = [("good", 0, 0), ("bad", 1, 1), ("few", 3, 0), ("broken", 2, 2)]


@pytest.mark.parametrize(("name", "code", "ends"), CASES)
def test_the_step_of_the_docs_ends_with_the_code_of_the_gate(folder, name, code, ends):
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(re.search("```yaml\n(on: .*?)```", text, re.DOTALL)[1])
    *_, step = workflow["jobs"]["calibration"]["steps"]
    script = step["run"].replace("forecasts.parquet", f"{name}.csv").replace("0.02", "0.05")
    found, printed, summary, _ = stepped(folder, script, "default")
    assert found == ends, printed
    assert ("Calibration gate" in summary) == (code != 2)
    assert ("::warning::" in printed) == (code == 3)


@pytest.mark.parametrize(("name", "code", "ends"), CASES)
def test_the_action_ends_with_the_code_of_the_gate(folder, name, code, ends):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][1]
    given = {"FILES": f"{name}.csv", "OPTIONS": "--tolerance 0.05", "UNDECIDED": "warn"}
    assert set(step["env"]) == set(given)
    assert all(value == f"${{{{ inputs.{key.lower()} }}}}" for key, value in step["env"].items())
    found, printed, summary, output = stepped(folder, step["run"], step["shell"], **given)
    assert found == ends, printed
    assert output == f"code={code}\n"
    assert ("Calibration gate" in summary) == (code != 2)
    strict = stepped(folder, step["run"], step["shell"], **given | {"UNDECIDED": "fail"})
    assert strict[0] == code


def test_a_file_name_is_no_option_of_the_action(folder, tmp_path):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][1]
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "bin").symlink_to(folder / "bin")
    (odd / "--json=notes.csv").write_bytes((folder / "bad.csv").read_bytes())
    (odd / "good.csv").write_bytes((folder / "good.csv").read_bytes())
    given = {"FILES": "--json=notes.csv", "OPTIONS": "--tolerance 0.05", "UNDECIDED": "warn"}
    found, printed, *_ = stepped(odd, step["run"], step["shell"], **given)
    assert found == 1, printed
    assert not (odd / "notes.csv").exists()


def test_the_action_refuses_what_it_does_not_know(folder):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][1]
    given = {"FILES": "good.csv", "OPTIONS": "", "UNDECIDED": "pass"}
    assert stepped(folder, step["run"], step["shell"], **given)[0] == 2
    # Words of inputs are never part of the script itself.
    assert all("${{" not in one["run"] for one in action["runs"]["steps"])


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, code, _ in CASES])
def test_the_hook_judges_the_files_of_a_commit(folder, name, code, monkeypatch):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, *arguments = shlex.split(hook["entry"])
    assert program == "calibrant"
    monkeypatch.chdir(folder)
    assert re.search(hook["files"], f"forecasts/{name}.csv")
    assert not re.search(hook["files"], "README.md")
    assert run(*arguments, "--tolerance", "0.05", f"{name}.csv").returncode == code
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    example = yaml.safe_load(re.search("```yaml\n(- repo: .*?)```", page, re.DOTALL)[1])
    assert hook["args"][-1] == example[0]["hooks"][0]["args"][-1] == "--"


def cells_of(frame, **options):
    """Run the macro on DuckDB, as dbt would after rendering it."""
    source = (ROOT / "dbt" / "macros" / "calibrant_cells.sql").read_text(encoding="utf-8")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # SQL
    macro = environment.from_string(source).module.calibrant_cells
    with duckdb.connect() as connection:
        connection.register("forecasts", frame)
        return connection.execute(macro("forecasts", **options)).df()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 5000)
    p[:3] = [0.0, 1.0, 0.5]
    y = (rng.random(5000) < p) * 1
    y[:2] = [0, 1]
    return pd.DataFrame({"p": p, "y": y, "region": rng.choice(["north", "south"], 5000)})


def test_the_macro_sums_cells_that_an_audit_takes(frame, tmp_path):
    cells = cells_of(frame, prediction="p", outcome="y", by=["region"])
    assert len(cells) <= 2 * 4097
    assert cells.n.sum() == 5000
    assert cells.positives.sum() == frame.y.sum()
    cells.to_csv(tmp_path / "cells.csv", index=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    summed = run("audit", str(tmp_path / "cells.csv"), "--count", "n", "--positives", "positives",
                 "--prediction-sum", "prediction_sum", "--by", "region", "--json", "-")  # fmt: skip
    rows = run("audit", str(tmp_path / "rows.csv"), "--prediction", "p", "--outcome", "y",
               "--by", "region", "--json", "-")  # fmt: skip
    assert summed.returncode == 0, summed.stderr
    found, exact = (json.loads(done.stdout) for done in (summed, rows))
    assert found["verdict"]["value"] == pytest.approx(exact["verdict"]["value"], abs=1 / 4096)
    assert found["verdict"]["state"] == exact["verdict"]["state"]
    sizes = [{g["name"]: g["rows"] for g in one["groups"]["groups"]} for one in (found, exact)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("column", ["p", "y"])
def test_missing_values_are_refused_and_not_dropped(frame, tmp_path, column):
    frame = frame.astype({"y": float})
    frame.loc[7, column] = np.nan
    cells = cells_of(frame.replace({np.nan: None}), prediction="p", outcome="y")
    assert cells.n.sum() == 5000
    cells.to_csv(tmp_path / "cells.csv", index=False)
    done = run("audit", str(tmp_path / "cells.csv"), "--count", "n", "--positives", "positives",
               "--prediction-sum", "prediction_sum")  # fmt: skip
    assert done.returncode == 2
    assert "missing" in done.stderr

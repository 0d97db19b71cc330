"""Logs that the harnesses write today are read like those that are kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import calibrant as cal

pytestmark = pytest.mark.slow
ANSWERS = Path(__file__).parents[1] / "answers"


# Each harness in an environment of its own: none of its dependencies binds another's, or ours.
ENVIRONMENTS = Path(__file__).parents[2] / "build" / "harnesses"
NEEDS = {"inspect_ai": ["inspect_ai"], "lm_eval": ["lm_eval", "datasets"]}


def python_of(package):
    """Make the environment of a harness, once; where it cannot be had the test says why."""
    python = ENVIRONMENTS / package / "bin" / "python"
    if not done(python, "-c", f"import {package}"):
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENTS / package)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *NEEDS[package]]
        installed = subprocess.run(install, capture_output=True, text=True, check=False)
        if installed.returncode:
            pytest.fail(f"{package} cannot be installed: {installed.stderr[-400:]}")
    return python


def done(python, *arguments):
    return (
        python.exists()
        and subprocess.run([str(python), *arguments], capture_output=True, check=False).returncode
        == 0
    )


def write(package, script, folder):
    """Run a script where its package is installed."""
    found = subprocess.run(
        [str(python_of(package)), str(ANSWERS / script), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


def same(new, kept, **options):
    new, kept = (cal.llm.read(path, **options) for path in (new, kept))
    assert new.found == kept.found
    assert new.confidence.tolist() == kept.confidence.tolist()
    assert new.correct.tolist() == kept.correct.tolist()


def test_logs_of_inspect(tmp_path):
    write("inspect_ai", "write_inspect_logs.py", tmp_path)
    for name in ("inspect_sums.eval", "inspect_letters.json", "inspect_partial.json"):
        same(tmp_path / name, ANSWERS / "logs" / name, pass_mark=0.5)


def test_logs_of_lm_evaluation_harness(tmp_path):
    write("lm_eval", "write_lm_eval_logs.py", tmp_path)
    for task in ("odd", "spoken"):
        (new,) = tmp_path.rglob(f"samples_{task}_*.jsonl")
        (kept,) = (ANSWERS / "logs").rglob(f"samples_{task}_*.jsonl")
        same(new, kept)

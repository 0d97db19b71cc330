"""The command itself: its version, what it stands on, and words that a shell completes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import calibrant as cal
from commands import run


def test_the_version_is_told():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"calibrant {cal.__version__}\n")


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "calibrant", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"calibrant {cal.__version__}\n"


def test_versions_of_what_it_stands_on_are_told(capsys):
    cal.show_versions()
    shown = capsys.readouterr().out
    assert run("show-versions").stdout == shown
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["calibrant"] == cal.__version__
    assert lines["Python"] == sys.version.split()[0]
    for name in ("numpy", "duckdb", "scikit-learn", "pandas"):
        assert lines[name][0].isdigit()
    # No path of a machine, no name of a person.
    assert os.sep not in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script(shell):
    done = run("completion", shell)
    assert done.returncode == 0, done.stderr
    assert "_CALIBRANT_COMPLETE=complete_" + shell in done.stdout
    assert run("completion", "tcsh").returncode == 2


def completed(words):
    environment = os.environ | {
        "_CALIBRANT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-m", "calibrant"], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.stdout.split()


def test_commands_and_options_are_completed():
    assert completed("calibrant com") == ["compare", "completion"]
    assert completed("calibrant monitor --st") == ["--state"]
    assert completed("calibrant audit --scale ") == ["unit", "percent", "logit", "mixed"]


def test_bash_completes_with_the_script(tmp_path):
    """The script asks the command, as bash does when somebody presses tab."""
    script = tmp_path / "complete.sh"
    script.write_text(run("completion", "bash").stdout)
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "calibrant"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m calibrant "$@"\n')
    program.chmod(0o755)
    ask = (
        f". {script}; COMP_WORDS=(calibrant show); COMP_CWORD=1; "
        '_calibrant_completion calibrant; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", ask],  # noqa: S607
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["show-versions"], done.stderr


def test_warnings_are_told_like_errors(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("prediction,outcome\n" + "0.2,0\n0.6,1\n" * 40)
    done = run("audit", str(path), "--by", "outcome")
    assert done.stderr.startswith("calibrant: warning: the groups of outcome tell the outcome")
    assert ".py" not in done.stderr

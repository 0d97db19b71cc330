"""The tutorial of many rows, with as many as it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_hundred_million_rows(tmp_path):
    page = ROOT / "docs" / "tutorials" / "many_rows.md"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "--doctest-glob=*.md", str(page)],
        cwd=ROOT,
        env={**os.environ, "TUTORIAL_ROWS": "100000000", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout

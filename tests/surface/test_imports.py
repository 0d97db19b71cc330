"""What `import calibrant` gives and what it must not pull in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import calibrant as cal

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_there_and_documented():
    for name in cal.__all__:
        assert hasattr(cal, name)
        if callable(getattr(cal, name)):
            assert getattr(cal, name).__doc__


def test_importing_pulls_in_no_heavy_package():
    program = (
        "import sys, calibrant; "
        "print([m for m in ('scipy', 'narwhals', 'duckdb', 'matplotlib', 'pandas', 'sklearn', "
        "'typer', 'rich', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_tests_run_against_the_installed_package():
    assert "site-packages" in cal.__file__


def test_types_are_shipped():
    folder = Path(cal.__file__).parent
    assert (folder / "py.typed").exists()
    assert "def smooth_error" in (folder / "_kernels.pyi").read_text()


@pytest.mark.parametrize("name", cal.CATALOGUE)
def test_every_measure_has_a_page_with_its_flaw(name):
    page = (ROOT / "docs" / "measures" / f"{name}.md").read_text(encoding="utf-8")
    for heading in (
        "## Definition",
        "## What a value means",
        "## Known flaws",
        "## When to use it",
    ):
        assert heading in page
    assert f"cal.{name}(" in page


def test_every_public_name_stands_in_the_docs():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    missing = [name for name in cal.__all__ if name not in text]
    assert not missing

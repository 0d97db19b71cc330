"""Tests that need a program are left out where it is missing, unless that is forbidden."""

from __future__ import annotations

from pathlib import Path

import pytest

import programs

pytest_plugins = ["pytester"]

MARKED = """
import pytest

@pytest.mark.needs("chromium")
def test_with_a_browser():
    pass

def test_without():
    pass
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = needs(program): needs a program")
    pytester.makepyfile(MARKED)
    monkeypatch.setitem(programs.COMMANDS, "chromium", "no-such-program")
    return pytester


def test_a_test_is_left_out_and_named_where_its_program_is_missing(suite):
    result = suite.runpytest("-ra")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*left out: chromium is not installed*"])


def test_leaving_out_can_be_forbidden(suite):
    result = suite.runpytest("--leave-nothing-out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs chromium, which is not installed*"])


def test_markers_are_found(tmp_path):
    (tmp_path / "test_marked.py").write_text(MARKED)
    assert programs.needed(tmp_path) == {"chromium"}


def test_every_program_has_a_package():
    assert programs.COMMANDS.keys() == programs.DEBIAN_PACKAGES.keys()

"""What all tests share."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

import programs
import servers
from engines import engine, lazy_engine, spark

__all__ = ["engine", "lazy_engine", "spark"]  # fixtures for tests of any room


def pytest_addoption(parser):
    parser.addoption(
        "--leave-nothing-out",
        action="store_true",
        help="a test whose program is missing is an error, not left out",
    )


def pytest_collection_modifyitems(config, items):
    # Files of few tests are those that start programs or build the site: first, so that no worker
    # is left alone with one of them at the end.
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (tests[item.path], str(item.path)))
    for item in items:
        missing = [
            name
            for mark in item.iter_markers("needs")
            for name in mark.args
            if programs.is_missing(name)
        ]
        if not missing:
            continue
        if config.getoption("--leave-nothing-out"):
            raise pytest.UsageError(f"{item.nodeid} needs {missing[0]}, which is not installed")
        item.add_marker(pytest.mark.skip(reason=f"left out: {missing[0]} is not installed"))


class FilesAndSpark(LoadFileScheduling):
    """A file to each worker, and all tests on Spark to one: its session is slow to start."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FilesAndSpark(config, log)


@pytest.fixture(scope="module")
def chromium():
    """The browser of the system, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of its own; sockets want a short path."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder, servers.postgres(Path(folder)) as one:
        yield one

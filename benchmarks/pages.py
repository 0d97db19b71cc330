"""What all benchmarks share: when and where, lines as they come, and a page that can be kept."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

import calibrant as cal

Line = tuple[str, bool]
"""A line of Markdown, and whether what it measures holds its bar."""


def stamp() -> str:
    """Day, versions and machine."""
    today = dt.datetime.now(dt.UTC).date()
    python = f"Python {platform.python_version()}"
    machine = f"{_processor()}, {os.cpu_count()} cores"
    return f"{today}, calibrant {cal.__version__}, numpy {np.__version__}, {python}, {machine}."


def add_write(parser: argparse.ArgumentParser, page: str) -> None:
    """Offer to keep what is printed."""
    parser.add_argument("--write", action="store_true", help=f"also write {page}.md")


def show(title: str, lines: Iterable[Line], page: str | None) -> int:
    """Print lines as they come, write the page when all are there, count the bars missed."""
    kept, missed = [], 0
    for line, held in chain([(f"# {title}\n", True), (f"{stamp()}\n", True)], lines):
        kept.append(line if held else f"{line} MISSED")
        print(kept[-1], flush=True)
        missed += not held
    if page is not None:
        path = Path(__file__).with_name(f"{page}.md")
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return missed


def leave(missed: int) -> None:
    """Exit with 1 if a bar was missed."""
    if missed:
        sys.exit(f"{missed} bars missed")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.processor() or 'processor')} ({platform.machine()})"

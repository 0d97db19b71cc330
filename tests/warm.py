"""Imports what commands use, for a process that is forked to run them.

It must start no thread, so DuckDB is left out.
"""

from __future__ import annotations

import jinja2
import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import matplotlib.figure
import narwhals.stable.v2
import numpy.testing
import rich.table
import scipy.optimize
import scipy.special
import typer.rich_utils

import calibrant.cli.main
import calibrant.datasets
import calibrant.gate
import calibrant.groups
import calibrant.monitoring.logs
import calibrant.online.game
import calibrant.recalibration.files
import calibrant.report.audit
import calibrant.report.html

__all__ = [
    "calibrant",
    "jinja2",
    "matplotlib",
    "narwhals",
    "numpy",
    "rich",
    "scipy",
    "typer",
]

# Reads the options of all commands, and imports what checks the values that are given to them.
commands = typer.main.get_command(calibrant.cli.main.app).commands
commands["check"].make_context("check", ["forecasts.csv"])

"""What a command costs from a cold start: processor time, memory, size of the report."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GIGABYTE = 2**30
REPORT_BAR = 2**20
RUNS = 3


@dataclass(frozen=True)
class Command:
    name: str
    arguments: tuple[str, ...]
    seconds: float
    gigabytes: float
    says: str
    """What the output must hold."""


COMMANDS = (
    Command("calibrant --help", ("--help",), 0.4, 0.5, "audit"),
    Command("audit, 100 rows", ("audit", "tiny.csv"), 0.9, 0.3, "Undecided"),
    Command("audit, 10^4 rows", ("audit", "small.csv"), 3.0, 0.5, "Miscalibrated"),
    Command(
        "audit, 10^4 rows, HTML",
        ("audit", "small.csv", "--html", "small.html"),
        2.5,
        0.5,
        "report: small.html",
    ),
    Command(
        "audit, 10^6 rows of Parquet, HTML",
        ("audit", "middle.parquet", "--html", "middle.html"),
        4.0,
        0.5,
        "report: middle.html",
    ),
    Command(
        "audit, 10^7 rows of Parquet, HTML",
        ("audit", "large.parquet", "--html", "large.html"),
        4.0,
        0.5,
        "report: large.html",
    ),
    Command("audit, CSV of 1000 columns, 2000 rows", ("audit", "wide.csv"), 2.0, 0.5, "forecasts"),
    Command(
        "audit, 10^7 rows of Parquet, two group columns",
        ("audit", "large.parquet", "--by", "country,month"),
        30.0,
        2.0,
        "212 of 212 groups exceed",
    ),
    Command(
        "audit, 3x10^7 rows of Parquet in 10^6 clusters",
        ("audit", "clusters.parquet", "--cluster", "patient"),
        60.0,
        4.0,
        "Miscalibrated",
    ),
    Command(
        "repair, 3x10^7 rows of Parquet, with the rows written",
        ("recalibrate", "clusters.parquet", "--out", "fixed.parquet", "--force"),
        60.0,
        4.0,
        "calibrator helps",
    ),
)


def make_files(folder: Path) -> None:
    """Rows with predictions of all digits, in 12 months and 200 countries."""
    import duckdb

    rows = """
        select p as prediction, (random() < p ** 1.2)::tinyint as outcome,
          'country ' || (random() * 199)::int as country,
          ['jan', 'feb', 'mar', 'apr', 'may', 'jun',
           'jul', 'aug', 'sep', 'oct', 'nov', 'dec'][(random() * 11)::int + 1] as month
        from (select random() as p from range({}))
    """
    with duckdb.connect() as connection:
        connection.execute("set threads = 1; set enable_progress_bar = false; select setseed(0.5)")
        sizes = (
            ("tiny.csv", 100),
            ("small.csv", 10**4),
            ("middle.parquet", 10**6),
            ("large.parquet", 10**7),
        )
        for name, count in sizes:
            connection.execute(f"copy ({rows.format(count)}) to '{folder / name}'")
        clustered = f"select *, (random() * 1e6)::int as patient from ({rows.format(3 * 10**7)})"
        clustered = f"select prediction, outcome, patient from ({clustered})"
        connection.execute(f"copy ({clustered}) to '{folder / 'clusters.parquet'}'")
        more = ", ".join(f"random() as feature_{i}" for i in range(998))
        wide = f"select prediction, outcome, {more} from ({rows.format(2000)})"
        connection.execute(f"copy ({wide}) to '{folder / 'wide.csv'}'")


# A process begins with the memory of the one that starts it, peak and all: so a small one does.
LAUNCHER = """
import json, os, subprocess, sys
program = [sys.executable, "-m", "calibrant", *sys.argv[1:]]
with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
seconds, kilobytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
print(json.dumps([process.returncode, printed, seconds, kilobytes]))
"""


def installed(folder: Path) -> Path:
    """Install what a user gets, newest packages and all, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
    return python


def versions(python: Path) -> str:
    """Name the packages that weigh most in a command."""
    names = ("numpy", "scipy", "duckdb", "narwhals")
    program = f"from importlib.metadata import version; print(*map(version, {names!r}))"
    found = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return ", ".join(f"{a} {b}" for a, b in zip(names, found.stdout.split(), strict=True))


def cost(python: Path, arguments: tuple[str, ...], folder: Path, says: str) -> tuple[float, float]:
    """Processor time and gigabytes of one run in a process of its own."""
    launched = [python, "-c", LAUNCHER, *arguments]
    done = subprocess.run(launched, cwd=folder, capture_output=True, text=True, check=True)
    code, printed, seconds, kilobytes = json.loads(done.stdout)
    assert code == 0, (printed, done.stderr)
    assert says in printed, printed
    return seconds, kilobytes * 1024 / GIGABYTE


def command_table() -> Iterator[tuple[str, bool]]:
    """Best of several runs; the report of 200 groups must be one small file."""
    yield "\n## Commands, from a cold start: processor time\n", True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(folder / "environment")
        yield f"Installed as by a user: {versions(python)}.\n", True
        yield "| command | bar | seconds | bar | GB |", True
        yield "|---|---|---|---|---|", True
        make_files(folder)
        for command in COMMANDS:
            runs = [cost(python, command.arguments, folder, command.says) for _ in range(RUNS)]
            seconds, gigabytes = min(run[0] for run in runs), max(run[1] for run in runs)
            numbers = f"{seconds:.2f} | {command.gigabytes} | {gigabytes:.2f}"
            held = seconds <= command.seconds and gigabytes <= command.gigabytes
            yield f"| {command.name} | {command.seconds} | {numbers} |", held
        by_country = ("audit", "small.csv", "--by", "country", "--html", "r.html")
        cost(python, by_country, folder, "report: r.html")
        size = (folder / "r.html").stat().st_size
    yield f"\nReport with 200 groups: {size / 1024:.0f} kB (bar 1024 kB).", size <= REPORT_BAR

"""Real database servers for tests, started in a folder of their own and stopped at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import programs

# Seconds that a server may take to start, to answer or to stop.
PATIENCE = 120


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server that listens on a socket in its folder, and nowhere else."""

    folder: Path

    @property
    def address(self) -> str:
        """How DuckDB attaches it."""
        return f"postgres:host={self.folder} dbname=postgres user=postgres"

    def query(self, sql: str) -> list[list[str]]:
        """Run statements and give the rows of the last one as text; NULL is empty."""
        place = ["-h", str(self.folder), "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [programs.find("psql"), *place, "-X", "-q", "-A", "-t", "-F", "\t"],
            input=sql,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env=plain_environment(),
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]


def plain_environment() -> dict[str, str]:
    """Return the environment without libraries that are loaded first: a sanitizer stops servers."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """Start a PostgreSQL server; as root it runs as the user that Debian's package makes."""
    data = folder / "data"
    data.mkdir()
    user = []
    if os.geteuid() == 0:
        user = [shutil.which("setpriv") or "setpriv", "--reuid=postgres", "--clear-groups"]
        for place in (folder, data):
            shutil.chown(place, "postgres")
    settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    control = [*user, programs.find("pg_ctl"), "-D", str(data), "-w", "-s"]
    subprocess.run(
        [*user, programs.find("initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-N"],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
        env=plain_environment(),
    )
    subprocess.run(
        [*control, "-o", settings, "-l", str(folder / "log"), "start"],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE,
        env=plain_environment(),
    )
    try:
        yield Postgres(folder)
    finally:
        stop = [*control, "-m", "immediate", "stop"]
        subprocess.run(stop, check=True, timeout=PATIENCE, env=plain_environment())

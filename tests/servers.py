"""Real database servers for tests, started in a folder of their own and stopped at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server that listens on a socket in its folder, and nowhere else."""

    folder: Path

    def query(self, sql: str) -> list[list[str]]:
        """Run statements and give the rows of the last one as text; NULL is empty."""
        place = ["-h", str(self.folder), "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [_program("psql"), *place, "-X", "-q", "-A", "-t", "-F", "\t"],
            input=sql,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]


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
    control = [*user, _program("pg_ctl"), "-D", str(data), "-w", "-s"]
    subprocess.run(
        [*user, _program("initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-N"],
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [*control, "-o", settings, "-l", str(folder / "log"), "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Postgres(folder)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True)


def _program(name: str) -> str:
    """Path of a program; Debian keeps PostgreSQL's outside the path."""
    places = [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        raise RuntimeError(f"{name} is not installed")
    return found

"""Programs beyond Python's packages that some tests need, and how Debian provides them.

A test that needs one is marked ``@pytest.mark.needs("chromium")``. Run as a script this installs
what the marked tests need, as root on Debian; elsewhere it does nothing, and pytest leaves those
tests out and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

COMMANDS = {"java": "java", "chromium": "chromium", "postgres": "initdb"}
DEBIAN_PACKAGES = {
    "java": ("default-jre-headless",),
    "chromium": ("chromium", "fonts-dejavu-core", "fonts-liberation"),
    "postgres": ("postgresql",),
}
# Another process may be installing something: wait for it, in seconds.
APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300")


def needed(folder: Path) -> set[str]:
    """Programs named by the markers of the tests in a folder."""
    marker = re.compile(r"mark\.needs\(\"(\w+)\"\)")
    return {
        name
        for file in folder.rglob("*.py")
        for name in marker.findall(file.read_text(encoding="utf-8"))
    }


def find(command: str) -> str | None:
    """Where a command is; Debian keeps PostgreSQL's outside the path."""
    places = [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    return shutil.which(command, path=os.pathsep.join(places))


def is_missing(program: str) -> bool:
    return find(COMMANDS[program]) is None


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(programs: set[str]) -> None:
    packages = sorted(name for program in programs for name in DEBIAN_PACKAGES[program])
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*APT, "update", "-qq"], check=True, env=environment)
    # A browser is recommended a hundred packages, of printing among others.
    asked = ("install", "-y", "-qq", "--no-install-recommends")
    subprocess.run([*APT, *asked, *packages], check=True, env=environment)


def main() -> None:
    missing = {program for program in needed(Path(__file__).parent) if is_missing(program)}
    if missing and can_install():
        install(missing)
    elif missing:
        print(f"tests that need {', '.join(sorted(missing))} will be left out", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Running the command line as a user does."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `calibrant` with arguments, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from calibrant.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )

"""The command line: one file per command."""

from calibrant.cli.main import main

__all__ = ["main"]

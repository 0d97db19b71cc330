"""The command line: one file per command."""

from calibrant.cli.start import multiply_in_one_thread

multiply_in_one_thread()  # before numpy is imported

from calibrant.cli.main import main  # noqa: E402

__all__ = ["main"]

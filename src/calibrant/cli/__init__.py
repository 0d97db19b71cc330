"""The command line: one file per command."""

from calibrant.cli.start import multiply_in_one_thread

multiply_in_one_thread()  # before numpy is imported

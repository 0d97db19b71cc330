"""The `calibrant` program, also `python -m calibrant`: where its exit code is decided."""

from __future__ import annotations

import sys
import traceback

FAULT, INTERRUPTED = 70, 130  # as in calibrant._base.exit_codes, which may fail to import too


def main() -> None:
    """Run a command and exit; whatever fails outside of it, imports included, ends with 70.

    Python itself would exit with 1, which `check` and `monitor` use for a verdict.
    """
    try:
        from calibrant.cli.main import run

        code = int(run())
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException as error:  # noqa: BLE001  # also SystemExit of a library
        code = FAULT
        _report(error)
    sys.exit(code)


def _report(error: BaseException) -> None:
    """Print why the program could not run."""
    if sys.stderr is None:
        return
    try:
        if "--debug" in sys.argv:
            traceback.print_exception(error)
        message = " ".join(f"{type(error).__name__}: {error}".split())
        sys.stderr.write(
            f"calibrant: the command line could not run: {message}. Check the installed packages "
            "with python -m pip check, or install calibrant again.\n"
        )
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nowhere to report it


if __name__ == "__main__":
    main()

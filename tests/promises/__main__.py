"""Print the table: of all subjects, or of those that are named."""

from __future__ import annotations

import argparse
import sys

from promises import SUBJECTS, power
from promises.core import HEAD, head


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m promises", description=__doc__)
    parser.add_argument(
        "subject", nargs="*", help=f"all, or some of {', '.join([*SUBJECTS, 'power'])}"
    )
    chosen = parser.parse_args().subject or [*SUBJECTS]
    unknown = set(chosen) - {*SUBJECTS, "power"}
    if unknown:
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    for line in lines(chosen):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def lines(chosen):
    """Lines of the tables, each as soon as it is known."""
    promises = [promise for subject in chosen for promise in SUBJECTS.get(subject, [])]
    if promises:
        yield head(*HEAD)
    for promise in promises:
        yield promise.observe().line
    if "power" in chosen:
        yield from power.lines()


if __name__ == "__main__":
    main()

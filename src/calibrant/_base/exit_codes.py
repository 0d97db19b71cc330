"""What the exit code of a command means: the one list of them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes; only 0, 1 and 3 are verdicts on forecasts."""

    PASSED = 0
    FAILED = 1
    WRONG_INPUT = 2
    UNDECIDED = 3
    FAULT = 70
    INPUT_OUTPUT = 74
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        """Say it in words."""
        return MEANINGS[self]


MEANINGS = {
    ExitCode.PASSED: "done; check: calibrated, monitor: no alarm, compare: not worse",
    ExitCode.FAILED: "check: miscalibrated, monitor: an alarm, compare: worse; nothing else",
    ExitCode.WRONG_INPUT: "the command or the data is wrong",
    ExitCode.UNDECIDED: "check, compare: undecided, the rows are too few to tell",
    ExitCode.FAULT: "a fault of calibrant itself",
    ExitCode.INPUT_OUTPUT: "reading or writing failed, such as on a full disk",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
    ExitCode.TERMINATED: "terminated (SIGTERM)",
}

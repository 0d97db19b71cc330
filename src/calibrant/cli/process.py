"""What a command owes the process it runs in: signals that clean up, streams that are open."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from types import FrameType
from typing import TextIO, cast

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class StoppedError(BaseException):
    """A signal asks the command to stop."""


@dataclass
class Signals:
    """Which signal asked the command to stop; libraries may turn what it raised into another."""

    got: list[int] = field(default_factory=list)

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Remember a signal and stop; a second one must not stop the cleaning up."""
        first = not self.got
        self.got.append(number)
        if first:
            raise StoppedError

    @property
    def exit_code(self) -> int | None:
        """What shells return for a command that a signal ended."""
        return 128 + self.got[0] if self.got else None


@contextmanager
def listening() -> Iterator[Signals]:
    """Let signals raise; those that the caller ignores stay ignored."""
    signals = Signals()
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, signals.stop)
            for number in STOPPING
            if signal.getsignal(number) not in {signal.SIG_IGN, None}
        }
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_streams() -> None:
    """Open the standard streams that the caller has closed: their use fails, nothing else does.

    Otherwise the next file that is opened would take the number of a stream, and whatever is
    printed would land in that file.
    """
    # What is read from the first and written to the second fails; complaints are lost.
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    sys.stdin = sys.stdin or _opened(0, "r")
    sys.stdout = sys.stdout or _opened(1, "w")
    sys.stderr = sys.stderr or _opened(2, "w")
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal does not know must not end the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush(stream: TextIO) -> None:
    """Write what was printed; what cannot be written is lost, and raised once."""
    try:
        stream.flush()
    except OSError:
        # The end of the process flushes again, and would change the exit code.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


def _opened(number: int, mode: str) -> TextIO:
    return cast("TextIO", open(number, mode, encoding="utf-8", closefd=False))

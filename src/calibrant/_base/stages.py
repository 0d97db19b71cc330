"""Reporting which stage the work has reached, and how far it is within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

StageReporter = Callable[[str], None]
Probe = Callable[[], float]


class Listener(Protocol):
    """Somebody who waits for a stage to end."""

    def reached(self, share: float) -> None:
        """Hear that a share of the stage is done."""

    def probe_with(self, probe: Probe | None) -> None:
        """Receive a function that returns that share, from any thread; below 0 it is not known."""


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def silent(stage: str) -> None:
    """Report to nobody."""


def somebody_waits() -> bool:
    """Whether anybody wants to know how far a stage is."""
    return _LISTENER.get() is not None


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Report the progress of stages to a listener, while a block runs."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def reached(share: float) -> None:
    """Report that a share of the stage is done, to whoever waits."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.reached(share)


@contextmanager
def probed(probe: Probe) -> Iterator[None]:
    """Let whoever waits query how far the stage is, while a block runs."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    listener.probe_with(probe)
    try:
        yield
    finally:
        listener.probe_with(None)

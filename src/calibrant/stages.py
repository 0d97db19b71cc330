"""Telling somebody who waits which stage the work has reached."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]


def silent(stage: str) -> None:
    """Tell nobody."""

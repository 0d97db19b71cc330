"""A bar for those who wait at a terminal; a pipe stays quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.stages import Tell

# Work that takes less time than this, in seconds, shows no bar.
PATIENCE = 1.0


@contextmanager
def progress(stages: int) -> Iterator[Tell]:
    """Show which of so many stages has begun."""
    with _patient_bar(stages, begun=-1) as move:
        yield lambda stage: move(1, stage)


@contextmanager
def counted(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Show how many of so many things are done."""
    with _patient_bar(total) as move:
        yield lambda done: move(done, what)


@contextmanager
def _patient_bar(total: int, begun: int = 0) -> Iterator[Callable[[int, str], None]]:
    """Yield a function that moves the bar and says what is being done."""
    if not sys.stderr.isatty():
        yield lambda _done, _what: None
        return
    from rich.console import Console, RenderableType
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    start = monotonic()

    class PatientProgress(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if monotonic() - start >= PATIENCE:
                yield from super().get_renderables()

    bar = PatientProgress(
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn("gone, about"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=total, completed=begun)
    with bar:
        yield lambda done, what: bar.update(task, description=what, advance=done, refresh=True)

"""A bar for those who wait at a terminal; a pipe stays quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

from calibrant.report.stages import Tell, silent

# Work that takes less time than this, in seconds, shows no bar.
PATIENCE = 1.0


@contextmanager
def progress(stages: int) -> Iterator[Tell]:
    """Show which of so many stages has begun."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    begun = monotonic()

    class PatientProgress(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if monotonic() - begun >= PATIENCE:
                yield from super().get_renderables()

    bar = PatientProgress(
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=stages, completed=-1)

    def tell(stage: str) -> None:
        bar.update(task, description=stage, advance=1, refresh=True)

    with bar:
        yield tell

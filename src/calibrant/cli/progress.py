"""A bar for those who wait at a terminal, with the time that is left; a pipe stays quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.stages import Tell

# Work that takes less time than this, in seconds, shows no bar.
PATIENCE = 1.0
# How long stages take beside each other, about; those that are not named take one part.
SHARES = {
    "reading": 3.0,
    "verdict": 4.0,
    "measures": 4.0,
    "every measure": 2.0,
    "classes": 4.0,
    "sets of classes": 4.0,
    "groups": 3.0,
    "segments": 4.0,
    "baseline": 2.0,
    "what to do": 2.0,
    "choosing a map": 8.0,
    "watching": 6.0,
}


@dataclass(slots=True)
class Outlook:
    """How long work will go on, judged by the part that is done."""

    total: float
    begun: float = field(default_factory=lambda: monotonic())  # noqa: PLW0108  # of today, not of the import
    done: float = 0.0
    ends: float | None = None
    """When it will end, as far as is known."""

    def advance(self, part: float) -> None:
        """Note that a part is done."""
        self.done += part
        self.total = max(self.total, self.done)
        elapsed = monotonic() - self.begun
        if self.done > 0:
            self.ends = self.begun + elapsed * self.total / self.done

    @property
    def sentence(self) -> str:
        """Say how much time is left; nothing while that is anybody's guess."""
        if self.ends is None:
            return ""
        left = self.ends - monotonic()
        if left < 1:
            return "nearly done" if self.done >= self.total else "longer than expected"
        if left < 90:
            return f"about {left:.0f} s left"
        return f"about {left / 60:.0f} min left"


@contextmanager
def progress(stages: Sequence[str]) -> Iterator[Tell]:
    """Show which stage has begun, and how long those that follow will take."""
    shares = {stage: SHARES.get(stage, 1.0) for stage in stages}
    running: list[float] = []
    with _patient_bar(sum(shares.values())) as move:

        def tell(stage: str) -> None:
            move(running.pop() if running else 0.0, stage)
            running.append(shares.get(stage, 1.0))

        yield tell


@contextmanager
def counted(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Show how many of so many things are done."""
    with _patient_bar(total) as move:
        yield lambda done: move(done, what)


@contextmanager
def _patient_bar(total: float) -> Iterator[Callable[[float, str], None]]:
    """Yield a function that moves the bar and says what is being done."""
    if not sys.stderr.isatty():
        yield lambda _done, _what: None
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    outlook = Outlook(total)

    class PatientProgress(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if monotonic() - outlook.begun >= PATIENCE:
                yield from super().get_renderables()

    class TimeLeftColumn(ProgressColumn):
        def render(self, _task: Any) -> Text:
            return Text(outlook.sentence)

    bar = PatientProgress(
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeLeftColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = bar.add_task("", total=total)

    def move(done: float, what: str) -> None:
        outlook.advance(done)
        bar.update(task, description=what, advance=done, total=outlook.total, refresh=True)

    with bar:
        yield move

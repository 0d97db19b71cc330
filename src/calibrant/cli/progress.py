"""A bar for those who wait at a terminal, with the time that is left; a pipe stays quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from calibrant._base.stages import heard_by

if TYPE_CHECKING:
    from calibrant._base.stages import Probe, StageReporter

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
    "choosing a calibrator": 8.0,
    "watching": 6.0,
}


@dataclass(slots=True)
class Outlook:
    """How long work will go on, judged by the part that is done."""

    total: float
    begun: float = field(default_factory=lambda: monotonic())  # noqa: PLW0108  # of today, not of the import
    done: float = 0.0
    running: float = 0.0
    """How long the stage takes that has begun."""
    share: float = 0.0
    """How much of it is done."""
    ends: float | None = None
    """When all will end, as far as is known."""
    probe: Probe | None = None
    """Returns the share."""

    def advance(self, part: float, running: float = 0.0) -> None:
        """Note that a part is done, and that another one has begun."""
        self.done += part
        self.running, self.share = running, 0.0
        self.total = max(self.total, self.done)
        self._judge()

    def reached(self, share: float) -> None:
        """Note that a share of the stage is done; it never shrinks."""
        if self.share < share <= 1:
            self.share = share
            self._judge()

    def probe_with(self, probe: Probe | None) -> None:
        """Call this for the share from now on, or no longer."""
        self.probe = probe

    def look(self) -> float:
        """Probe the stage, and return how much is done in all."""
        probe = self.probe
        if probe is not None:
            self.reached(probe())
        return self.done + self.running * self.share

    def _judge(self) -> None:
        known = self.done + self.running * self.share
        if known > 0:
            self.ends = self.begun + (monotonic() - self.begun) * self.total / known

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
def progress(stages: Sequence[str]) -> Iterator[StageReporter]:
    """Show which stage has begun, and how long it and those that follow will take."""
    shares = {stage: SHARES.get(stage, 1.0) for stage in stages}
    running: list[float] = []
    with _patient_bar(sum(shares.values())) as update:

        def report_stage(stage: str) -> None:
            done = running.pop() if running else 0.0
            running.append(shares.get(stage, 1.0))
            update(done, stage, running[-1])

        yield report_stage


@contextmanager
def counted(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Show how many of so many things are done."""
    with _patient_bar(total) as update:
        yield lambda done: update(done, what, 0.0)


@contextmanager
def _patient_bar(total: float) -> Iterator[Callable[[float, str, float], None]]:
    """Yield a function that moves the bar, says what is being done, and how long that takes."""
    if not sys.stderr.isatty():
        yield lambda _done, _what, _running: None
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    outlook = Outlook(total)

    class PatientProgress(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if monotonic() - outlook.begun >= PATIENCE:
                for each in self.tasks:
                    each.completed = outlook.look()
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

    def update(done: float, what: str, running: float) -> None:
        outlook.advance(done, running)
        bar.update(task, description=what, total=outlook.total, refresh=True)

    with bar, heard_by(outlook):
        yield update

"""What was seen of a log: one group of rows, or all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from calibrant._base.notebook import brief
from calibrant._base.words import count_text
from calibrant.monitoring.events import WITH, ClusterForecast
from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.windows import Window, Windows

SCHEMA = 2
# Evidence beyond this is written as this, since JSON has no infinity.
LARGEST_NUMBER = 1e300


@dataclass(frozen=True, slots=True)
class MonitoredGroup:
    """One group of rows, in the order of time."""

    group: str | None
    rows: int
    monitor: CalibrationMonitor
    first: str
    last: str
    alarm_time: str | None
    change_time: str | None
    stretch: Windows = field(repr=False)
    """Windows, and what is needed to carry them on."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Windows of time, in their order."""
        return self.stretch.shown

    @property
    def noun(self) -> str:
        """What enters the monitor."""
        return "row" if self.monitor.cluster_forecast is None else "cluster"

    @property
    def mean_prediction(self) -> float:
        """Mean forecast of what entered."""
        return self._mean("mean_prediction")

    @property
    def base_rate(self) -> float:
        """Observed rate of what entered."""
        return self._mean("base_rate")

    def _mean(self, name: str) -> float:
        full = [window for window in self.windows if window.rows]
        total: float = sum(window.rows * getattr(window, name) for window in full)
        return total / sum(window.rows for window in full)

    @property
    def sentence(self) -> str:
        """Say what the monitor says, and when it alarmed."""
        when = "" if self.alarm_time is None else f" The alarm was raised at {self.alarm_time}."
        how = self.monitor.cluster_forecast
        once = "" if how is None else f" Each cluster entered once, {WITH[how]}."
        return f"{self.monitor.sentence}{when}{once}"

    @property
    def brief(self) -> str:
        """Say when it alarmed, and whether the signal has weakened since."""
        monitor = self.monitor
        if not monitor.alarm:
            return f"No alarm after {count_text(monitor.rows, self.noun)}."
        weaker = monitor.evidence < 1 / monitor.alpha
        when = "Alarm" if self.alarm_time is None else f"Alarm at {self.alarm_time}"
        since = " Since then the signal has weakened." if weaker else ""
        return f"{when}, after {count_text(monitor.alarm_row or 0, self.noun)}.{since}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        monitor = self.monitor
        return {
            "group": self.group,
            "rows": self.rows,
            "clusters": None if monitor.cluster_forecast is None else monitor.rows,
            "first": self.first,
            "last": self.last,
            "alpha": monitor.alpha,
            "alarm": monitor.alarm,
            "alarm_row": monitor.alarm_row,
            "alarm_time": self.alarm_time,
            "evidence": min(monitor.evidence, LARGEST_NUMBER),
            "kind": monitor.leading_bets if monitor.alarm else None,
            "parts": {name: min(e, LARGEST_NUMBER) for name, e in monitor.parts.items()},
            "pvalue": monitor.pvalue,
            "change": monitor.change,
            "change_row": monitor.change_row,
            "change_time": self.change_time,
            "run_length": monitor.run_length,
            "sentence": monitor.sentence,
            "windows": [asdict(window) for window in self.windows],
        }


@dataclass(frozen=True, slots=True)
class MonitorRun:
    """All groups of a log."""

    groups: tuple[MonitoredGroup, ...]
    tolerance: float | str | None
    alpha: float
    window: str | None
    cluster_forecast: ClusterForecast | None = None
    new_rows: int | None = None
    """Rows that were not watched before; None for a log that is not carried on."""

    @property
    def alarm(self) -> bool:
        """Whether any group caused an alarm."""
        return any(group.monitor.alarm for group in self.groups)

    @property
    def alarming(self) -> tuple[MonitoredGroup, ...]:
        """Groups that caused an alarm, the strongest evidence first."""
        found = [group for group in self.groups if group.monitor.alarm]
        return tuple(sorted(found, key=lambda group: group.monitor.pvalue))

    @property
    def rows(self) -> int:
        """Count all rows."""
        return sum(group.rows for group in self.groups)

    @property
    def sentence(self) -> str:
        """Say in one sentence whether there is an alarm, and where."""
        if len(self.groups) == 1:
            return self.groups[0].brief
        of = count_text(len(self.groups), "group")
        if not self.alarm:
            return f"No alarm in {of}, {count_text(self.rows, 'row')}."
        worst = self.alarming[0]
        when = "" if worst.alarm_time is None else f" (at {worst.alarm_time})"
        return f"Alarm in {len(self.alarming)} of {of}, the clearest in {worst.group}{when}."

    def __str__(self) -> str:
        from calibrant.monitoring.log_lines import log_text  # it is written from this

        return log_text(self)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, of a stable shape."""
        return {
            "schema": SCHEMA,
            "alarm": self.alarm,
            "sentence": self.sentence,
            "rows": self.rows,
            "new_rows": self.new_rows,
            "tolerance": self.tolerance,
            "alpha": self.alpha,
            "window": self.window,
            "cluster_forecast": self.cluster_forecast,
            "groups": [group.as_dict() for group in self.groups],
        }

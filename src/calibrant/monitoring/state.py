"""A log that goes on: what one run of `calibrant monitor` hands to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant._base.stored import Stored, parse, restoring
from calibrant._base.words import count_text
from calibrant.data.times import Times, time_text
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError
from calibrant.joint import Joint
from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.row_digest import RowDigest
from calibrant.monitoring.runs import MonitoredGroup
from calibrant.monitoring.windows import MOST_WINDOWS, Window, Windows

SCHEMA = 1
STORED = "a stored watch"
NUMBERS = ("mean_prediction", "base_rate", "smooth_error", "noise", "noise_floor")


@dataclass(frozen=True, slots=True)
class MonitorState:
    """Monitors, windows and rows of a log so far.

    A log is carried on in the order of time: rows must be due after all rows that were watched.
    """

    described: Mapping[str, Any]
    """Columns and options that the log was begun with; those of every run must be the same."""
    dated: bool = False
    """Whether times are dates."""
    last: float | int | None = None
    """Time of the last row, in microseconds for dates; None before the first run."""
    watched: RowDigest = field(default_factory=RowDigest)
    """All rows so far."""
    batch: RowDigest = field(default_factory=RowDigest)
    """Rows of the last run."""
    groups: tuple[MonitoredGroup, ...] = ()
    zoned: bool = False
    """Whether times came with a time zone."""

    @property
    def began(self) -> bool:
        """Whether there was a run."""
        return self.last is not None

    def require(self, described: Mapping[str, Any]) -> None:
        """Refuse columns and options that are not those of the log."""
        for name in {**self.described, **described}:
            then, now = self.described.get(name), described.get(name)
            if then != now:
                raise InvalidOptionError(
                    f"a log must be carried on with the {name} that it was begun with, "
                    f"{_option_text(then)}",
                    _option_text(now),
                    "give the same options, or begin another state",
                )

    def fresh(
        self,
        time: Times,
        prediction: Floats,
        outcome: npt.NDArray[np.uint8],
        group: npt.NDArray[np.intp],
        names: Sequence[str | None],
        *,
        zoned: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """Find the rows that are new; the others must be those that were watched before.

        Rows that are due no later than the last one are either all rows so far, or those of the
        last run again. Others come too late: the bets on what followed are settled.
        """
        if self.last is None:
            return np.ones(time.size, dtype=bool)
        if (time.dtype.kind == "M") != self.dated:
            raise InvalidForecastsError(
                "times must be of the kind that the log was begun with",
                "numbers" if self.dated else "dates",
            )
        if self.dated and zoned != self.zoned:
            have = {True: "a time zone", False: "no time zone"}
            raise InvalidForecastsError(
                f"times must have {have[self.zoned]}, as those that the log was begun with",
                f"times with {have[zoned]}",
                "write all times alike, or begin another state",
            )
        old = time.astype(np.int64 if self.dated else np.float64) <= self.last
        again = RowDigest.of(time[old], prediction[old], outcome[old], group[old], names)
        if again.rows and again not in {self.watched, self.batch}:
            raise InvalidForecastsError(
                f"rows must be due after {self.last_text}, the last time that was watched, "
                f"or be all {count_text(self.watched.rows, 'row')} that were watched, or those of "
                "the last run",
                f"{count_text(again.rows, 'row')} that "
                f"{'is' if again.rows == 1 else 'are'} due earlier",
                "leave out rows that were watched; rows that come late cannot enter any more",
            )
        return np.asarray(~old)

    @property
    def last_text(self) -> str:
        """Write the last time."""
        return time_text(np.datetime64(int(self.last or 0), "us") if self.dated else self.last)

    def to_json(self) -> str:
        """Write everything that the next run needs."""
        groups = [
            {
                "group": group.group,
                "rows": group.rows,
                "first": group.first,
                "last": group.last,
                "alarm_time": group.alarm_time,
                "change_time": group.change_time,
                "monitor": json.loads(group.monitor.to_json()),
                "windows": [asdict(window) for window in group.windows],
                "step": group.stretch.step,
                "last_window": {
                    "prediction": group.stretch.last.prediction.tolist(),
                    "rows": group.stretch.last.rows.tolist(),
                    "positives": group.stretch.last.positives.tolist(),
                },
            }
            for group in self.groups
        ]
        state = {
            "schema": SCHEMA,
            "described": dict(self.described),
            "dated": self.dated,
            "zoned": self.zoned,
            "last": self.last,
            "seen": [self.watched.rows, *self.watched.sums],
            "batch": [self.batch.rows, *self.batch.sums],
            "groups": groups,
        }
        return json.dumps(state, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> MonitorState:
        """Take back what `to_json` wrote."""
        state = parse(text, STORED)
        state.require_schema(SCHEMA, "another release wrote it: watch the whole log again")
        with restoring(STORED):
            dated = state.flag("dated")
            last = state.whole("last", -(2**63), 2**63) if dated else state.number("last")
            found = cls(
                dict(state.part("described").data),
                dated,
                last,
                _row_digest(state, "seen"),
                _row_digest(state, "batch"),
                tuple(_group(part) for part in state.parts("groups")),
                state.flag("zoned"),
            )
            names = [group.group for group in found.groups]
            rows = sum(group.rows for group in found.groups)
            if not names or len(set(names)) < len(names) or rows != found.watched.rows:
                raise InvalidStateError(f"groups of {STORED} must hold its rows", f"{rows}")
        return found


def _option_text(value: object) -> str:
    """Write an option, or that it is the default."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "the default" if value is None else shown(value)


def _row_digest(state: Stored, name: str) -> RowDigest:
    entries = state.entries(name)
    if len(entries) != 3 or not all(type(n) is int and 0 <= n < 2**64 for n in entries):
        raise InvalidStateError(f"{name} of {STORED} must be three whole numbers", shown(entries))
    return RowDigest(entries[0], (entries[1], entries[2]))


def _group(part: Stored) -> MonitoredGroup:
    def text_or_none(name: str) -> str | None:
        return None if part.get(name) is None else part.text(name)

    monitor = CalibrationMonitor.from_json(json.dumps(part.get("monitor")))
    levels = part.part("last_window")
    counts = (levels.numbers(name, 0.0) for name in ("prediction", "rows", "positives"))
    windows = tuple(_window(entry) for entry in part.parts("windows"))
    stretch = Windows(windows, part.whole("step", -(2**62), 2**62), Joint.from_counts(*counts))
    rows = part.whole("rows")
    total = sum(window.rows for window in windows)
    if not windows or len(windows) > MOST_WINDOWS or total != monitor.rows or rows != total:
        raise InvalidStateError(f"windows of {STORED} must hold its rows", f"{total} of {rows}")
    if stretch.last.row_count != windows[-1].rows:
        raise InvalidStateError(f"the last window of {STORED} must hold its rows")
    return MonitoredGroup(
        text_or_none("group"),
        rows,
        monitor,
        part.text("first"),
        part.text("last"),
        text_or_none("alarm_time"),
        text_or_none("change_time"),
        stretch,
    )


def _window(entry: Stored) -> Window:
    if set(entry.data) != {column.name for column in fields(Window)}:
        raise InvalidStateError(f"{entry.what} must have the fields of a window")
    numbers = {n: None if entry.get(n) is None else entry.number(n, 0.0, 1.0) for n in NUMBERS}
    rows = entry.whole("rows")
    if any((number is None) != (rows == 0) for number in numbers.values()):
        raise InvalidStateError(f"{entry.what} must have numbers where it has rows")
    return Window(entry.text("start"), entry.text("end"), rows, **numbers)

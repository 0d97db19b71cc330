"""One verdict per group, as intervals; and windows over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.groups import Groups, audit_groups
from calibrant.plots.axes import legend, panel_below
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, GOOD, INK, MUTED, QUIET, WARNING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"calibrated": GOOD, "miscalibrated": WARNING, "undecided": MUTED}
MOST_GROUPS = 25
LONGEST_NAME = 28
# The band of all windows misses one of them by chance so often.
MISSED = 0.05


@dataclass(eq=False, repr=False)
class GroupsDisplay(Display):
    """Errors of groups with intervals that hold at once, the strongest evidence on top.

    Examples
    --------
    >>> sides = {"side": ["left", "left", "right", "right"] * 25}
    >>> display = GroupsDisplay.of([0, 1] * 50, [0.5] * 100, sides, rng=0)
    >>> sorted(display.frame()["name"].tolist())
    ['left', 'right']
    """

    groups: Groups
    most: int = MOST_GROUPS
    """Groups that are drawn; `frame` has them all."""

    @classmethod
    def of(cls, *data: Any, most: int = MOST_GROUPS, **options: Any) -> Self:
        """Judge groups (see `calibrant.groups.audit_groups`), or take the result."""
        found = data[0] if isinstance(data[0], Groups) else audit_groups(*data, **options)
        return cls(found, most)

    @property
    def sentence(self) -> str:
        """Which groups fail."""
        return self.groups.sentence

    def frame(self) -> Columns:
        """Return one column per property of the groups."""
        return {name: np.array(column) for name, column in self.groups.table().items()}

    def _draw(self, ax: Axes) -> None:
        shown = self.groups.groups[: self.most]
        for place, group in enumerate(shown):
            colour = COLOURS[group.state]
            ax.plot([group.low, group.high], [place, place], color=colour, lw=3, alpha=0.6)
            ax.plot([group.value], [place], "o", color=colour, ms=5)
            ax.plot([group.noise_floor], [place], "|", color=QUIET, ms=8)
        ax.axvline(self.groups.tolerance, color=WARNING, lw=1.2)
        ax.text(
            self.groups.tolerance, -0.8, f" tolerance {self.groups.tolerance:.3g}", color=WARNING
        )
        names = [_short(group.label) for group in shown]
        ax.set_yticks(range(len(shown)), names, color=INK)
        right = max([self.groups.tolerance, *(min(g.high, 3 * g.value + 0.05) for g in shown)])
        ax.set(ylim=(len(shown) - 0.4, -1.2), xlim=(0, 1.1 * right))
        ax.set_xlabel("error with simultaneous intervals; tick: a perfect forecaster")
        if len(self.groups) > len(shown):
            ax.set_title(f"{len(shown)} of {len(self.groups)}, the strongest evidence first")


@dataclass(eq=False, repr=False)
class TimeDisplay(Display):
    """What forecasts said and what happened, by window of time.

    Made from windows such as those of `calibrant watch`: objects with start, rows,
    mean_prediction, base_rate, smooth_error and noise, of which the last four may be None. The band
    holds the base rates of all windows at once in about 95 % of cases if the forecasts are right
    (normal approximation, divided by the number of windows).
    """

    start: Any
    rows: Any
    mean_prediction: Any
    base_rate: Any
    smooth_error: Any
    noise: Any

    @classmethod
    def of(cls, windows: Sequence[Any]) -> Self:
        """Take windows in the order of time."""

        def column(name: str) -> Any:
            values = (getattr(window, name) for window in windows)
            return np.array([np.nan if value is None else value for value in values], dtype=float)

        names = ("mean_prediction", "base_rate", "smooth_error", "noise")
        return cls(
            np.array([window.start for window in windows]),
            np.array([window.rows for window in windows]),
            *(column(name) for name in names),
        )

    @property
    def sentence(self) -> str:
        """Say which stretch of time is shown."""
        return f"Forecasts and outcomes by window, {self.start[0]} to {self.start[-1]}."

    def frame(self) -> Columns:
        """Return the windows as columns."""
        return dict(vars(self)) if not hasattr(self, "ax_") else self.__getstate__()

    def _draw(self, ax: Axes) -> None:
        at = np.arange(self.start.size)
        panel = panel_below(ax, "calibrant.windows", 0.35)
        reach = self.noise * NormalDist().inv_cdf(1 - MISSED / 2 / max(1, at.size))
        low = np.maximum(self.mean_prediction - reach, 0)
        high = np.minimum(self.mean_prediction + reach, 1)
        ax.fill_between(at, low, high, color=ACCENT, alpha=0.15, lw=0, label="chance alone")
        ax.plot(at, self.mean_prediction, color=ACCENT, label="forecast, on average")
        ax.plot(at, self.base_rate, color=INK, lw=1.2, marker=".", label="happened")
        top = np.nanmax(np.append(high, self.base_rate), initial=0.01)
        ax.set(ylim=(0, 1.2 * top), ylabel="probability")
        panel.bar(at, self.smooth_error, color=MUTED)
        panel.set(ylabel="smooth error")
        shown = np.unique(np.linspace(0, at.size - 1, min(6, at.size)).astype(int))
        panel.set_xticks(shown, [str(self.start[i]) for i in shown])
        legend(ax)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"

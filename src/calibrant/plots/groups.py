"""One verdict per group, as intervals; and windows over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import percent_text
from calibrant.data.frames import table_columns
from calibrant.data.input import as_array, refuse_other_labels
from calibrant.data.times import checked_times
from calibrant.errors import InvalidOptionError
from calibrant.inference import MISCALIBRATED, Group, Groups
from calibrant.joint import Rows
from calibrant.plots.axes import LEAST_AXIS, legend, panel_below, width_of
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, GOOD, INK, MUTED, PAPER, QUIET, SERIES, WARNING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"calibrated": GOOD, "miscalibrated": WARNING, "undecided": SERIES[1]}
MARKERS = {"calibrated": "o", "miscalibrated": "D", "undecided": "s"}
WORDS = {
    "calibrated": "within the tolerance",
    "miscalibrated": "beyond the tolerance",
    "undecided": "undecided",
}
MOST_GROUPS = 25
# Windows that rows are cut into.
WINDOWS = 10
# Letters of a name that are always shown; longer ones where they take up this share of the room.
LONGEST_NAME, SHARE_OF_NAMES = 28, 0.6
# Width of a letter of theirs, in points.
LETTER = 4.2
# The band of all windows misses one of them by chance so often.
MISSED = 0.05


@dataclass(eq=False, repr=False)
class GroupsDisplay(Display):
    """What each group was told and what happened, the strongest evidence on top.

    A dumbbell runs from the mean forecast (a ring) to the observed rate, whose shape and colour say
    whether the group's error is within the tolerance. Thin lines are limits of the rates that hold
    at once. The axis fits groups with enough rows and those beyond the tolerance; a rate that it
    does not fit becomes an arrow at its end with the rate beside it.

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
        from calibrant.groups import audit_groups  # pages of no groups do without

        found = data[0] if isinstance(data[0], Groups) else audit_groups(*data, **options)
        return cls(found, most)

    @classmethod
    def _with_columns(cls, X: object, options: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        """Take groups from the columns of X that `by` names."""
        by = options.get("by")
        names = [by] if isinstance(by, str) else by
        if not (isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)):
            return options
        columns = table_columns(X) or {}
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise InvalidOptionError("@by must name columns of X, or hold groups", unknown[0])
        return options | {"by": {name: columns[name] for name in names}}

    @property
    def sentence(self) -> str:
        """Which groups fail."""
        return self.groups.sentence

    def frame(self) -> Columns:
        """Return one column per property of the groups."""
        return {name: np.array(column) for name, column in self.groups.table().items()}

    @property
    def shown(self) -> tuple[Group, ...]:
        """Groups that are drawn: those with the strongest evidence."""
        return self.groups.groups[: self.most]

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the axis: all rates lie between them, but perhaps those observed in small groups.

        Groups beyond the tolerance are never left out.
        """
        kept = [g for g in self.shown if not g.small or g.state == MISCALIBRATED] or self.shown
        rates = [group.observed for group in kept] + [g.forecast for g in self.shown]
        margin = 0.1 * max(max(rates) - min(rates), 0.1 * max(rates), LEAST_AXIS)
        return max(0.0, min(rates) - margin), min(1.0, max(rates) + margin)

    @property
    def cut(self) -> bool:
        """Whether a rate lies beyond the axis."""
        low, high = self.limits
        return any(not low <= group.observed <= high for group in self.shown)

    @staticmethod
    def rate_limits(group: Group) -> tuple[float, float]:
        """Where the rate of a group may lie: its limits of O/E times the mean forecast."""
        forecast, ratio = group.forecast, group.ratio
        if forecast <= 0 or ratio is None:
            return 0.0, 1.0
        return min(1.0, forecast * ratio.low), min(1.0, forecast * ratio.high)

    def _draw(self, ax: Axes) -> None:
        low, high = self.limits
        ax.set(xlim=(low, high), ylim=(len(self.shown) - 0.4, -0.6))
        labelled: set[str] = set()
        for row, group in enumerate(self.shown):
            at = [row, row]
            forecast, happened = group.forecast, group.observed
            ax.plot(self.rate_limits(group), at, color=MUTED, lw=0.8, zorder=1)
            ax.plot([forecast, happened], at, color=QUIET, lw=2, zorder=2)
            ax.plot([forecast], [row], "o", color=PAPER, mec=INK, ms=6, zorder=3)
            marker, colour = MARKERS[group.state], COLOURS[group.state]
            if not low <= happened <= high:
                marker, end, x = (">", high, 6) if happened > high else ("<", low, 8)
                ax.annotate(
                    percent_text(happened), (end, row), (x, 0), textcoords="offset points",
                    va="center", color=QUIET, fontsize="small", annotation_clip=False,
                )  # fmt: skip
                happened = end
            label = None
            if marker == MARKERS[group.state] and group.state not in labelled:
                label = WORDS[group.state]
                labelled.add(group.state)
            ax.plot(
                [happened], [row], marker, color=colour, mec=PAPER, ms=7, zorder=4,
                clip_on=False, label=label, ls="",
            )  # fmt: skip
        most = max(LONGEST_NAME, int(SHARE_OF_NAMES * width_of(ax) * 72 / LETTER))
        names = [short_name(group.label, most) for group in self.shown]
        ax.set_yticks(range(len(self.shown)), names, color=INK)
        arrows = "\narrows: observed rates beyond the axis" if self.cut else ""
        ax.set_xlabel(f"forecast (ring) and observed rate (filled), simultaneous limits{arrows}")
        title = None
        if len(self.groups) > len(self.shown):
            title = f"{len(self.shown)} of {len(self.groups)}, the strongest evidence first"
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, title=title,
            alignment="left",
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class TimeDisplay(Display):
    """What forecasts said and what happened, by window of time.

    Made from windows such as those of `calibrant monitor`: objects with start, rows,
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
    def of(cls, *data: Any, time: object = None, **options: Any) -> Self:
        """Take windows in the order of time, or cut outcomes and predictions into ten of them.

        Parameters
        ----------
        *data : windows; or outcomes and predictions
            What to show.
        time : array-like of shape (n,), optional
            Times of outcomes and predictions: numbers, dates or timestamps.
        **options
            `pos_label`, as for all Displays.
        """
        windows = data[0] if len(data) == 1 else _cut(*data, time=time, **options)

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

    @property
    def chance(self) -> tuple[Floats, Floats]:
        """Limits between which perfect forecasts leave the base rates of all windows."""
        half_width = self.noise * NormalDist().inv_cdf(1 - MISSED / 2 / max(1, self.start.size))
        return np.maximum(self.mean_prediction - half_width, 0), np.minimum(
            self.mean_prediction + half_width, 1
        )

    def _draw(self, ax: Axes) -> None:
        at = np.arange(self.start.size)
        panel = panel_below(ax, "calibrant.windows", 0.35)
        low, high = self.chance
        ax.fill_between(
            at, low, high, color=ACCENT, alpha=0.15, lw=0, label="95 % band if calibrated"
        )
        ax.plot(at, self.mean_prediction, color=ACCENT, label="mean forecast")
        ax.plot(at, self.base_rate, color=INK, lw=1.2, marker=".", label="observed rate")
        top = max(float(np.nanmax(np.append(high, self.base_rate), initial=0.0)), LEAST_AXIS)
        ax.set(ylim=(0, 1.2 * top), ylabel="probability")
        panel.bar(at, self.smooth_error, color=MUTED)
        panel.set(ylabel="smooth error")
        shown = np.unique(np.linspace(0, at.size - 1, min(6, at.size)).astype(int))
        panel.set_xticks(shown, [str(self.start[i]) for i in shown])
        legend(ax)


def short_name(name: str, most: int = LONGEST_NAME) -> str:
    """Shorten a name in its middle: names of one column begin alike."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half]}…{name[-half:]}"


def _cut(
    y_true: object,
    y_proba: object,
    *,
    time: object,
    sample_weight: object = None,
    pos_label: object = None,
) -> Sequence[Any]:
    """Cut rows into windows of time of the same length."""
    from calibrant.monitoring import windows_of

    if time is None or sample_weight is not None:
        raise InvalidOptionError(
            "rows are cut into windows by their times, and have no weights",
            "no time" if time is None else "weights",
            "pass @time, one for each row",
        )
    refuse_other_labels(y_true=y_true, y_proba=y_proba, time=time)
    rows = Rows.read(y_true, y_proba, None, pos_label)
    moments = checked_times(as_array(time, "time"), rows.prediction.size)
    order = np.lexsort((rows.outcome, rows.prediction, moments))
    moments, rows = moments[order], rows.where(order)
    numbers = moments.astype(np.int64) if moments.dtype.kind == "M" else moments
    length = float(numbers[-1] - numbers[0]) / WINDOWS or None
    if length is not None and moments.dtype.kind == "M":
        length = float(max(1, round(length)))
    return windows_of(moments, rows.prediction, np.asarray(rows.outcome), length).shown

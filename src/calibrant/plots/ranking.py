"""Pictures of the order of forecasts: ROC, risk by coverage, miscalibration by discrimination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._base.words import number_text
from calibrant.decisions import (
    RiskCoverage,
    RocCurve,
    ScoreDecomposition,
    risk_coverage_curve,
    roc_curve,
    score_decomposition,
    score_title,
)
from calibrant.errors import InvalidForecastsError
from calibrant.inference import CertifiedThreshold, certified_threshold
from calibrant.plots.axes import legend
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, BAND, INK, MUTED, SERIES, WARNING, line_style
from calibrant.plots.svg import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vP*X"


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay(Display):
    """Error among answered rows by the share that is answered, above the best possible order.

    Examples
    --------
    >>> display = RiskCoverageDisplay.of([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6])
    >>> display.frame()["risk"].max().round(3)
    np.float64(0.333)
    """

    curve: RiskCoverage
    certified: CertifiedThreshold | None = None
    """A threshold to mark."""

    @classmethod
    def of(cls, *data: Any, risk: float | None = None, **options: Any) -> Self:
        """Find the curve, and a certified threshold where a limit of the risk is given."""
        mark = None if risk is None else certified_threshold(*data, risk=risk, **options)
        return cls(risk_coverage_curve(*data, **options), mark)

    @property
    def sentence(self) -> str:
        """What is got wrong."""
        return self.curve.sentence if self.certified is None else self.certified.sentence

    def frame(self) -> Columns:
        """Return coverage, risk and threshold."""
        return {
            "coverage": self.curve.coverage,
            "risk": self.curve.risk,
            "threshold": self.curve.threshold,
        }

    def _draw(self, ax: Axes) -> None:
        curve = self.curve
        wrong = float(curve.risk[-1])
        share = np.linspace(1 - wrong, 1, 101)
        best = np.append(0.0, np.divide(share - share[0], share, where=share > 0, out=share * 0))
        highest = max(float(curve.risk.max()), 1e-6)
        ax.set(xlim=(0, 1), ylim=(0, 1.1 * highest))
        ax.fill_between(np.append(0.0, share), 0, best, color=BAND, lw=0, label="best order")
        ax.plot(*thinned(ax, curve.coverage, curve.risk), color=ACCENT, lw=1.4, label="these")
        if self.certified is not None:
            ax.axhline(self.certified.risk, color=WARNING, lw=1, ls="--")
            if self.certified.threshold is not None:
                at = self.certified.coverage
                ax.plot([at], curve([at]), "o", color=WARNING, ms=6)
                ax.axvline(at, color=WARNING, lw=1)
        ax.set(xlabel="share of rows answered, surest first", ylabel="error among the answered")
        legend(ax)


@dataclass(eq=False, repr=False)
class RocDisplay(Display):
    """Hits by false alarms, for one forecaster or several.

    Examples
    --------
    >>> display = RocDisplay.of([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> print(display.sentence)
    ROC curve: area 0.75.
    """

    curves: dict[str, RocCurve]

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Find the curve of one forecaster, or of several by name."""
        return cls(_of_each(roc_curve, *data, **options))

    @property
    def sentence(self) -> str:
        """Say the areas."""
        areas = [number_text(curve.auc) for curve in self.curves.values()]
        if len(areas) == 1:
            return f"ROC curve: area {areas[0]}."
        named = ", ".join(f"{name} {area}" for name, area in zip(self.curves, areas, strict=True))
        return f"ROC curves, by area: {named}."

    def frame(self) -> Columns:
        """Return name, threshold and both rates."""
        parts = [
            (np.full(c.threshold.size, name), c.threshold, c.false_alarm_rate, c.hit_rate)
            for name, c in self.curves.items()
        ]
        heads = ("forecaster", "threshold", "false_alarm_rate", "hit_rate")
        columns = zip(*parts, strict=True)
        return {head: np.concatenate(c) for head, c in zip(heads, columns, strict=True)}

    def _draw(self, ax: Axes) -> None:
        ax.set(xlim=(0, 1), ylim=(0, 1), box_aspect=1)
        ax.plot([0, 1], [0, 1], color=MUTED, lw=1)
        for index, (name, curve) in enumerate(self.curves.items()):
            label = f"{name}, area {number_text(curve.auc)}" if len(self.curves) > 1 else None
            x, y = thinned(ax, curve.false_alarm_rate, curve.hit_rate)
            ax.plot(x, y, lw=1.4, label=label, **line_style(index))
        ax.set(xlabel="false alarms, share of outcomes 0", ylabel="hits, share of outcomes 1")
        if len(self.curves) > 1:
            legend(ax, outside=len(self.curves) > len(SERIES))


@dataclass(eq=False, repr=False)
class DecompositionDisplay(Display):
    """Miscalibration by discrimination, one mark per forecaster; on a line scores are equal.

    The third panel of a triptych, beside a reliability diagram and a Murphy diagram.

    Examples
    --------
    >>> display = DecompositionDisplay.of(
    ...     [0, 1, 1, 0], {"good": [0.1, 0.8, 0.9, 0.3], "flat": [0.5, 0.5, 0.5, 0.5]}
    ... )
    >>> display.frame()["discrimination"]
    array([0.25, 0.  ])
    """

    parts: dict[str, ScoreDecomposition]

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Decompose the score of one forecaster, or of several by name."""
        return cls(_of_each(score_decomposition, *data, **options))

    @property
    def sentence(self) -> str:
        """Name the forecaster with the best score."""
        best = min(self.parts, key=lambda name: self.parts[name].score)
        found = self.parts[best]
        which = (
            f"The best {score_title(found.name)} is that of {best}"
            if len(self.parts) > 1
            else f"The {score_title(found.name)} is"
        )
        return (
            f"{which}: {number_text(found.score)} = {number_text(found.miscalibration)} "
            f"miscalibration - {number_text(found.discrimination)} discrimination + "
            f"{number_text(found.uncertainty)} uncertainty."
        )

    def frame(self) -> Columns:
        """Return the parts by forecaster."""
        heads = ("score", "miscalibration", "discrimination", "uncertainty")
        columns = {
            head: np.array([getattr(part, head) for part in self.parts.values()]) for head in heads
        }
        return {"forecaster": np.array(list(self.parts)), **columns}

    def _draw(self, ax: Axes) -> None:
        frame = self.frame()
        x, y = frame["miscalibration"], frame["discrimination"]
        wide, high = 1.25 * max(float(x.max()), 1e-6), 1.25 * max(float(y.max()), 1e-6)
        ax.set(xlim=(0, wide), ylim=(0, high))
        for step in np.linspace(-wide, high, 9)[1:-1]:
            ax.plot([0, wide], [step, step + wide], color=BAND, lw=1, zorder=0)
        for index, name in enumerate(self.parts):
            # Colours and shapes begin again at different places: 32 marks differ.
            colour = SERIES[index % len(SERIES)]
            marker = MARKERS[(index + index // len(MARKERS)) % len(MARKERS)]
            ax.plot([x[index]], [y[index]], marker, color=colour, ms=8, clip_on=False)
            if len(self.parts) > 1:
                ax.annotate(
                    name, (x[index], y[index]), (7, 4), textcoords="offset points", color=INK
                )
        ax.set(xlabel="miscalibration (MCB)", ylabel="discrimination (DSC)")


def _of_each(function: Any, *data: Any, **options: Any) -> dict[str, Any]:
    """Call a function for every forecaster of a mapping, or for the only one."""
    several = [index for index, part in enumerate(data[:2]) if isinstance(part, Mapping)]
    if not several:
        return {"forecaster": function(*data, **options)}
    index = several[0]
    if not data[index]:
        raise InvalidForecastsError("there must be at least one forecaster", "none")
    return {
        str(name): function(*data[:index], each, *data[index + 1 :], **options)
        for name, each in data[index].items()
    }

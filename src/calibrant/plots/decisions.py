"""Losses by threshold: what the forecasts cost, and which forecaster is better for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.binning import isotonic
from calibrant.decisions import Curve, decision_loss_curve, murphy_curve
from calibrant.inference import LossByChance
from calibrant.measures.measurement import as_joint
from calibrant.plots.axes import legend
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, BAND, SERIES, line_style
from calibrant.plots.svg import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class DecisionLossDisplay(Display):
    """Loss of those who act from a threshold on, against recalibrated forecasts.

    Examples
    --------
    >>> display = DecisionLossDisplay.of([1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3])
    >>> float(display.frame()["loss"].max())
    0.45
    """

    curve: Curve
    """The decision loss curve; its half is the loss when both costs add up to one."""
    perfect: LossByChance | None = None
    """What perfect forecasts would show on the same rows, drawn behind it."""

    @classmethod
    def of(cls, *data: Any, pooling: Any = None, **options: Any) -> Self:
        """Find the decision loss curve; recalibrated by isotonic regression by default."""
        joint = as_joint(*data, **options)
        pools = isotonic(joint) if pooling is None else pooling
        return cls(decision_loss_curve(joint, pooling=pools))

    @property
    def sentence(self) -> str:
        """Where the loss is largest."""
        worst = self.curve.worst_threshold
        loss = float(self.curve(worst)) / 2
        return f"Loss by threshold: largest at {worst:.2f}, {loss:.4f} per decision."

    def frame(self) -> Columns:
        """Return thresholds and losses, twice at a jump: from the left and from the right."""
        both = np.stack([self.curve.loss, self.curve.loss_right], axis=1).ravel() / 2
        return {"threshold": np.repeat(self.curve.threshold, 2), "loss": both}

    def _draw(self, ax: Axes) -> None:
        frame = self.frame()
        highest = float(frame["loss"].max())
        if self.perfect is not None:
            highest = max(highest, float(self.perfect.most.max()))
            ax.fill_between(self.perfect.threshold, 0, self.perfect.most, color=BAND, lw=0)
        ax.set(xlim=(0, 1), ylim=(0, 1.1 * max(highest, 1e-6)))
        x, y = thinned(ax, frame["threshold"], frame["loss"])
        ax.fill_between(x, 0, y, color=ACCENT, alpha=0.2, lw=0)
        ax.plot(x, y, color=ACCENT, lw=1.4)
        ax.set(xlabel="decision threshold", ylabel="loss per decision")


@dataclass(eq=False, repr=False)
class MurphyDisplay(Display):
    """Mean elementary score by threshold: lower is better, for everybody with that threshold.

    Examples
    --------
    >>> display = MurphyDisplay.of([0, 1, 1], {"good": [0.1, 0.8, 0.9], "poor": [0.5, 0.5, 0.5]})
    >>> sorted(display.curves)
    ['good', 'poor']
    """

    curves: dict[str, Curve]

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Find the Murphy curve of one forecaster, or of several by name."""
        found = murphy_curve(*data, **options)
        return cls(dict(found) if isinstance(found, Mapping) else {"forecaster": found})

    @property
    def sentence(self) -> str:
        """Name what is shown."""
        return f"Murphy diagram of {', '.join(self.curves)}: lower is better at each threshold."

    def frame(self) -> Columns:
        """Return name, threshold and score, twice at a jump."""
        parts = [
            (np.full(2 * c.threshold.size, name), np.repeat(c.threshold, 2),
             np.stack([c.loss, c.loss_right], axis=1).ravel())
            for name, c in self.curves.items()
        ]  # fmt: skip
        columns = zip(*parts, strict=True)
        return {
            name: np.concatenate(column)
            for name, column in zip(("forecaster", "threshold", "score"), columns, strict=True)
        }

    def _draw(self, ax: Axes) -> None:
        highest = max(float(np.maximum(c.loss, c.loss_right).max()) for c in self.curves.values())
        ax.set(xlim=(0, 1), ylim=(0, 1.08 * max(highest, 1e-6)))
        for index, (name, curve) in enumerate(self.curves.items()):
            both = np.stack([curve.loss, curve.loss_right], axis=1).ravel()
            x, y = thinned(ax, np.repeat(curve.threshold, 2), both)
            ax.plot(x, y, label=name, **line_style(index))
        ax.set(xlabel="decision threshold", ylabel="mean elementary score")
        if len(self.curves) > 1:
            legend(ax, outside=len(self.curves) > len(SERIES))

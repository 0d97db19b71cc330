"""The verdict on one scale: measured error, its interval, noise, tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import percent_text
from calibrant.inference import Verdict, verdict
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, BAND, INK, MUTED, QUIET, WARNING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HILL = 40


@dataclass(eq=False, repr=False)
class NullDisplay(Display):
    """A measured error beside what perfect forecasts would have scored on the same rows.

    Make one with `from_verdict`, or from forecasts as every Display.

    Examples
    --------
    >>> display = NullDisplay.of([1] * 30 + [0] * 10, [0.5] * 40, rng=0)
    >>> display.frame()["value"]
    array([0.25])
    """

    measure: str
    null: Floats
    """Scores of perfect forecasts."""
    value: float
    low: float
    high: float
    confidence: float
    noise_floor: float
    tolerance: float
    sentence_: str

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Judge forecasts (see `calibrant.verdict`), or take a Verdict."""
        found = data[0] if isinstance(data[0], Verdict) else verdict(*data, **options)
        return cls(
            found.measure,
            found.test.headline.null,
            found.value,
            found.interval.low,
            found.interval.high,
            found.interval.confidence,
            found.noise_floor,
            found.tolerance,
            found.sentence,
        )

    @classmethod
    def from_verdict(cls, found: Verdict, *, ax: Axes | None = None) -> Self:
        """Draw a verdict that was made before."""
        return cls.of(found).plot(ax)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return self.sentence_

    def frame(self) -> Columns:
        """Return value, interval, noise floor and tolerance as columns of one entry."""
        names = ("value", "low", "high", "noise_floor", "tolerance")
        return {name: np.array([getattr(self, name)]) for name in names}

    def _draw(self, ax: Axes) -> None:
        right = 1.18 * max(self.high, self.tolerance, float(self.null.max()))
        shares, edges = np.histogram(self.null, HILL, (0, right))
        ax.stairs(0.3 + shares / shares.max(), edges, baseline=0.3, fill=True, color=BAND)
        ax.plot([self.noise_floor] * 2, [0.3, 1.3], color=MUTED, lw=1)
        ax.plot(
            [self.low, self.high], [0, 0], color=ACCENT, lw=5, alpha=0.45, solid_capstyle="butt"
        )
        ax.plot([self.value], [0], "o", color=ACCENT, ms=8)
        # It ends above the words about what was measured.
        ax.plot([self.tolerance] * 2, [-0.22, 1.75], color=WARNING, lw=1.4)
        ax.set(xlim=(0, right), ylim=(-0.75, 1.75), yticks=[])
        ax.set_xlabel(self.measure.replace("_", " "), color=INK)
        ax.spines["left"].set_visible(False)
        ax.annotate(
            f"tolerance {self.tolerance:.3g}", (self.tolerance, 1.68), (6, 0),
            textcoords="offset points", color=WARNING, va="top",
        )  # fmt: skip
        text = f"measured {self.value:.4f}, {percent_text(self.confidence)} interval"
        x = float(np.clip(self.value, 0.2 * right, 0.75 * right))
        ax.text(x, -0.28, text, color=ACCENT, va="top", ha="center")
        chance = f" noise floor {self.noise_floor:.4f}"
        ax.text(self.noise_floor, 1.33, chance, color=QUIET, va="bottom")

"""The best test against the forecasts: where they are too low, and where too high."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.plots.axes import Span, choose_scale, span_of
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, MUTED, QUIET, WARNING
from calibrant.plots.svg import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class WitnessDisplay(Display):
    """The witness of the smooth error: above zero forecasts are too low, below zero too high.

    Examples
    --------
    >>> display = WitnessDisplay.of([1, 1, 1, 0], [0.2, 0.3, 0.3, 0.3])
    >>> display.frame()["witness"]
    array([1., 1.])
    """

    prediction: Any
    witness: Any
    span: Span
    words: str

    @classmethod
    def of(cls, *data: Any, scale: str = "auto", **options: Any) -> Self:
        """Find the smooth test that gains most."""
        joint = as_joint(*data, **options)
        return cls.of_error(joint, smooth_calibration_error(joint), scale)

    @classmethod
    def of_error(cls, joint: Joint, error: Measurement, scale: str = "auto") -> Self:
        """Take the test of a smooth error that was found before."""
        return cls(
            joint.prediction,
            error.witness(joint.prediction),
            span_of(choose_scale(joint, scale), joint),
            error.witness.sentence,
        )

    @property
    def sentence(self) -> str:
        """What the test found."""
        return f"The smooth test that finds most bias: {self.words}."

    def frame(self) -> Columns:
        """Return predictions and the value of the test at each."""
        return {"prediction": self.prediction, "witness": self.witness}

    def _draw(self, ax: Axes) -> None:
        self.span.show(ax, "x")
        ax.set_ylim(-1.05, 1.05)
        x, y = thinned(ax, self.span.clipped(self.prediction), np.asarray(self.witness))
        ax.axhline(0, color=MUTED, lw=1)
        for where, colour in ((y >= 0, ACCENT), (y <= 0, WARNING)):
            ax.fill_between(
                x, 0, y, where=where.tolist(), interpolate=True, alpha=0.25, lw=0, color=colour
            )
        ax.plot(x, y, color=QUIET, lw=1.4)
        for height, words, colour in ((0.97, "too low", ACCENT), (0.03, "too high", WARNING)):
            ax.text(
                0.99,
                height,
                f"forecasts {words}",
                color=colour,
                transform=ax.transAxes,
                ha="right",
                va="top" if height > 0.5 else "bottom",
            )
        ax.set(xlabel="forecast probability", ylabel="test")

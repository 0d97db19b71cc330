"""Pictures of observed risks by a horizon, and of probability integral transforms.

Their package is imported when one is drawn: pages of two outcomes do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._base.options import shown
from calibrant._base.words import count_text, number_text, percent_text, ratio_texts
from calibrant.errors import InvalidTypeError
from calibrant.plots.axes import LEAST_AXIS
from calibrant.plots.display import Columns, Display
from calibrant.plots.style import ACCENT, BAND, INK, MUTED, WARNING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.distributions import PitHistogram
    from calibrant.survival import ObservedRisk


@dataclass(eq=False, repr=False)
class ObservedRiskDisplay(Display):
    """Observed risks by a horizon, by Kaplan-Meier or Aalen-Johansen, over predicted ones.

    Examples
    --------
    >>> from calibrant.survival import SurvivalForecasts
    >>> forecasts = SurvivalForecasts.read(
    ...     [1, 2, 3, 4, 5, 6], [1, 0, 1, 1, 0, 0], [0.5] * 6, horizon=4
    ... )
    >>> display = ObservedRiskDisplay.of(forecasts, bins=1)
    >>> display.frame()["observed"].round(3)
    array([0.583])
    """

    found: ObservedRisk

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Take survival forecasts (see `calibrant.survival.observed_risk`), or observed risks."""
        from calibrant.survival import ObservedRisk, SurvivalForecasts, observed_risk

        found = data[0]
        if isinstance(found, SurvivalForecasts):
            found = observed_risk(found, **options)
        if not isinstance(found, ObservedRisk):
            raise InvalidTypeError(
                "this picture shows SurvivalForecasts or observed risks", shown(data[0])
            )
        return cls(found)

    @property
    def sentence(self) -> str:
        """Say how observed and predicted risks compare overall."""
        overall = self.found.overall
        ratio, low, high = ratio_texts(overall.ratio, *overall.ratio_limits)
        return (
            f"Risk by time {number_text(self.found.horizon)}: observed over expected "
            f"{ratio} ({low} to {high}), {count_text(overall.rows, 'row')}, "
            f"{self.found.method}"
        )

    def frame(self) -> Columns:
        """Return one entry per bin: predicted and observed risk, limits, rows, events."""
        names = ("predicted", "observed", "low", "high", "rows", "events", "censored")
        return {name: np.array([getattr(part, name) for part in self.found.bins]) for name in names}

    def _draw(self, ax: Axes) -> None:
        bins = self.frame()
        shown = [bins[name][np.isfinite(bins[name])] for name in ("high", "predicted")]
        top = min(1.0, 1.05 * float(np.concatenate(shown).max(initial=LEAST_AXIS)))
        ax.plot([0, top], [0, top], color=MUTED, lw=1)
        half_width = np.stack([bins["observed"] - bins["low"], bins["high"] - bins["observed"]])
        ax.errorbar(
            bins["predicted"],
            bins["observed"],
            yerr=np.maximum(half_width, 0.0),
            fmt="o",
            color=ACCENT,
            ms=6,
            lw=1.4,
        )
        ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
        ax.set_xlabel(f"predicted risk by time {number_text(self.found.horizon)}", color=INK)
        bars = f"{percent_text(self.found.confidence)} intervals"
        ax.set_ylabel(f"observed risk, {self.found.method}, {bars}", color=INK)


@dataclass(eq=False, repr=False)
class PitDisplay(Display):
    """Histogram of probability integral transforms, with the band of right distributions.

    Examples
    --------
    >>> from calibrant.distributions import PredictiveDistributions
    >>> members = np.random.default_rng(0).normal(size=(200, 9))
    >>> forecasts = PredictiveDistributions.from_ensemble(members)
    >>> display = PitDisplay.of(forecasts, np.random.default_rng(1).normal(size=200), bins=5, rng=0)
    >>> display.frame()["share"].sum().round(6)
    np.float64(1.0)
    """

    found: PitHistogram

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Take distributions and outcomes (see their `pit_histogram`), or a histogram."""
        from calibrant.distributions import PitHistogram, PredictiveDistributions

        found = data[0]
        if isinstance(found, PredictiveDistributions):
            found = found.pit_histogram(*data[1:], **options)
        if not isinstance(found, PitHistogram):
            raise InvalidTypeError(
                "this picture shows PredictiveDistributions with outcomes, or their histogram",
                shown(data[0]),
            )
        return cls(found)

    @property
    def sentence(self) -> str:
        """Say how many bins right distributions would probably not have."""
        beyond, bins = len(self.found.beyond), count_text(self.found.share.size, "bin")
        rows = count_text(self.found.rows, "row")
        if not beyond:
            return f"All of {bins} lie where right distributions would have them ({rows})"
        return f"{beyond} of {bins} lie where right distributions would not have them ({rows})"

    def frame(self) -> Columns:
        """Return one entry per bin: its ends, its share and the limits of right distributions."""
        found, size = self.found, self.found.share.size
        return {
            "start": found.edges[:-1],
            "end": found.edges[1:],
            "share": found.share,
            "low": np.full(size, found.low),
            "high": np.full(size, found.high),
        }

    def _draw(self, ax: Axes) -> None:
        found = self.found
        ax.axhspan(found.low, found.high, color=BAND, lw=0)
        ax.axhline(found.expected, color=MUTED, lw=1)
        beyond = set(found.beyond)
        colours = [WARNING if bin_ in beyond else ACCENT for bin_ in range(found.share.size)]
        width = np.diff(found.edges)
        ax.bar(found.edges[:-1], found.share, width, align="edge", color=colours, alpha=0.6, lw=0)
        ax.set(xlim=(0, 1), ylim=(0, 1.15 * max(found.high, float(found.share.max()))))
        ax.set_xlabel("level of the outcome in its forecast (PIT)", color=INK)
        sure = percent_text(found.confidence)
        band = f"If calibrated, all bars end inside the band in {sure} of samples"
        ax.set_ylabel("share of rows", color=INK)
        ax.set_title(band, color=INK, loc="left")
